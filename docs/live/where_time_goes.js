// The time of a kernel as a bar: the reader drags how much of it two suspects fill, and then sees how little it is.
import { html, nothing, svg } from "lit-html";
import { NAMES, times } from "./where_time_goes.model.js";
import { grip, requireInteger } from "./controls.js";
import { cuts, path, rect, stage, text } from "./strokes.js";

// In milliseconds and TB/s, as measured; guess: in milliseconds, 0 before there is one; shown: whether the suspects are.
const initial = { kernel: 63.9, pytorch: 0.545, l2: 8.47, guess: 0, shown: false };
const [LANE, GAP, KNOB] = [28, 8, 10]; // the kernel's bar has two lanes, and this around them; a knob's radius
const [LOW, HIGH] = [24, 2 * LANE + 3 * GAP]; // of PyTorch's bar, and of the kernel's
const NAME = 28; // above each bar
const TOP = NAME + LOW + 20 + NAME; // of the kernel's
const HEIGHT = TOP + HIGH + 28; // with the guess
const [EDGE, FINGER] = [0.75, 22]; // half the line around what is empty, and half a finger, in pixels
const NARROW = 600; // below which a question takes two lines

/** @typedef {typeof initial} State */

const ms = (/** @type {number} */ time) => `${time < 1 ? time.toFixed(3) : Math.round(time)} ms`;
const ratio = (/** @type {State} */ { kernel, pytorch }) => `${Math.round(kernel / pytorch)} times as long`;
/** The guess, of so many milliseconds, and where the knob is: until there’s a guess, at the left. @param {State} state */
function guessed({ guess, kernel }) {
  const all = Math.round(kernel);
  return [requireInteger("Guess", guess, 0, all), all, guess || 1];
}

/** What’s asked, and of a guess what is on each side of the knob, or right of it where there’s no room. @param {number} guess @param {number} x @param {number} width @param {boolean} narrow */
function drawWords(guess, x, width, narrow) {
  const write = (/** @type {number} */ at, /** @type {string[]} */ words, look = "") => {
    const lines = narrow ? words : [words.join(" ")];
    const y = TOP + HIGH / 2 + 7 - 12 * (lines.length - 1);
    return lines.map((line, i) => text(at, y + 24 * i, `question ink ${look}`, line));
  };
  if (!guess) return write(x + 2 * KNOB, ["Drag: how much of it is", "memory and multiplying?"]);
  const [suspects, rooms] = [["memory", "and multiplying?"], narrow ? [160, 100] : [270, 170]];
  if (x < rooms[0]) return write(x + 2 * KNOB, [`← ${suspects[0]}`, suspects[1]]);
  const rest = width - x > rooms[1] ? write((width + x + KNOB) / 2, ["something", "else?"], "middle") : nothing;
  return [write((x - KNOB) / 2, suspects, "middle"), rest];
}

/** By how much a guess is off the longer of the two; whoever added both isn’t. @param {number} guess @param {{ memory: number, multiplying: number }} parts */
function missed(guess, { memory, multiplying }) {
  const longer = Math.round(Math.max(memory, multiplying));
  return guess > longer && guess <= Math.round(memory + multiplying) ? 0 : Math.abs(guess - longer);
}

/** How far the guess reaches, below the bar, and in the end by how much it’s off. @param {number} x @param {number} guess @param {number} off @param {number} width @param {boolean} shown */
function drawGuess(x, guess, off, width, shown) {
  const [y, name, room] = width < NARROW ? [TOP + HIGH + 16, "", 150] : [TOP + HIGH + 16, "your guess: ", 236];
  const inside = width - x < room;
  const words = `${guess} ms${shown ? (off ? `, ${off} ms off` : ", as it is") : ""}`;
  const taken = inside ? 7.6 * (name.length + words.length) + 2 * KNOB : 0; // of the line, by words on it
  return [
    path(`M1 ${y}H${Math.max(1, x - taken)}`, "ink dashes thin"),
    path(`M1 ${y - 5}v10M${x} ${y - 5}v10`, "ink"),
    text(x + (inside ? -KNOB : KNOB), y + 5, `label ink ${inside ? "end" : ""}`, svg`${name}<tspan class="strong">${words}</tspan>`),
  ];
}

/** A line to hold. @param {number} x */
const drawKnob = (x) => [
  path(`M${x} ${TOP + 2 * EDGE}V${TOP + HIGH - 2 * EDGE}`, "ink"),
  svg`<circle class="ink knob" cx=${x} cy=${TOP + HIGH / 2} r=${KNOB} />`,
];

/** Where a knob is at the least and at the most. @param {number} width */
const rail = (width) => ({ from: FINGER, to: width - FINGER });

/** @param {State} state @param {number} width @param {boolean} paper */
function draw(state, width, paper) {
  const { kernel, pytorch, l2 } = state;
  const [scale, narrow, shown] = [width / kernel, width < NARROW, paper || state.shown];
  const [guess, all, held] = guessed(state);
  const { from, to } = rail(width);
  const end = from + ((held - 1) / (all - 1)) * (to - from);
  const filled = Object.entries(times(l2));
  const known = Math.max(...filled.map(([, time]) => time * scale));
  const lanes = filled.map(([name, time], lane) => {
    const y = TOP + GAP + lane * (LANE + GAP);
    const words = svg`${NAMES[name]} <tspan class="strong">${ms(time)}</tspan>`;
    return [
      rect(3 * EDGE, y, shown ? time * scale - 3 * EDGE : 0, LANE, "ink hollow moves", Number(shown)),
      text(known + 10, y + 20, "ink moves", words, Number(shown)),
    ];
  });
  const [x, anchor] = narrow ? [width - 8, "end"] : [width / 2, "middle"]; // beside the lanes' names
  const named = (/** @type {string} */ name, /** @type {number} */ time) =>
    svg`${name} <tspan class="soft">${shown ? ms(time) : ""}</tspan>`;
  return [
    text(0, NAME - 12, "ink", named("three lines of PyTorch", pytorch)),
    rect(0, NAME, pytorch * scale, LOW, "ink"),
    text(0, TOP - 12, "ink", named("this kernel", kernel)),
    text(width, TOP - 12, "ink factor end", ratio(state)),
    rect(EDGE, TOP + EDGE, width - 2 * EDGE, HIGH - 2 * EDGE, "ink empty"),
    rect(2 * EDGE, TOP + 2 * EDGE, (shown ? known : guess ? end : 2 * EDGE) - 2 * EDGE, HIGH - 4 * EDGE, `known ${shown ? "moves" : ""}`),
    path(cuts(pytorch, kernel, width, TOP + HIGH - GAP, TOP + HIGH), "ink thin cuts"),
    text(x, TOP + HIGH / 2 + (narrow ? 10 : 16), `riddle violet moves ${anchor}`, "What else?", Number(shown)),
    lanes,
    shown ? nothing : [drawWords(guess, end, width, narrow), drawKnob(end)],
    paper || !guess ? nothing : drawGuess(end, guess, missed(guess, times(l2)), width, shown),
  ];
}

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width }) {
  const { memory, multiplying } = times(state.l2);
  const filled = state.shown ? ` Of these, memory fills ${ms(memory)}, and multiplying ${ms(multiplying)}.` : "";
  const label = `Two bars on one scale: three lines of PyTorch take ${ms(state.pytorch)}, this kernel ${ms(state.kernel)}, ${ratio(state)}.${filled}`;
  const drawn = (/** @type {number} */ wide, /** @type {number} */ _, /** @type {boolean} */ paper) => draw(state, wide, paper);
  const place = { ...rail(width), y: TOP + HIGH / 2 };
  const [, max, held] = guessed(state);
  const range = { min: 1, max, inWords: `${held} ms` };
  const hold = grip("Your guess: memory and multiplying", held, (guess) => set({ guess }), range, place);
  return html`<div class="hb-live__grips">${stage(width, label, drawn, [HEIGHT, HEIGHT])}${width && !state.shown ? hold : nothing}</div>`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
function primary({ shown, guess }, set) {
  const press = () => set(shown ? { shown: false, guess: 0 } : { shown: true });
  return html`<button type="button" class="hb-live__main ${shown || !guess ? "quiet" : ""}" @click=${press}>${shown ? "Guess again" : "Show me"}</button>`;
}

/** @param {State} state */
function says(state) {
  const [{ memory, multiplying }, [guess, all]] = [times(state.l2), guessed(state)];
  if (!state.shown) return guess ? `${guess} ms of ${all}? Let’s see.` : "Each mark along its edge is one more of PyTorch’s bars.";
  return `At full speed, memory takes ${Math.round(memory)} ms of ${all}, and multiplying ${Math.round(multiplying)}, both at once. What else is there?`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "Where the time goes", initial, picture, primary, says,
};

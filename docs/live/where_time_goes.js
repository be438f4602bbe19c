// The time of a kernel as a bar, with PyTorch's above it, and marks for as many as fit: the reader drags how much of it two
// suspects explain, and then sees how little it is.
import { html, nothing, svg } from "lit-html";
import { NAMES, times } from "./where_time_goes.model.js";
import { grip, requireInteger } from "./controls.js";
import { path, rect, stage, text } from "./strokes.js";

// In milliseconds and TB/s, as measured; guess: in milliseconds, 0 before there is one; shown: whether the suspects are.
const initial = { kernel: 63.9, pytorch: 0.545, l2: 8.47, guess: 0, shown: false };
const [LANE, GAP, GUESS, KNOB] = [35, 4.5, 28, 10]; // the kernel's bar has two lanes, this below each, and then a guess; a knob's radius
const [LOW, HIGH, MARK] = [56, 2 * (LANE + GAP) + GUESS, 10]; // of PyTorch's bar, of the kernel's, and of a mark where PyTorch's would end
const [NAME, TOP] = [28, 28 + LOW + 20 + 28]; // where each bar begins, below its name
const MIDDLE = TOP + HIGH / 2;
const HEIGHT = TOP + HIGH + 2;
const [EDGE, FINGER] = [1, 22]; // half a line, and half a finger, in pixels
const GONE = 0.15; // how much is left to see of what’s explained
const NARROW = 600; // below which a question takes two lines

/** @typedef {typeof initial} State */

const ms = (/** @type {number} */ time) => `${time < 1 ? time.toFixed(3) : Math.round(time)} ms`;
/** The guess, of so many milliseconds, and where it's held: until there’s a guess, at the left. @param {State} state */
function guessed({ guess, kernel }) {
  const all = Math.round(kernel);
  return [requireInteger("Guess", guess, 0, all), all, guess || 1];
}

/** PyTorch's bar, and marks for as many more as fit, end to end. @param {State} state @param {number} width */
function drawPyTorch({ kernel, pytorch }, width) {
  const [each, foot] = [(width * pytorch) / kernel, NAME + LOW];
  const marks = svg`<path class="stroke soft" style="stroke-width: ${MARK}px; stroke-dasharray: 1 ${each - 1}" d="M0 ${foot - MARK / 2}H${width}" />`;
  return [marks, rect(0, NAME, each, LOW, "ink")];
}

/** What’s asked, and of a guess what is on each side of the knob, or right of it where there’s no room. @param {number} guess @param {number} x @param {number} width */
function drawQuestion(guess, x, width) {
  const narrow = width < NARROW;
  const write = (/** @type {number} */ at, /** @type {string[]} */ words, look = "", time = "") => {
    const lines = narrow ? words : [words.join(" ")];
    const [y, look_] = [MIDDLE + 7 - 12 * (lines.length - 1 + Number(time > "")), `${at < x ? "ink" : "paper"} ${look}`];
    return [
      lines.map((line, i) => text(at, y + 24 * i, `question ${look_}`, line)),
      text(at, y + 24 * lines.length + 4, `strong ${look_}`, time),
    ];
  };
  if (!guess) return write(x + 2 * KNOB, ["Drag: how much of it is", "memory and multiplying?"]);
  const [suspects, rooms] = [["memory", "and multiplying?"], narrow ? [170, 100] : [320, 230]];
  if (x < rooms[0]) return write(x + 2 * KNOB, [`← ${suspects[0]}`, suspects[1]], "", ms(guess));
  const rest = width - x > rooms[1] ? write((width + x + KNOB) / 2, ["something", "else?"], "middle") : nothing;
  return [write((x - KNOB) / 2, suspects, "middle", ms(guess)), rest];
}

/** By how much a guess is off the longer of the two; whoever added both isn’t. @param {number} guess @param {{ memory: number, multiplying: number }} parts */
function missed(guess, { memory, multiplying }) {
  const longer = Math.round(Math.max(memory, multiplying));
  return guess > longer && guess <= Math.round(memory + multiplying) ? 0 : Math.abs(guess - longer);
}

/** Where the guess was, once it’s shown, and by how much it’s off, below the lanes. @param {number} x @param {number} guess @param {number} off @param {number} known @param {number} width */
function drawGuess(x, guess, off, known, width) {
  const [name, room] = width < 340 ? ["", 100] : width < NARROW ? ["guess: ", 150] : ["your guess: ", 216];
  const words = svg`${name}<tspan class="strong">${guess} ms, ${off ? `${off} off` : "right on"}</tspan>`;
  const [at, side] = width - x < room ? [x - KNOB, "end"] : [Math.max(x, known) + KNOB, ""];
  return [
    path(`M${x} ${TOP + HIGH - GUESS}v${GUESS - 2}`, x < known ? "ink" : "paper"),
    text(at, TOP + HIGH - 9, `label paper ${side}`, words),
  ];
}

/** Where a knob is at the least and at the most. @param {number} width */
const rail = (width) => ({ from: FINGER, to: width - FINGER });

/** @param {State} state @param {number} width @param {boolean} paper */
function draw(state, width, paper) {
  const { kernel, pytorch, l2 } = state;
  const [scale, narrow, shown] = [width / kernel, width < NARROW, paper || state.shown];
  const [guess, all, held] = guessed(state);
  const { from, to } = rail(width);
  const filled = Object.entries(times(l2));
  const known = Math.max(...filled.map(([, time]) => time * scale));
  const end = from + ((held - 1) / (all - 1)) * (to - from); // where it's held
  const split = guess === all ? width : end; // a guess of all leaves nothing
  const start = shown ? known : guess ? split : 0; // of what isn’t explained
  const lanes = filled.map(([name, time], lane) => {
    const y = TOP + lane * (LANE + GAP);
    const words = svg`${NAMES[name]} <tspan class="strong">${ms(time)}</tspan>`;
    return [
      rect(EDGE, y + EDGE, shown ? time * scale - EDGE : 0, LANE, "ink hollow moves", Number(shown)),
      text(known + 10, y + LANE / 2 + 7, "paper moves after", words, Number(shown)),
    ];
  });
  const [x, anchor] = narrow ? [width - 8, "end"] : [(known + 160 + width) / 2, "middle"]; // beside the lanes' names
  const named = (/** @type {string} */ name, /** @type {number} */ time) =>
    svg`${name} <tspan class="soft">${shown ? ms(time) : ""}</tspan>`;
  return [
    text(0, NAME - 12, "ink", named("three lines of PyTorch", pytorch)),
    drawPyTorch(state, width),
    text(0, TOP - 12, "ink", named("this kernel", kernel)),
    text(width, TOP - 12, "ink factor end", `${Math.round(kernel / pytorch)} times as long`),
    shown ? rect(0, TOP, width, HIGH, "violet", GONE) : rect(EDGE, TOP + EDGE, width - 2 * EDGE, HIGH - 2 * EDGE, "ink empty"),
    rect(start, TOP, width - start, HIGH, `violet ${shown ? "moves verdict" : ""}`),
    text(x, MIDDLE - GUESS / 2 + (narrow ? 9 : 12), `riddle paper moves after ${anchor}`, "What else?", Number(shown)),
    lanes,
    shown ? nothing : [
      guess ? nothing : path(`M${end} ${TOP}v${HIGH}`, "paper"),
      drawQuestion(guess, end, width),
      svg`<circle class="ink knob" cx=${end} cy=${MIDDLE} r=${KNOB} />`,
    ],
    shown && guess && !paper ? drawGuess(Math.min(guess * scale, width - EDGE), guess, missed(guess, times(l2)), known, width) : nothing,
  ];
}

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width }) {
  const { memory, multiplying } = times(state.l2);
  const filled = state.shown ? ` Of these, memory fills ${ms(memory)}, and multiplying ${ms(multiplying)}.` : "";
  const label = `Two bars on one scale: three lines of PyTorch take ${ms(state.pytorch)}, this kernel ${ms(state.kernel)}, ${Math.round(state.kernel / state.pytorch)} times as long.${filled}`;
  const drawn = (/** @type {number} */ wide, /** @type {number} */ _, /** @type {boolean} */ paper) => draw(state, wide, paper);
  const [, max, held] = guessed(state);
  const place = { ...rail(width), y: MIDDLE, high: HIGH };
  const hold = grip("Your guess: memory and multiplying", held, (guess) => set({ guess }), { min: 1, max, inWords: ms(held) }, place);
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
  if (!state.shown) return guess ? `${guess} ms of ${all}? Let’s see.` : "Both compute the same attention. Drag into the bar: that’s your guess.";
  return `At best, moving bytes takes ${Math.round(memory)} ms of ${all}, and multiplying ${Math.round(multiplying)}, at the same time. What else?`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "Where the time goes", initial, picture, primary, says,
};

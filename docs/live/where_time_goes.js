// The time of a kernel, which the reader measures with PyTorch's: first how often that fits in, then how much of it two
// suspects fill, and at last how little that is.
import { html, nothing, svg } from "lit-html";
import { NAMES, times } from "./where_time_goes.model.js";
import { grip, requireInteger } from "./controls.js";
import { clamp, path, rect, stage, text } from "./strokes.js";

// In milliseconds and TB/s, as measured; laid: how often PyTorch's bar is; guess: in milliseconds, 0 before there is
// one; shown: whether the suspects are.
const initial = { kernel: 63.9, pytorch: 0.545, l2: 8.47, laid: 1, guess: 0, shown: false };
const [LANE, GAP, KNOB] = [44, 12, 10]; // the kernel's bar has two lanes, and this around them; a knob's radius
const [LOW, HIGH] = [48, 2 * LANE + 3 * GAP]; // of PyTorch's bar, and of the kernel's
const [NAME, TOP] = [28, 28 + LOW + 20 + 28]; // where each bar begins, below its name
const HEIGHT = TOP + HIGH + 28; // with the guess
const [EDGE, FINGER] = [1, 22]; // half a line, and half a finger, in pixels
const NARROW = 600; // below which a question takes two lines

/** @typedef {typeof initial} State */

const ms = (/** @type {number} */ time) => `${time < 1 ? time.toFixed(3) : Math.round(time)} ms`;

/** How often PyTorch's bar is laid, how often it fits, the guess, and the whole, in milliseconds. @param {State} state */
function asked({ laid, guess, kernel, pytorch }) {
  const [fits, all] = [Math.round(kernel / pytorch), Math.round(kernel)];
  return { laid: requireInteger("Laid", laid, 1, fits), fits, guess: requireInteger("Guess", guess, 0, all), all };
}

/** Where a knob is at the least and at the most. @param {number} width */
const rail = (width) => ({ from: FINGER, to: width - FINGER });
/** Where it is at one of 1 to `most`. @param {number} held @param {number} most @param {number} width */
const knobAt = (held, most, width) => FINGER + ((held - 1) / (most - 1)) * (width - 2 * FINGER);
const drawKnob = (/** @type {number} */ x, /** @type {number} */ y) => svg`<circle class="ink knob" cx=${x} cy=${y} r=${KNOB} />`;

/** PyTorch's bar end to end, as often as it fits, and a cover over those to come. @param {State} state @param {number} width @param {boolean} all */
function drawLaid(state, width, all) {
  const [{ laid, fits }, each] = [asked(state), (width * state.pytorch) / state.kernel];
  const [gap, edge, x] = [width < NARROW ? 0.75 : 1.5, (all ? fits : laid) * each, knobAt(laid, fits, width)];
  const y = NAME + LOW / 2;
  return [
    svg`<path class="stroke grey" style="stroke-width: ${LOW}px; stroke-dasharray: ${each - gap} ${gap}" d="M0 ${y}H${fits * each}" />`,
    rect(edge, NAME - EDGE, width - edge + EDGE, LOW + 2 * EDGE, `paper ${all ? "moves" : ""}`),
    rect(0, NAME, each - gap, LOW, "ink"),
    all ? nothing : drawKnob(x, y),
    laid === 1 && !all ? text(x + 2 * KNOB, y + 7, "question ink", "Drag: how often does it fit?") : nothing,
  ];
}

/** What’s asked, and of a guess what is on each side of the knob, or right of it where there’s no room. @param {number} guess @param {number} x @param {number} width */
function drawQuestion(guess, x, width) {
  const narrow = width < NARROW;
  const write = (/** @type {number} */ at, /** @type {string[]} */ words, look = "") => {
    const lines = narrow ? words : [words.join(" ")];
    const y = TOP + HIGH / 2 + 7 - 12 * (lines.length - 1);
    return lines.map((line, i) => text(at, y + 24 * i, `question ${at < x ? "ink" : "paper"} ${look}`, line));
  };
  if (!guess) return write(x + 2 * KNOB, ["And how much of it is", "memory and multiplying?"]);
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

/** @param {State} state @param {number} width @param {boolean} paper */
function draw(state, width, paper) {
  const { kernel, pytorch, l2 } = state;
  const { laid, fits, guess, all } = asked(state);
  const [scale, narrow, shown] = [width / kernel, width < NARROW, paper || state.shown];
  const whole = shown || laid === fits;
  const end = knobAt(guess || 1, all, width);
  const filled = Object.entries(times(l2));
  const known = Math.max(...filled.map(([, time]) => time * scale));
  const start = shown ? known : guess && whole ? end : 0; // of what isn’t explained
  const lanes = filled.map(([name, time], lane) => {
    const y = TOP + GAP + lane * (LANE + GAP);
    const words = svg`${NAMES[name]} <tspan class="strong">${ms(time)}</tspan>`;
    return [
      rect(EDGE, y, shown ? time * scale - EDGE : 0, LANE, "ink hollow moves", Number(shown)),
      text(known + 10, y + LANE / 2 + 6, "paper moves", words, Number(shown)),
    ];
  });
  const [left, right] = narrow ? [212, width - 44] : [230, width - 58]; // right of the name, and inside
  const [x, anchor] = narrow ? [width - 8, "end"] : [width / 2, "middle"]; // beside the lanes' names
  const named = (/** @type {string} */ name, /** @type {number} */ time) =>
    svg`${name} <tspan class="soft">${whole ? ms(time) : ""}</tspan>`;
  return [
    text(0, NAME - 12, "ink", named("three lines of PyTorch", pytorch)),
    drawLaid(state, width, whole),
    text(0, TOP - 12, "ink", named("this kernel", kernel)),
    whole ? text(width, TOP - 12, "ink factor end", `${fits} times as long`) : nothing,
    laid > 1 && !whole ? text(clamp(left, knobAt(laid, fits, width), right), NAME - 12, "ink factor middle", `${laid} times`) : nothing,
    rect(EDGE, TOP + EDGE, width - 2 * EDGE, HIGH - 2 * EDGE, "ink empty"),
    rect(start, TOP, width - start, HIGH, `violet ${shown ? "moves" : ""}`),
    text(x, TOP + HIGH / 2 + (narrow ? 10 : 12), `riddle paper moves ${anchor}`, "What else?", Number(shown)),
    lanes,
    shown || !whole ? nothing : [path(`M${end} ${TOP}v${HIGH}`, guess ? "ink" : "paper"), drawQuestion(guess, end, width), drawKnob(end, TOP + HIGH / 2)],
    paper || !guess || !whole ? nothing : drawGuess(end, guess, missed(guess, times(l2)), width, shown),
  ];
}

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width }) {
  const { memory, multiplying } = times(state.l2);
  const { laid, fits, guess, all } = asked(state);
  const filled = state.shown ? ` Of these, memory fills ${ms(memory)}, and multiplying ${ms(multiplying)}.` : "";
  const label = `Two bars on one scale: three lines of PyTorch take ${ms(state.pytorch)}, this kernel ${ms(state.kernel)}, ${fits} times as long.${filled}`;
  const drawn = (/** @type {number} */ wide, /** @type {number} */ _, /** @type {boolean} */ paper) => draw(state, wide, paper);
  const lay = grip("How often PyTorch’s bar is laid", laid, (laid) => set({ laid }), { min: 1, max: fits, inWords: `${laid} times` }, { ...rail(width), y: NAME + LOW / 2 });
  const range = { min: 1, max: all, inWords: `${guess || 1} ms` };
  const hold = grip("Your guess: memory and multiplying", guess || 1, (guess) => set({ guess }), range, { ...rail(width), y: TOP + HIGH / 2 });
  const held = [state.shown ? nothing : lay, state.shown || laid < fits ? nothing : hold];
  return html`<div class="hb-live__grips">${stage(width, label, drawn, [HEIGHT, HEIGHT])}${width ? held : nothing}</div>`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
function primary(state, set) {
  const { laid, fits, guess } = asked(state);
  const [name, change, loud] = state.shown
    ? ["Guess again", { shown: false, guess: 0 }, false]
    : laid < fits ? ["Lay them all", { laid: fits }, false] : ["Show me", { shown: true }, guess > 0];
  return html`<button type="button" class="hb-live__main ${loud ? "" : "quiet"}" @click=${() => set(change)}>${name}</button>`;
}

/** @param {State} state */
function says(state) {
  const [{ memory, multiplying }, { laid, fits, guess, all }] = [times(state.l2), asked(state)];
  if (state.shown) return `At full speed, memory takes ${Math.round(memory)} ms of ${all}, and multiplying ${Math.round(multiplying)}, both at once. What else is there?`;
  if (laid === 1) return "Both are the same attention, with the same result up to rounding.";
  const laidTo = `${laid} · ${ms(state.pytorch)} = ${ms(laid * state.pytorch)}`;
  if (laid < fits) return `${laidTo}, and there’s room for more.`;
  return guess ? `${guess} ms of ${all}? Let’s see.` : `${laidTo}. Now drag below: where do memory and multiplying end?`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "Where the time goes", initial, picture, primary, says,
};

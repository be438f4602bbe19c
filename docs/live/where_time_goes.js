// The time of a kernel as a bar, and how little of it each suspect fills: hollow, since that's worked out.
import { html, svg } from "lit-html";
import { billions, gigabytes, times } from "./where_time_goes.model.js";
import { formatNumber, oneOf } from "./controls.js";
import { path, rect, stage, text } from "./strokes.js";

// In milliseconds and TB/s, as measured; tried: which suspects, the newest last.
const initial = { kernel: 63.9, pytorch: 0.54, l2: 8.47, tried: "" };
const [TOP, LANE, GAP] = [112, 40, 8]; // of the bar; its two lanes and what is around them
const HIGH = 2 * LANE + 3 * GAP;
const HATCH = 14; // from line to line
const NAME = 150; // pixels that a lane’s name takes, behind what it fills

/** @typedef {typeof initial} State */
/** @type {Record<string, string>} */
const SUSPECTS = { memory: "Memory", multiplying: "Multiplying", else: "Something else" };

/** @param {State} state */
const tried = ({ tried }) => tried.split(",").filter(Boolean).map((name) => oneOf("Tried", name, Object.keys(SUSPECTS)));
/** @param {string[]} tried */
const isSolved = (tried) => Object.keys(SUSPECTS).every((name) => tried.includes(name));
const ms = (/** @type {number} */ time) => `${time.toFixed(1)} ms`;

/** Slanted lines in a box as high as the bar. @param {number} left @param {number} right */
function hatch(left, right) {
  const lines = Array.from({ length: Math.ceil((right - left + HIGH) / HATCH) }, (_, i) => {
    const foot = left - HIGH + (i + 1) * HATCH;
    const [from, to] = [Math.max(foot, left), Math.min(foot + HIGH, right)];
    return to > from ? `M${from} ${TOP + HIGH + foot - from}L${to} ${TOP + HIGH + foot - to}` : "";
  });
  return lines.join("");
}

/** @param {State} state @param {string[]} tried @param {number} width */
function draw({ kernel, pytorch, l2 }, tried, width) {
  const [small, scale, filled] = [width < 600, width / kernel, times(l2)];
  const all = isSolved(tried);
  const rest = filled.memory * scale + NAME;
  const lanes = Object.entries(filled).map(([name, time], lane) => {
    const [there, y] = [tried.includes(name), TOP + GAP + lane * (LANE + GAP)];
    const words = svg`${name} <tspan class="strong">${ms(time)}</tspan>`;
    return [
      rect(2, y, there ? time * scale - 2 : 0, LANE, "paper moves"),
      text(time * scale + 10, y + 26, "paper moves", words, Number(there)),
    ];
  });
  const aside = small && tried.length > 0; // the lanes' names take the left half
  const question = text(aside ? width - 12 : width / 2, TOP + HIGH / 2 + 7, `question paper moves ${aside ? "end" : "middle"}`, "What fills it?", Number(!all));
  return [
    text(0, 16, "ink", "three lines of PyTorch"),
    rect(0, 28, pytorch * scale, 28, "ink"),
    text(pytorch * scale + 10, 48, "ink strong", ms(pytorch)),
    text(0, TOP - 12, "ink", "this kernel"),
    text(width, TOP - 12, "violet strong end", ms(kernel)),
    rect(0, TOP, width, HIGH, "violet"),
    path(hatch(rest, width), "paper thin moves", all ? 0.4 : 0),
    question,
    text((rest + width) / 2, TOP + HIGH / 2 + (small ? 10 : 16), "riddle middle paper moves", "What else?", Number(all)),
    lanes,
  ];
}

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width }) {
  const { memory, multiplying } = times(state.l2);
  const label = `Two bars on one scale: three lines of PyTorch take ${ms(state.pytorch)}, this kernel ${ms(state.kernel)}. Of these, memory fills ${ms(memory)} and multiplying ${ms(multiplying)}, at the same time.`;
  const drawn = (/** @type {number} */ wide, /** @type {number} */ _, /** @type {boolean} */ paper) =>
    draw(state, paper ? Object.keys(SUSPECTS) : tried(state), wide);
  return stage(width, label, drawn, [TOP + HIGH + 2, TOP + HIGH + 2]);
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
function primary(state, set) {
  const now = tried(state);
  const buttons = Object.entries(SUSPECTS).map(([name, title]) => {
    const press = () => set({ tried: [...now.filter((other) => other !== name), name].join(",") });
    return html`<button type="button" class="hb-live__main ${now.includes(name) ? "quiet" : ""}" @click=${press}>${title}</button>`;
  });
  return html`<div class="hb-live__suspects" role="group" aria-label="What fills it?">${buttons}</div>`;
}

/** @param {State} state */
function says(state) {
  const [{ memory, multiplying }, whole] = [times(state.l2), Math.round(state.kernel)];
  switch (tried(state).at(-1)) {
    case "memory":
      return `Every program loads every key and value again: ${formatNumber(gigabytes, 1)} GB. Even so, the L2 cache needs ${Math.round(memory)} ms of ${whole}.`;
    case "multiplying":
      return `${formatNumber(billions, 1)} billion operations: ${Math.round(multiplying)} ms of ${whole}, and while memory works.`;
    case "else":
      return isSolved(tried(state)) ? "Right: neither of them fills it. But what does? That’s this chapter." : "Perhaps. Rule out the other two first.";
    default:
      return "Three suspects. Press the one that you think fills the bar.";
  }
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "Where the time goes", initial, picture, primary,
  says: (state) => says(state).replace(/ ms\b/g, "\u00a0ms"),
  done: (state) => isSolved(tried(state)),
};

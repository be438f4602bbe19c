// The bar from the top of chapter 5, for one pair: two more units fill it, one after the other.
import { svg } from "lit-html";
import { drawBar, HIGH, MOST, names, suspects, total } from "./pair.view.js";
import { clamp, stage, text } from "./strokes.js";

const initial = { step: 0, clocks: 124 }; // clocks of a pair, as measured
const RUN = 600; // milliseconds

/** @typedef {typeof initial} State */

/** @param {number} step @param {number} part how far the newest is @param {number} width @returns {import("./pair.view.js").Unit[]} */
function units(step, part, width) {
  const [lsu, alu] = names(width);
  const there = (/** @type {number} */ since) => (step > since ? 1 : step === since ? part : 0);
  return [
    ...suspects(width),
    { name: lsu, parts: [[4, ""], [44, "tl.sum"], [4, ""], [44, "tl.sum"]], there: there(1) },
    { name: alu, parts: [[24, "tl.where"], [24, "tl.where"], [20, "loops"]], there: there(2) },
  ];
}

/** @param {State} state @param {(change: Partial<State>) => void} _ @param {import("./frame.js").Canvas} canvas */
function picture(state, _, { width, elapsed }) {
  const part = 1 - (1 - clamp(0, elapsed / RUN, 1)) ** 3;
  const draw = (/** @type {number} */ wide, /** @type {number} */ __, /** @type {boolean} */ paper) => [
    drawBar(units(paper ? 2 : state.step, paper ? 1 : part, wide), state.clocks, wide),
    state.step || paper ? "" : text(wide / 2, HIGH - 26, "riddle paper halo middle", "What else?"),
    paper || (state.step === 2 && part === 1) ? drawRest(state.clocks, wide) : "",
  ];
  return stage(width, says(state), draw, [HIGH, HIGH]);
}

/** What's still open. @param {number} clocks @param {number} width */
function drawRest(clocks, width) {
  const rest = clocks - Math.max(...units(2, 1, 0).map(total));
  return text((clocks * width) / MOST - 12, HIGH - 20, "paper halo end", svg`<tspan class="strong">${rest}</tspan> open`);
}

/** @param {State} state */
function says({ step, clocks }) {
  const [memory, fp32, lsu, alu] = units(2, 1, 0).map(total);
  if (step === 0) return `A pair takes ${clocks} clocks. Memory fills ${memory}, the FP32 units ${fp32}, and 2 of these multiply.`;
  const sum = step === 1 ? `LSU: 4 · (11 + 11 + 2) = ${lsu} clocks.` : `ALU: 2 · 24 + 20 = ${alu} clocks.`;
  const unbroken = sum.replace(/ ([·+=]) /g, "\u00a0$1\u00a0"); // no line ends in it
  return `${unbroken} ${step === 1 ? "Two sums across threads, and two loads." : "Both work at once, and neither fills the bar."}`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "What a pair pays, unit by unit",
  initial, picture, says,
  lastStep: () => 2,
  next: ({ step }) => (step ? "Add the passes" : "Add the sums"),
  duration: () => RUN,
};

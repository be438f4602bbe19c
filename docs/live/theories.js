// The pair's bar again: two changes of its kernel, what each theory predicts, and what came of it.
import { svg } from "lit-html";
import { drawBar, HIGH, MOST, names, suspects } from "./pair.view.js";
import { formatNumber } from "./controls.js";
import { clamp, path, stage, text } from "./strokes.js";

const initial = { step: 0, before: 124, cheaper: 124, more: 135 }; // clocks of a pair, as measured
const ALU = [68, 44, 52]; // clocks of a pair: before, with the first change, with both
const LSU = [96, 96, 104];
const FITS = 5; // clocks by which a prediction may be off
const ROW = 30; // pixels, of a theory below the bar
const HEIGHT = HIGH + 3 * ROW + 12;
const RUN = 1400; // milliseconds: first the work changes, then the time

/** @typedef {typeof initial} State */

/** The clocks of a pair by step: if it's the ALU, it falls until the LSU takes over. @param {State} state */
const theories = ({ before }) => [
  { name: "if it’s the ALU", clocks: [before, ...[1, 2].map((i) => Math.max((before * ALU[i]) / ALU[0], LSU[i]))] },
  { name: "if programs wait", clocks: [before, before, before] },
  { name: "if it’s the LSU", clocks: LSU.map((work) => before + work - LSU[0]) },
];

/** As measured, by step. @param {State} state */
const times = ({ before, cheaper, more }) => [before, cheaper, more];

/** Whether one of the measurements so far is against it. @param {number[]} clocks @param {State} state @param {number} seen */
const isOut = (clocks, state, seen) => times(state).slice(0, seen + 1).some((time, step) => Math.abs(time - clocks[step]) > FITS);

/** @param {State} state @param {(change: Partial<State>) => void} _ @param {import("./frame.js").Canvas} canvas */
function picture(state, _, { width, elapsed }) {
  const eased = (/** @type {number} */ from) => 1 - (1 - clamp(0, (2 * elapsed) / RUN - from, 1)) ** 3;
  const draw = (/** @type {number} */ wide, /** @type {number} */ __, /** @type {boolean} */ paper) => {
    const step = paper ? 2 : state.step;
    const [first, second] = paper || !step ? [1, 1] : [eased(0), eased(1)];
    const between = (/** @type {number[]} */ all, /** @type {number} */ part) => all[step - 1] + part * (all[step] - all[step - 1]);
    const [lsu, alu, time] = step ? [between(LSU, first), between(ALU, first), between(times(state), second)] : [LSU[0], ALU[0], state.before];
    const [nameLsu, nameAlu] = names(wide);
    const units = [
      ...suspects(wide),
      { name: nameLsu, parts: /** @type {[number, string][]} */ ([[lsu, ""]]), there: 1 },
      { name: nameAlu, parts: /** @type {[number, string][]} */ ([[alu, ""]]), there: 1, before: ALU[0] },
    ];
    const seen = second === 1 ? step : step - 1; // the last measurement that's there
    const x = (/** @type {number} */ clocks) => (clocks * wide) / MOST;
    const rows = theories(state).map(({ name, clocks }, row) => {
      const y = HIGH + 12 + (row + 1) * ROW - 10;
      const out = isOut(clocks, state, seen);
      const end = clocks[Math.max(step, 1)]; // at first, of the change to come
      const words = svg`<tspan class="strong">${formatNumber(end, 0)}</tspan>`;
      return [
        text(0, y, `label ${out ? "struck" : "ink"}`, name),
        path(`M${x(end)} ${y - 19}v25`, out ? "soft" : "ink"),
        text(x(end) - 10, y, `label end ${out ? "struck" : "ink"}`, words),
      ];
    });
    return [path(`M${x(time)} ${HIGH}V${HEIGHT}`, "violet thin"), drawBar(units, time, wide), rows];
  };
  const predicted = theories(state).map(({ name, clocks }) => `${name} ${clocks.slice(1).map((n) => formatNumber(n, 0)).join(" and ")}`);
  return stage(width, `${says(state)} Predicted: ${predicted.join(", ")}.`, draw, [HEIGHT, HEIGHT]);
}

/** @param {State} state */
function says({ step, before, cheaper, more }) {
  if (step === 0) return `A pair takes ${before} clocks. Three theories say why. Which will hold?`;
  if (step === 1) return `The ALU has ${ALU[1]} clocks, not ${ALU[0]}, and a pair takes ${cheaper}. So it isn’t the ALU.`;
  return `${more} clocks, and it was ${cheaper}. So programs don’t just wait. Only the LSU is left.`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "Three theories and two measurements",
  initial, picture, says,
  lastStep: () => 2,
  next: ({ step }) => (step ? "More for the LSU" : "Less for the ALU"),
  meanwhile: () => "First the work changes, then the time.",
  duration: () => RUN,
};

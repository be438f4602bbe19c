// What each theory predicts for two changes of a kernel, and what came of it: a theory that doesn't fit is struck out.
import { nothing, svg } from "lit-html";
import { formatNumber } from "./controls.js";
import { clamp, group, path, rect, stage, text } from "./strokes.js";

const initial = { step: 0, before: 124, cheaper: 124, more: 135 }; // clocks of a pair, as measured
const ALU = [68, 44, 52]; // clocks of a pair: before, with the first change, with both
const LSU = [96, 96, 104];
const CHANGES = ["Less for the ALU", "And more for the LSU"];
const FITS = 5; // clocks by which a prediction may be off
const AXIS = 140; // clocks
const [TITLE, BAR, ROW, GAP] = [34, 18, 26, 24]; // pixels: above a change's bars, a bar, from one to the next, between changes
const CHANGE = TITLE + 4 * ROW;
const HEIGHT = 2 * CHANGE + GAP;
const RUN = 700; // milliseconds

/** @typedef {typeof initial} State */

/** Clocks of a pair with each change, if that's what sets its time. @param {State} state */
const theories = ({ before }) =>
  Object.entries({ "if it’s the ALU": ALU, "if programs wait": [1, 1, 1], "if it’s the LSU": LSU })
    .map(([name, work]) => ({ name, clocks: work.slice(1).map((now) => (before * now) / work[0]) }));

/** @param {State} state */
const measured = ({ cheaper, more }) => [cheaper, more];

/** Whether a measurement so far is against it. @param {number[]} clocks @param {State} state @param {number} seen */
const isOut = (clocks, state, seen) => measured(state).slice(0, seen).some((time, change) => Math.abs(time - clocks[change]) > FITS);

/** @param {State} state @param {(change: Partial<State>) => void} _ @param {import("./frame.js").Canvas} canvas */
function picture(state, _, { width, elapsed }) {
  const part = clamp(0, elapsed / RUN, 1);
  const draw = (/** @type {number} */ wide, /** @type {number} */ high, /** @type {boolean} */ paper) => {
    const step = paper ? 2 : state.step;
    const seen = paper || part === 1 ? step : step - 1; // measurements that are there
    const clock = (wide - 160) / AXIS;
    return CHANGES.map((title, change) => {
      const top = change * (CHANGE + GAP);
      const y = (/** @type {number} */ row) => top + TITLE + row * ROW;
      const bars = theories(state).map(({ name, clocks }, row) => {
        const out = isOut(clocks, state, seen);
        const end = clocks[change] * clock;
        const words = svg`<tspan class="strong">${formatNumber(clocks[change], 0)}</tspan> ${name}`;
        return group(out ? 0.65 : 1, path(`M1 ${y(row)}H${end}v${BAR}H1Z`, "soft"), text(end + 8, y(row) + BAR - 4, `label ${out ? "struck" : "ink"}`, words));
      });
      const time = measured(state)[change];
      const [there, now] = [change < seen, change === step - 1 && !paper ? part : 1];
      const end = change < step ? time * now * clock : 0;
      return [
        text(0, top + 18, "label strong", title),
        bars,
        rect(0, y(3), AXIS * clock, BAR, "track"),
        end ? rect(0, y(3), end, BAR, "violet") : nothing,
        text((there ? end : 0) + 8, y(3) + BAR - 4, "label violet", there ? svg`<tspan class="strong">${time}</tspan> measured` : end ? "" : "measured: ?"),
      ];
    });
  };
  return stage(width, `${says(state)} Predicted: ${theories(state).map(({ name, clocks }) => `${name} ${clocks.map((n) => formatNumber(n, 0)).join(" and ")}`).join(", ")}.`, draw, [HEIGHT, HEIGHT]);
}

/** @param {State} state */
function says(state) {
  const { step, before, cheaper, more } = state;
  if (step === 0) return `Three theories, and the clocks that each predicts. A pair takes ${before} now. Which will hold?`;
  if (step === 1) return `${cheaper} clocks, and it was ${before}. So it isn’t the ALU.`;
  return `${more} clocks. So programs don’t just wait: it’s the LSU.`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "Three theories and two measurements",
  initial, picture, says,
  lastStep: () => 2,
  next: ({ step }) => (step ? "Measure the second" : "Measure the first"),
  meanwhile: () => "Measuring …",
  duration: () => RUN,
};

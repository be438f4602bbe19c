// The values ride along: beside the sum stand the two numbers of the accumulator, and one factor shrinks all three.
import { html, svg } from "lit-html";
import { columns, last } from "./accumulator.model.js";
import { barsAt, bracket, drawBars, power } from "./bars.js";
import { checkbox, parseNumbers, textField } from "./controls.js";
import { output, plain, readInBlocks, schedule } from "./online_softmax.model.js";
import { group, path, rect, stage, text } from "./strokes.js";

const initial = { scores: "1 0 2 1 0 2", forget: false, step: 0 };
const VALUES = [[10, 0], [10, 0], [10, 0], [0, 10], [0, 10], [0, 10]];
const TEN = 10; // of a value is as tall as 1 of the sum, so both numbers together are as tall as their sum

/** @typedef {typeof initial} State */
/** @typedef {import("./online_softmax.model.js").Run} Run */
/** @typedef {ReturnType<typeof columns>} Frame */
/** @typedef {ReturnType<typeof layout>} Layout */

/** @param {State} state */
const runOf = ({ scores, forget }) =>
  readInBlocks(parseNumbers("Scores", scores, { min: -50, max: 50, count: [6, 6] }), 2, forget, VALUES);
/** @param {number} x */
const number = (x) => String(Math.round(x * 100) / 100);
/** @param {number[]} row */
const vector = (row) => `[${row.map(number).join(", ")}]`;

/** @param {Run} run @param {number} width @param {number} height */
function layout(run, width, height) {
  const small = width < 560;
  const [thick, gap, away] = small ? [42, 6, 14] : [Math.round(width / 10), 24, 56];
  const left = width - 3 * thick - gap - away - 8;
  const [top, floor] = small ? [60, height - 108] : [72, height - 116];
  const most = Math.max(
    ...[run, readInBlocks(run.scores, 2, true, run.values)].flatMap(({ steps }) => steps.map(({ sum }) => sum)),
  );
  const bars = barsAt(run, left - (small ? 22 : 88), small, top + 24, floor);
  return {
    ...bars, small, width, thick,
    columns: [left, left + thick + away, left + 2 * thick + away + gap],
    value: bars.row + (small ? 20 : 24), // the first number of a value, below its score
    bracket: bars.row + (small ? 52 : 58),
    full: floor - top,
    above: top - 36, // the factor, over all columns
    tall: (/** @type {number} */ sum) => (sum * (floor - top)) / most,
  };
}

/** What each word brings, below its bar. @param {Run} run @param {Frame} now @param {Layout} at */
const drawValues = (run, now, at) =>
  now.bars.map(({ lit, gone }, i) =>
    group(
      lit * (1 - gone),
      run.values[i].map((x, row) => text(at.x(i) + at.bar / 2, at.value + 20 * row, "small middle value", plain(x))),
    ),
  );

/** @param {Run} run @param {Frame} now @param {Layout} at */
function drawColumns(run, now, at) {
  const truth = output(run.atOnce);
  return now.columns.map(({ pieces, height }, c) => {
    const unit = c ? TEN : 1;
    let y = at.floor;
    const ours = pieces.reduce((all, { height, ink }) => all + height * Number(ink === 1), 0); // without seams
    const drawn = pieces.map(({ height, ink }) => {
      const h = at.tall(height / unit);
      y -= h;
      return ink < 1
        ? [
            rect(at.columns[c], y, at.thick, h, "ink", ink),
            rect(at.columns[c], y, at.thick, h, `${c ? "value" : "rose-fill"} piece`, 1 - ink),
          ]
        : "";
    });
    const ghost =
      c && now.checked
        ? path(
            `M${at.columns[c] - 5} ${at.floor}v${-at.tall(truth[c - 1] / TEN)}h${at.thick + 10}V${at.floor}`,
            "soft thin dashes",
            now.checked,
          )
        : "";
    return [
      rect(at.columns[c], at.floor - at.full, at.thick, at.full, "track"),
      path(`M${at.columns[c]} ${at.floor}h${at.thick}`, "line thin"),
      rect(at.columns[c], at.floor - at.tall(ours / unit), at.thick, at.tall(ours / unit), "ink"),
      drawn,
      ghost,
      rect(at.columns[c], y - 4, at.thick, 5, "ink"),
      text(
        at.columns[c] + at.thick / 2,
        y - 14,
        at.small ? "strong middle halo" : "big middle halo",
        c ? (now.k ? height : 0).toFixed(2) : height.toFixed(3),
      ),
    ];
  });
}

/** One factor for all three, above them. @param {Run} run @param {Frame} now @param {Layout} at */
function drawFactor(run, now, at) {
  const { before, max, sum } = run.steps[now.k];
  if (!before.sum) return "";
  const [from, to] = [at.columns[0], at.columns[2] + at.thick];
  const line = (/** @type {unknown} */ factor, /** @type {number} */ shown, look = "violet") =>
    group(
      Math.min(1, 4 * shown),
      path(`M${from} ${at.above + 20}v-8H${to}v8`, `${look} thin`),
      text((from + to) / 2, at.above, `middle factor halo ${look}`, factor),
    );
  if (now.checked) return line(svg`÷ ${sum.toFixed(3)}`, now.checked, "ink");
  const exponent = before.max - max;
  if (run.forget && exponent)
    return group(
      Math.min(1, 4 * now.shrunk),
      text((from + to) / 2 + 8, at.above, "end soft small", "forgotten"),
      text((from + to) / 2 + 16, at.above, "factor soft", svg`× ${power(exponent)}`),
    );
  return line(exponent ? svg`× ${power(exponent)}` : "× 1", now.shrunk);
}

/** @param {State} state @param {unknown} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width, elapsed }) {
  const run = runOf(state);
  const draw = (/** @type {number} */ wide, /** @type {number} */ high, /** @type {boolean} */ paper) => {
    const at = layout(run, wide, high);
    const now = paper ? columns(run, last(run)) : columns(run, state.step, elapsed);
    const [sum, one, two] = at.columns;
    const tenth = two + at.thick - one < 240 ? "" : ", a tenth as tall";
    return [
      drawBars(run, now, at),
      drawValues(run, now, at),
      drawColumns(run, now, at),
      drawFactor(run, now, at),
      now.checked
        ? [
            bracket(sum, sum + at.thick, at.bracket, at.small ? "1" : "1 in all"),
            bracket(one, two + at.thick, at.bracket, `output${tenth}`),
          ]
        : [
            bracket(sum, sum + at.thick, at.bracket, "sum"),
            bracket(one, two + at.thick, at.bracket, `accumulator${tenth}`, 14),
          ],
    ];
  };
  return stage(width, says(state), draw, [420, 456]);
}

/** @param {State} state */
function says(state) {
  const run = runOf(state);
  const [k, step] = [state.step, run.steps[Math.min(state.step, last(run) - 1)]];
  if (!k) return "Six scores again, and below each the value that its word brings.";
  if (k === 1 && run.forget) return "The same six scores, but now we forget to rescale. Watch the second pair.";
  if (k === 1)
    return "The same exponentials, times the values, build two more columns. What will the next pair do to them?";
  if (k < last(run)) {
    if (!step.moved && run.forget)
      return "The line stayed, so there was nothing to forget. The old mistake stays in all three.";
    if (!step.moved) return "The line stayed, and nothing shrank. The pair only brings its values.";
    const rise = `The line rose by ${plain(step.max - step.before.max)}`;
    return run.forget
      ? `${rise}, but we forgot to shrink the three columns.`
      : `${rise}, so all three columns shrank by e^{${plain(step.before.max - step.max)}}. Then came the pair.`;
  }
  const [found, true_] = [output(step), output(run.atOnce)].map(vector);
  return found === true_
    ? `Divide all three by the sum. It becomes 1, and the accumulator becomes the output: ${found}.`
    : `We forgot to rescale, and the output is ${found}. All six at once give ${true_}.`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
const more = (state, set) => html`
  ${textField("Six scores", state.scores, (scores) => set({ scores, step: 0 }), 16)}
  ${checkbox("forget to rescale", state.forget, (forget) => set({ forget }))}`;

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "Values that ride along with the sum",
  initial, picture, more, says,
  lastStep: (state) => last(runOf(state)),
  next: (state) => (state.step === last(runOf(state)) - 1 ? "Divide" : "Next pair"),
  again: ({ forget }) => [forget ? "Rescale again" : "Forget to rescale", { forget: !forget, step: 1 }],
  duration: (state) => schedule(runOf(state), state.step).end,
  done: ({ forget }) => !forget,
};

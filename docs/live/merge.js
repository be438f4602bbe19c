// One row, two readers, and a cut that the reader of the page can drag: wherever it is, both together find the same
// sum.
import { html, nothing, svg } from "lit-html";
import { barsAt, bracket, power } from "./bars.js";
import { mergeReaders } from "./merge.model.js";
import { grip, parseNumbers, requireInteger, textField } from "./controls.js";
import { fixed, numberWord, plain, readInBlocks } from "./online_softmax.model.js";
import { group, path, rect, stage, text } from "./strokes.js";

const initial = { scores: "1 0 2 1 0 2", cut: 2 };
const HANDLE = 16; // how far down the cut is held

/** @typedef {typeof initial} State */
/** @typedef {ReturnType<typeof layout>} Layout */
/** @typedef {ReturnType<typeof mergeReaders>} Shared */

/** @param {State} state */
function derive(state) {
  const scores = parseNumbers("Scores", state.scores, { min: -50, max: 50, count: [2, 8] });
  return { scores, both: mergeReaders(scores, requireInteger("The cut", state.cut, 0, scores.length)) };
}

/** @param {number[]} scores @param {Shared} both @param {number} width @param {number} height */
function layout(scores, both, width, height) {
  const small = width < 560;
  const [thick, gap] = small ? [42, 16] : [Math.round(width / 11), 56];
  const first = width - 3 * thick - 2 * gap;
  const [top, floor] = small ? [56, height - 64] : [64, height - 72];
  const row = readInBlocks(scores, scores.length);
  const bars = barsAt(row, first - (small ? 20 : 104), small, top, floor);
  const max = Math.max(both.sum, ...both.readers.map(({ sum }) => sum));
  return {
    ...bars, small, width, thick, gap,
    columns: [0, 1, 2].map((i) => first + i * (thick + gap)),
    cut: (/** @type {number} */ i) => bars.x(i) - bars.gap / 2,
    tall: (/** @type {number} */ sum) => (sum * (floor - top)) / max,
  };
}

/**
 * Each reader's bars, with a line of its own.
 * @param {number[]} scores @param {Shared} both @param {number} cut @param {Layout} at
 */
function drawRow(scores, { readers }, cut, at) {
  const end = (/** @type {number} */ i) => at.x(i) + at.bar;
  const bars = scores.map((score, i) => {
    const y = at.score(score);
    return [
      rect(at.x(i), Math.min(y, at.zero - 3), at.bar, Math.max(3, Math.abs(y - at.zero)), "rose-fill"),
      text(at.x(i) + at.bar / 2, at.row, "middle", plain(score)),
    ];
  });
  const lines = [[0, cut - 1], [cut, scores.length - 1]].map(([from, to], i) => {
    if (to < from) return nothing; // nothing read
    const y = at.score(readers[i].max);
    const max = svg`<tspan class="strong ink">${plain(readers[i].max)}</tspan>`;
    const name = end(to) - at.x(from) < 48 ? max : svg`max ${max}`;
    return [
      rect(at.x(from), y - 4, end(to) - at.x(from), 4, "ink"),
      text(at.x(from) + (at.small && i ? 6 : 0), y - 12, "soft halo", name),
      bracket(at.x(from), end(to), at.bracket, i ? "second" : "first", at.blockGap),
    ];
  });
  return [path(`M0 ${at.zero}H${at.bars}`, "line thin"), bars, lines];
}

/** The cut, with something to hold. @param {number} x @param {Layout} at */
const drawCut = (x, at) => svg`
  <path class="stroke ink" d="M${x} ${HANDLE + 12}V${at.floor + 8}" /><circle class="fill ink" cx=${x} cy=${HANDLE} r="12" />
  <path class="stroke paper" d="M${x - 2} ${HANDLE - 4}l-4 4l4 4M${x + 2} ${HANDLE - 4}l4 4l-4 4" />`;

/** Each reader's sum, grey where it shrinks; and both together. @param {Shared} both @param {Layout} at */
function drawColumns({ readers, factors, parts, sum }, at) {
  const {
    columns: [one, two, all],
    thick,
    floor,
    small,
  } = at;
  const lid = (/** @type {number} */ x, /** @type {number} */ height, /** @type {string} */ look) => [
    rect(x, floor - at.tall(height) - 4, thick, 5, "ink"),
    text(x + thick / 2, floor - at.tall(height) - 14, `middle halo ${look}`, fixed(height)),
  ];
  const mine = [one, two].map((x, i) => {
    const [high, low] = [floor - at.tall(readers[i].sum), floor - at.tall(parts[i])];
    const exponent = Math.log(factors[i]);
    const middle = x + thick / 2;
    return [
      rect(x, high, thick, low - high, "track"),
      rect(x, low, thick, floor - low, "ink"),
      lid(x, readers[i].sum, "ink strong"),
      group(
        factors[i] < 1 && readers[i].sum ? 1 : 0,
        low - high > 24 ? path(`M${middle} ${high + 6}V${low - 2}m-5 -7l5 7l5 -7`, "violet") : "",
        text(
          small ? middle : x - 10,
          small ? floor + 26 : (high + low) / 2 + 8,
          `${small ? "middle" : "end"} violet strong ${small ? "" : "factor"}`,
          svg`× ${power(exponent)}`,
        ),
      ),
      bracket(x, x + thick, at.bracket, i ? "second" : "first", at.gap),
    ];
  });
  const seam = floor - at.tall(parts[0]);
  const beside = (/** @type {number} */ y, /** @type {number} */ part) => (small || !part ? "" : text(all - 12, y + 5, "end soft small", fixed(part)));
  return [
    [one, two, all].map((x) => path(`M${x} ${floor}h${thick}`, "line thin")),
    mine,
    rect(all, seam, thick, floor - seam, "ink"),
    rect(all, floor - at.tall(sum), thick, at.tall(parts[1]), "ink"),
    rect(all, seam - 1, thick, 2, "paper"),
    beside((seam + floor) / 2, parts[0]),
    beside(seam - at.tall(parts[1]) / 2, parts[1]),
    lid(all, sum, small ? "strong ink" : "big"),
    bracket(all, all + thick, at.bracket, small ? "both" : "together", at.gap),
  ];
}

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width }) {
  const { scores, both } = derive(state);
  const draw = (/** @type {number} */ wide, /** @type {number} */ high) => {
    const at = layout(scores, both, wide, high);
    return [drawRow(scores, both, state.cut, at), drawColumns(both, at), drawCut(at.cut(state.cut), at)];
  };
  const at = layout(scores, both, width, 0);
  const hold = grip(
    "Cut after",
    state.cut,
    (cut) => set({ cut }),
    { min: 0, max: scores.length, inWords: `${state.cut} of ${scores.length}` },
    { from: at.cut(0), to: at.cut(scores.length), y: HANDLE },
  );
  return html`<div class="hb-live__grips">${stage(width, says(state), draw, [376, 408])}${width ? hold : nothing}</div>`;
}

/** @param {State} state */
function says(state) {
  const { scores, both: { readers, factors, sum } } = derive(state);
  const smaller = factors.findIndex((factor) => factor < 1);
  const shrinks = smaller < 0 ? "Both have the same maximum, so neither shrinks"
    : `Only the ${smaller ? "second" : "first"} shrinks, by e^{${plain(readers[smaller].max - readers[1 - smaller].max)}}`;
  const idle = state.cut ? state.cut === scores.length && "second" : "first";
  if (idle) return `The ${idle} read nothing: maximum −∞, sum 0. That changes nothing. Together: ${fixed(sum)}.`;
  return `The first read ${numberWord(state.cut)}, the second ${numberWord(scores.length - state.cut)}. ${shrinks}. Together: ${fixed(sum)}, wherever you cut.`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
const more = (state, set) => html`${textField("Your scores", state.scores, (scores) => set({ scores }), 16)}`;

/** @type {import("./frame.js").Piece<State>} */
export default { title: "Two readers of one row", initial, picture, more, says };

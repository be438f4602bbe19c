// One row, two readers, and a cut that the reader of the page can drag: wherever it is, both together find the same sum.
import { html, svg } from "lit-html";
import { barsAt } from "./bars.js";
import { shared } from "./merge.model.js";
import { numbers, slider, stay, textField, whole } from "./parts.js";
import { fixed, plain, read, word } from "./stream.model.js";
import { bracket, clamp, group, path, power, rect, stage, text } from "./strokes.js";

const start = { scores: "1 0 2 1 0 2", cut: 2 };
const TALLEST = 4; // what a bar can be dragged to

/** @typedef {typeof start} S */
/** @typedef {ReturnType<typeof layout>} Layout */
/** @typedef {ReturnType<typeof shared>} Shared */

/** @param {S} state */
function worked(state) {
  const scores = numbers("Scores", state.scores, { least: -50, most: 50, count: [2, 8] });
  return { scores, both: shared(scores, whole("The cut", state.cut, 1, scores.length - 1)) };
}

/** @param {number[]} scores @param {Shared} both @param {number} width @param {number} height */
function layout(scores, both, width, height) {
  const small = width < 560;
  const [thick, gap] = small ? [42, 16] : [Math.round(width / 11), 56];
  const first = width - 3 * thick - 2 * gap;
  const [top, floor] = small ? [56, height - 64] : [64, height - 72];
  const row = read(scores, scores.length);
  const bars = barsAt({ ...row, scores: [...scores, TALLEST] }, 1, small, top, floor); // the heights
  const across = barsAt(row, first - (small ? 20 : 104), small, top, floor);
  const most = Math.max(both.sum, ...both.readers.map(({ sum }) => sum));
  return {
    ...across, small, width, thick, gap, zero: bars.zero, score: bars.score,
    columns: [0, 1, 2].map((i) => first + i * (thick + gap)),
    cut: (/** @type {number} */ i) => across.x(i) - across.gap / 2,
    tall: (/** @type {number} */ sum) => (sum * (floor - top)) / most,
  };
}

/** Each reader's bars, with a line of its own. @param {number[]} scores @param {Shared} both @param {number} cut @param {Layout} at @param {(i: number) => unknown} lift what a mouse on a bar does */
function drawRow(scores, { readers }, cut, at, lift) {
  const end = (/** @type {number} */ i) => at.x(i) + at.bar;
  const bars = scores.map((score, i) => {
    const y = at.score(score);
    return [
      rect(at.x(i), Math.min(y, at.zero - 3), at.bar, Math.max(3, Math.abs(y - at.zero)), "rose-fill"),
      text(at.x(i) + at.bar / 2, at.row, "middle", plain(score)),
      svg`<rect class="lift" x=${at.x(i)} y=${Math.min(y, at.zero) - 24} width=${at.bar} height=${Math.abs(y - at.zero) + 24} @pointerdown=${lift(i)} @pointermove=${lift(i)} />`,
    ];
  });
  const lines = [[0, cut - 1], [cut, scores.length - 1]].map(([from, to], i) => {
    const y = at.score(readers[i].max);
    const name = at.small ? plain(readers[i].max) : svg`max <tspan class="strong ink">${plain(readers[i].max)}</tspan>`;
    return [
      rect(at.x(from), y - 4, end(to) - at.x(from), 4, "ink"), text(at.x(from), y - 12, `${at.small ? "strong" : "soft"} halo`, name),
      bracket(at.x(from), end(to), at.bracket, i ? "second" : "first", at.apart),
    ];
  });
  return [path(`M0 ${at.zero}H${at.bars}`, "line thin"), bars, lines];
}

/** The cut, with something to hold. @param {number} x @param {Layout} at @param {unknown} drag @param {boolean} paper */
const drawCut = (x, at, drag, paper) => svg`
  <path class="stroke violet" d="M${x} 28V${at.floor + 8}" /><circle class="fill violet" cx=${x} cy="16" r="12" />
  <path class="stroke paper" d="M${x - 2} 12l-4 4l4 4M${x + 2} 12l4 4l-4 4" />
  ${paper ? "" : svg`<circle class="hold grip" cx=${x} cy="16" r="22" @touchstart=${stay} @pointerdown=${drag} @pointermove=${drag} />`}`;

/** Each reader's sum, grey where it shrinks; and both together. @param {Shared} both @param {Layout} at */
function drawColumns({ readers, factors, parts, sum }, at) {
  const { columns: [one, two, all], thick, floor, small } = at;
  const lid = (/** @type {number} */ x, /** @type {number} */ height, /** @type {string} */ look) =>
    [rect(x, floor - at.tall(height) - 4, thick, 4, "ink"), text(x + thick / 2, floor - at.tall(height) - 14, `middle halo ${look}`, fixed(height))];
  const mine = [one, two].map((x, i) => {
    const [high, low] = [floor - at.tall(readers[i].sum), floor - at.tall(parts[i])];
    const exponent = Math.log(factors[i]);
    const middle = x + thick / 2;
    return [
      rect(x, high, thick, low - high, "track"), rect(x, low, thick, floor - low, "ink"), lid(x, readers[i].sum, "ink strong"),
      group(factors[i] < 1 ? 1 : 0, low - high > 24 ? path(`M${middle} ${high + 6}V${low - 2}m-5 -7l5 7l5 -7`, "violet") : "",
        text(small ? middle : x - 10, small ? floor + 26 : (high + low) / 2 + 8, `${small ? "middle" : "end"} violet strong ${small ? "" : "factor"}`, svg`× ${power(exponent)}`)),
      bracket(x, x + thick, at.bracket, i ? "second" : "first", at.gap),
    ];
  });
  const seam = floor - at.tall(parts[0]);
  const beside = (/** @type {number} */ y, /** @type {number} */ part) => (small ? "" : text(all - 12, y + 5, "end soft small", fixed(part)));
  return [
    [one, two, all].map((x) => path(`M${x} ${floor}h${thick}`, "line thin")), mine,
    rect(all, seam, thick, floor - seam, "ink"), rect(all, floor - at.tall(sum), thick, at.tall(parts[1]), "ink"), rect(all, seam - 1, thick, 2, "paper"),
    beside((seam + floor) / 2, parts[0]), beside(seam - at.tall(parts[1]) / 2, parts[1]),
    lid(all, sum, small ? "strong ink" : "big"), bracket(all, all + thick, at.bracket, small ? "both" : "together", at.gap),
  ];
}

/** @param {S} state @param {(change: Partial<S>) => void} set @param {import("./frame.js").At} at */
function picture(state, set, { width }) {
  const { scores, both } = worked(state);
  const draw = (/** @type {number} */ wide, /** @type {number} */ high, /** @type {boolean} */ paper) => {
    const at = layout(scores, both, wide, high);
    const pulled = (/** @type {PointerEvent} */ event, /** @type {(x: number, y: number) => void} */ to) => {
      const grip = /** @type {SVGElement} */ (event.currentTarget);
      if (event.type === "pointerdown") grip.setPointerCapture(event.pointerId);
      if (!grip.hasPointerCapture(event.pointerId)) return;
      const box = /** @type {SVGElement} */ (grip.ownerSVGElement).getBoundingClientRect();
      to(((event.clientX - box.left) * wide) / box.width, ((event.clientY - box.top) * high) / box.height);
    };
    const nearest = (/** @type {number} */ x) => scores.slice(1).map((_, i) => i + 1).reduce((a, b) => (Math.abs(at.cut(b) - x) < Math.abs(at.cut(a) - x) ? b : a));
    const drag = (/** @type {PointerEvent} */ event) => pulled(event, (x) => set({ cut: nearest(x) }));
    const scoreAt = (/** @type {number} */ y) => clamp(0, Math.round((TALLEST * 2 * (at.zero - y)) / (at.zero - at.score(TALLEST))) / 2, TALLEST);
    const lift = (/** @type {number} */ i) => (/** @type {PointerEvent} */ event) =>
      event.pointerType === "touch" ? undefined : pulled(event, (_, y) => set({ scores: scores.map((old, j) => (i === j ? scoreAt(y) : old)).join(" ") }));
    return [drawRow(scores, both, state.cut, at, lift), drawColumns(both, at), drawCut(at.cut(state.cut), at, drag, paper)];
  };
  return stage(width, told(state), draw, [376, 408]);
}

/** @param {S} state */
function told(state) {
  const { scores, both: { readers, factors, sum } } = worked(state);
  const smaller = factors.findIndex((factor) => factor < 1);
  const shrinks = smaller < 0 ? "Both have the same maximum, so neither shrinks"
    : `Only the ${smaller ? "second" : "first"} shrinks, by e^{${plain(readers[smaller].max - readers[1 - smaller].max)}}`;
  return `The first read ${word(state.cut)}, the second ${word(scores.length - state.cut)}. ${shrinks}. Together: ${fixed(sum)}, wherever you cut.`;
}

/** @param {S} state @param {(change: Partial<S>) => void} set */
const primary = (state, set) => slider("Cut after", state.cut, (cut) => set({ cut }), { min: 1, max: worked(state).scores.length - 1, told: `${state.cut} of ${worked(state).scores.length}` });

/** @param {S} state @param {(change: Partial<S>) => void} set */
const more = (state, set) => html`${textField("Your scores", state.scores, (scores) => set({ scores }), 16)}`;

/** @type {import("./frame.js").Piece<S>} */
export default { title: "Two readers of one row", start, picture, primary, more, told };

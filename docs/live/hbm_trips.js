// The square of scores goes up and down between HBM and the chip; for the fused kernel it stays away.
import { html, nothing, svg } from "lit-html";
import { BYTES, qkvoBytes } from "./cost.model.js";
import { choice, menu, oneOf, requireInteger, slider, table } from "./controls.js";
import { moved, trips } from "./hbm_trips.model.js";
import { brief, grouped, metric } from "./units.model.js";

const initial = { form: "typed", words: 8192, dim: "128", type: "FP16", step: 3 };

/** @typedef {typeof initial} State */

/** @type {Record<string, string>} */
const FORMS = {
  typed: "the three lines, as typed",
  textbook: "the textbook’s three kernels",
  fused: "one fused kernel",
};

const DIMS = ["64", "128", "256"];
const MAX = 18; // a power of two of words: with d = 256 all is more than 1000 times the least only there

/** How a sentence begins with them. @type {Record<string, string>} */
const NAMES = { fused: "The fused kernel", scale: "The scale", softmax: "Softmax" };

/** @param {State} state */
function derive({ form, words, dim, type, step }) {
  oneOf("Form", form, Object.keys(FORMS));
  oneOf("Type", type, Object.keys(BYTES));
  const shape = {
    n: requireInteger("Words N", words, 1, 2 ** MAX),
    dim: Number(oneOf("d", dim, DIMS)),
    bytes: BYTES[type],
  };
  const all = trips(form, shape);
  return {
    all,
    shape,
    at: Math.min(Math.max(Math.trunc(step), 0), all.length),
    least: qkvoBytes(shape),
    most: moved(trips("typed", shape), 9, true),
  };
}

/** @param {State} state */
const lastStep = (state) => derive(state).all.length;

/** @param {State} state */
function drawing(state) {
  const { all, at, least, most } = derive(state);
  const column = 480 / all.length;
  const largest = Math.max(most / 6, ...all.map(({ bytes }) => bytes)); // of all forms: a thin arrow stays thin
  const [top, bottom] = [64, 180];
  const number = (/** @type {number} */ index) => all.slice(0, index + 1).filter(({ square }) => square).length;
  const arrow = (/** @type {import("./hbm_trips.model.js").Trip} */ trip, /** @type {number} */ index) => {
    const x = (index + 0.5) * column;
    const half = Math.max(0.75, (9 * trip.bytes) / largest);
    const colour = `${trip.square ? (index === at - 1 ? "rose" : "rose-fill") : "ink"} fill ${index < at ? "" : "faint"}`;
    const [tip, base] = trip.up ? [top + 4, top + 18] : [bottom - 4, bottom - 18];
    return svg`<rect class=${colour} x=${x - half} y=${Math.min(base, trip.up ? base : top + 4)} width=${2 * half} height=${bottom - top - 22} />
      <polygon class=${colour} points="${x - half - 6},${base} ${x + half + 6},${base} ${x},${tip}" />
      ${trip.square ? svg`<text class="small ${index < at ? "ink" : "soft"}" x=${x + half + 3} y="126">${number(index)}</text>` : nothing}
      ${trip.square ? nothing : svg`<text class="small middle" x=${x} y="226">${trip.table}</text>`}`;
  };
  const box = (/** @type {string} */ kernel) => {
    const own = all.flatMap((trip, index) => (trip.kernel === kernel ? [index] : []));
    const [x, width] = [own[0] * column, own.length * column];
    return svg`<rect class="line fill" x=${x + 3} y="14" width=${width - 6} height=${top - 14} rx="4" />
      <text class="middle" x=${x + width / 2} y="46">${kernel === "fused" ? "QKᵀ, softmax, PV: the square stays here" : kernel}</text>`;
  };
  const bar = (
    /** @type {number} */ y,
    /** @type {string} */ colour,
    /** @type {number} */ bytes,
    /** @type {string} */ name,
  ) => {
    const width = Math.max(1, (250 * bytes) / (most + least));
    return svg`<rect class="${colour} fill moves" x="0" y=${y} width=${width} height="16" /><text class="small" x=${width + 6} y=${y + 13}>${name} ${metric(bytes, "B")}</text>`;
  };
  const label = `Kernels on the chip above, HBM below; an arrow for each table that is read or written, as thick as it has bytes, down to a line. ${at} of ${all.length} have gone.`;
  return html`<svg viewBox="0 0 480 286" role="img" aria-label=${label}>
    ${[...new Set(all.map(({ kernel }) => kernel))].map(box)}
    <rect class="line fill" x="3" y=${bottom} width="474" height="28" rx="4" /><text class="middle" x="240" y=${bottom + 19}>HBM</text>
    ${all.map(arrow)}
    ${bar(240, "rose-fill", moved(all, at, true) + moved(all, at, false), "moved so far:")}
    ${bar(264, "ink", least, "Q, K, V and output:")}
  </svg>`;
}

/** @param {State} state */
function sums(state) {
  const { all, at, least } = derive(state);
  const [now, end] = [at, all.length].map((step) => ({
    count: all.slice(0, step).filter(({ square }) => square).length,
    square: moved(all, step, true),
    small: moved(all, step, false),
  }));
  const times = (/** @type {typeof now} */ each) => `${brief((each.square + each.small) / least)} ×`;
  return table("Bytes moved", ["", "so far", "in all"], [
    ["trips of the square", now.count, end.count],
    ["bytes of the square", metric(now.square, "B"), metric(end.square, "B")],
    ["Q, K, V, output", metric(now.small, "B"), metric(end.small, "B")],
    ["all, times the least", times(now), times(end)],
  ]);
}

/** @param {State} state */
function picture(state) {
  const { shape } = derive(state);
  return html`<p><b>${FORMS[state.form]}</b>, one head: N = ${grouped(shape.n)}, d = ${state.dim}, ${state.type}; N/d = ${brief(shape.n / shape.dim)}</p>
    ${drawing(state)}`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
const more = (state, set) => html`
  ${menu("Form", state.form, (form) => set({ form, step: 0 }), Object.entries(FORMS))}
  ${slider("Words N", Math.log2(state.words), (value) => set({ words: Math.round(2 ** value) }), { min: 6, max: MAX, inWords: grouped(state.words) })}
  ${choice("d", state.dim, (dim) => set({ dim }), DIMS)}
  ${menu("Type", state.type, (type) => set({ type }), [["FP16", "FP16 or BF16"], ["FP32", "FP32"]])}`;

/** @param {State} state */
function says(state) {
  const { all, shape, at, least } = derive(state);
  const square = moved(all, at, true);
  if (at === 0) return "Q, K and V are in HBM. Nothing has moved yet.";
  const { kernel, table: name, up, bytes } = all[at - 1];
  const what = `${NAMES[kernel] ?? kernel} ${up ? "reads" : "writes"} ${/^[a-z]/.test(name) ? `the ${name}` : name}, ${metric(bytes, "B")}.`;
  if (at < all.length)
    return square
      ? `${what} The square alone has now moved ${brief(square / least)} times the bytes of Q, K, V and the output.`
      : what;
  if (!square) return `${what} That’s all: ${metric(least, "B")}, the least we can move. The square was never written.`;
  const ratio = brief(shape.n / shape.dim);
  if (state.form === "textbook")
    return `${what} The square made four trips, 4N² ÷ 4Nd = N/d = ${ratio} times the bytes of everything else.`;
  return `${what} The square made six trips, 6N² ÷ 4Nd = 1.5 · N/d = ${brief((1.5 * shape.n) / shape.dim)} times the bytes of everything else.`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "The trips of the square",
  initial,
  picture,
  numbers: sums,
  more,
  says,
  lastStep,
  next: () => "Next trip",
};

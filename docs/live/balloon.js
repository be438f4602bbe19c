// Small, square, small: the tables of attention to scale, and what is held at once against the memory of a GPU.
import { html, nothing, svg } from "lit-html";
import { bytesHeld, last, STEPS } from "./balloon.model.js";
import { BYTES, CHIPS, eagerPeakBytes, fusedPeakBytes, rowBytes, squareBytes } from "./cost.model.js";
import { Refused } from "./frame.js";
import { choice, menu, oneOf, slider, table } from "./controls.js";
import { binary, brief, grouped, metric } from "./units.model.js";

const initial = { words: 4096, dim: "64", heads: 32, batch: 32, type: "FP32", gpu: "H100", step: 1 };

/** @typedef {typeof initial} State */

/** @param {State} state */
function shapeOf({ words, dim, heads, batch, type, gpu }) {
  if (!(Math.min(words, Number(dim), heads, batch) >= 1))
    throw new Refused("Words, d, heads and sentences are at least 1.");
  oneOf("Type", type, Object.keys(BYTES));
  oneOf("GPU", gpu, Object.keys(CHIPS));
  return { n: words, dim: Number(dim), bytes: BYTES[type], heads, batch };
}

/** Where the balloon bursts, the run ends. @param {State} state */
const lastStep = (state) => last(shapeOf(state), CHIPS[state.gpu].memory);

/** @param {State} state */
function derive(state) {
  const shape = shapeOf(state);
  const memory = CHIPS[state.gpu].memory;
  const step = Math.min(Math.max(Math.trunc(state.step), 0), last(shape, memory));
  const now = bytesHeld(shape, step);
  return { shape, memory, step, now, burst: now > memory, row: rowBytes(shape), square: squareBytes(shape) };
}

/** A star with that half width: what is left of a balloon. @param {number} half */
function star(half) {
  const points = Array.from({ length: 24 }, (_, i) => {
    const size = half * (i % 2 ? 0.95 : 1.3);
    return `${240 + size * Math.cos((Math.PI * i) / 12)},${106 + size * Math.sin((Math.PI * i) / 12)}`;
  });
  return svg`<polygon class="rose stroke dashes" points=${points.join(" ")} />`;
}

/** @param {State} state */
function drawing(state) {
  const { shape, memory, step, now, burst, row, square } = derive(state);
  const { squares, output } = STEPS[step];
  const unit = Math.min(150 / Math.sqrt(memory), (burst ? 130 : 150) / Math.sqrt(square)); // length for the root of a byte
  const side = Math.max(1.5, unit * Math.sqrt(square));
  const width = Math.max(1, (side * shape.dim) / shape.n);
  const card = unit * Math.sqrt(memory);
  const tall = (/** @type {number} */ x, /** @type {string} */ colour, there = true) =>
    svg`<rect class="moves ${colour} fill ${there ? "" : "faint"}" x=${x} y=${106 - side / 2} width=${width} height=${side} />`;
  const x = (/** @type {number} */ bytes) => (478 * bytes) / Math.max(memory, now);
  const parts = [
    ["query", row],
    ["key", row],
    ["value", row],
    ...squares.map((name) => [name, square]),
    ...(output ? [["output", row]] : []),
  ];
  let from = 0;
  const bar = parts.map(([name, bytes]) => {
    const at = x(from);
    from += Number(bytes);
    const colour = name === "output" ? "ink" : bytes === square && squares.includes(String(name)) ? "rose-fill" : name;
    return svg`<rect class="${colour} fill moves" x=${at} y="252" width=${Math.max(0.5, x(Number(bytes)) - 1)} height="28" />`;
  });
  const far = x(memory) > 240;
  const label = `Q, K and V on the left, the square in the middle, the output on the right, their areas to scale with the memory of the GPU, which is a dashed square. Below, a bar of what is held at once${burst ? ", longer than the memory" : ""}.`;
  return html`<svg viewBox="0 0 480 304" role="img" aria-label=${label}>
    <text class="small middle" x="240" y="13">dashed: all memory of the ${state.gpu}</text>
    ${tall(40, "query")} ${tall(44 + width, "key")} ${tall(48 + 2 * width, "value")}
    <rect class="moves rose-fill fill ${squares.length && !burst ? "" : "faint"}" x=${240 - side / 2} y=${106 - side / 2} width=${side} height=${side} />
    <rect class="ink stroke thin moves" stroke-dasharray="5 4" x=${240 - card / 2} y=${106 - card / 2} width=${card} height=${card} />
    ${burst ? star(side / 2) : nothing}
    ${tall(410, "ink", output)}
    <text class="small" x="22" y="215">Q, K, V</text>
    <text class="small middle" x="240" y="215">${squares.length > 1 ? `${squares.join(" and ")}, each` : squares[0] ?? "no square"}</text>
    <text class="small middle" x="416" y="215">output</text>
    ${bar}
    ${burst ? svg`<rect class="rose stroke dashes" x=${x(memory)} y="250" width=${478 - x(memory)} height="32" />` : nothing}
    <path class="ink stroke" d="M${x(memory)} 230 V284" />
    <text class=${far ? "small end" : "small"} x=${x(memory) + (far ? -6 : 6)} y="243">${state.gpu}: ${binary(memory)}</text>
    <text class="small ${burst ? "rose" : ""}" x="0" y="301">${burst ? `needed: ${binary(now)}, it bursts` : `held: ${binary(now)}`}</text>
  </svg>`;
}

/** @param {State} state */
function sizes(state) {
  const { shape, memory, now, burst, row, square } = derive(state);
  const { n, dim, heads = 1, batch = 1 } = shape;
  const line = (/** @type {unknown} */ name, /** @type {number} */ bytes) => [name, binary(bytes), metric(bytes, "B")];
  const of = (/** @type {number} */ columns) =>
    `${grouped(heads * batch)} of ${grouped(n)}×${grouped(columns)}, ${state.type}`;
  return table(
    "Sizes",
    ["", "in 1024s", "in 1000s"],
    [
      line(html`Q, K, V, output, each<br>${of(dim)}`, row),
      line(html`one square<br>${of(n)}`, square),
      line(html`<b>${burst ? "needed now" : "held now"}</b>`, now),
      line("at the peak", 3 * row + eagerPeakBytes(shape)),
      line("FlashAttention’s peak", 3 * row + fusedPeakBytes(shape)),
      line(`${state.gpu}, all of it`, memory),
    ],
  );
}

/** @param {State} state */
function picture(state) {
  const { step: now } = derive(state);
  const doing = STEPS.map(
    ({ doing }, step) => html`${step ? " → " : ""}${step === now ? html`<b>${doing}</b>` : doing}`,
  );
  return html`${drawing(state)}<p class="soft">${doing}</p>`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
function more(state, set) {
  const power = (/** @type {number} */ value) => Math.round(2 ** value);
  return html`
    ${slider("Words N", Math.log2(state.words), (value) => set({ words: power(value) }), { min: 6, max: 20, step: 0.25, inWords: grouped(state.words) })}
    ${slider("Heads", Math.log2(state.heads), (value) => set({ heads: power(value) }), { min: 0, max: 7, inWords: String(state.heads) })}
    ${slider("Sentences", Math.log2(state.batch), (value) => set({ batch: power(value) }), { min: 0, max: 8, inWords: String(state.batch) })}
    ${choice("d", state.dim, (dim) => set({ dim }), ["64", "128", "256"])}
    ${menu("Type", state.type, (type) => set({ type }), [["FP32", "FP32"], ["FP16", "FP16 or BF16"]])}
    ${choice("GPU", state.gpu, (gpu) => set({ gpu }), Object.keys(CHIPS))}`;
}

/** @param {State} state */
function says(state) {
  const { shape, memory, step, now, burst, square, row } = derive(state);
  const { squares } = STEPS[step];
  if (burst)
    return `${metric(now, "B")} don’t fit into ${metric(memory, "B")}: out of memory${squares.length > 1 ? `, because ${squares[0]} and ${squares[1]} are there together` : ""}.`;
  if (step === 0) return `Q, K and V take ${binary(now)}. Nobody has asked for more yet.`;
  if (step === STEPS.length - 1)
    return `Only the output is left beside Q, K and V: ${binary(now)}. The peak was ${binary(3 * row + eagerPeakBytes(shape))}.`;
  const size = square === row ? "as big as Q, because N = d" : `${brief(square / row)} times as big as Q (that’s N/d)`;
  const why = [
    "",
    `QKᵀ is the first square, ${size}.`,
    "The scale reads one square and writes another.",
    "Softmax reads the scores and writes the shares: still two squares.",
    "The output is here, and both squares are still held: this is the peak.",
  ][step];
  const next =
    bytesHeld(shape, step + 1) > memory ? ` The next step needs ${binary(bytesHeld(shape, step + 1))}, which won’t fit.` : "";
  return `${why} We hold ${binary(now)}.${next}`;
}

/** @type {import("./frame.js").Piece<State>} */
export default { title: "The balloon, to scale", initial, picture, numbers: sizes, more, says, lastStep };

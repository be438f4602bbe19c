// A model, a context, a batch and a GPU: what must be held, and how long a prefill and a decode step take at the least.
import { html, svg } from "lit-html";
import { BITS, decode, leastTime, limits, memory, MODELS, prefill, ring, tokenBytes } from "./calculator.model.js";
import { chip, CHIPS } from "./cost.model.js";
import { Refused } from "./frame.js";
import { choice, menu, oneOf, parseNumbers, requireInteger, slider, table, textField } from "./controls.js";
import { binary, brief, grouped, metric, time } from "./units.model.js";

const initial = {
  model: "llama-3-8b",
  own: "32 32 8 128 8",
  context: 8192,
  batch: 16,
  format: "bf16",
  gpu: "H100",
  gpus: 1,
};

/** @typedef {typeof initial} State */

/** @type {[string, string][]} */
const FORMATS = [["bf16", "BF16"], ["fp8", "FP8"], ["nvfp4", "NVFP4"]];

/** The ends of the sliders, as powers of two. */
const MAX = { context: 20, batch: 10, gpus: 4 };

const OF_ONE_HOST = 8; // GPUs that NVLink joins, as a rule

/** @param {State} state @returns {import("./calculator.model.js").Model} */
function modelOf(state) {
  const known = MODELS[oneOf("Model", state.model, [...Object.keys(MODELS), "own"])];
  if (known) return known;
  const [layers, heads, kvHeads, dim, billions] = parseNumbers("Own model", state.own, {
    min: 1e-3,
    max: 1e6,
    count: [5, 5],
  });
  for (const [name, count] of Object.entries({ layers, heads, "heads of keys": kvHeads, d: dim }))
    requireInteger(`Own model, ${name}`, count, 1, 1e6);
  if (heads % kvHeads)
    throw new Refused(`Own model: ${heads} heads of queries can’t share ${kvHeads} heads of keys evenly.`);
  return { layers, heads, kvHeads, dim, weights: billions * 1e9 };
}

/** @param {State} state */
function derive(state) {
  const { context, batch, format, gpu, gpus } = state;
  oneOf("GPU", gpu, Object.keys(CHIPS));
  oneOf("Cache", format, Object.keys(BITS));
  requireInteger("Context, in tokens", context, 1, 2 ** MAX.context);
  requireInteger("Sequences at once", batch, 1, 2 ** MAX.batch);
  requireInteger("GPUs", gpus, 1, 2 ** MAX.gpus);
  const model = modelOf(state);
  const [first, next] = [prefill(model, context, batch), decode(model, context, batch, format)];
  const work = Object.entries({
    "prefill: attention": first.attention,
    "prefill: weights": first.weights,
    "decode: attention": next.attention,
    "decode: weights": next.weights,
  }).map(([name, each]) => ({ name, ...limits(each, gpu, gpus) }));
  return { model, work, least: leastTime(work.slice(2)), held: memory(model, context, batch, format, gpu, gpus) };
}

/** @param {State} state */
const chips = ({ gpu, gpus }) => `${gpus} ${gpu}${gpus > 1 ? "s" : ""}`;

/** @param {State} state */
function drawing(state) {
  const { held } = derive(state);
  const x = (/** @type {number} */ bytes) => (470 * bytes) / Math.max(held.all, held.weights + held.cache);
  const need = held.weights + held.cache;
  const over = need > held.all;
  return html`<svg viewBox="0 0 480 112" role="img" aria-label="A bar for the memory of the GPU; the weights and then the cache take their parts of it, to scale.">
    <rect class="soft fill moves" x="0" y="30" width=${x(held.weights)} height="34" />
    <rect class="key fill moves" x=${x(held.weights)} y="30" width=${x(held.cache)} height="34" />
    <rect class="ink stroke moves" x="1" y="24" width=${x(held.all)} height="46" />
    <text x="0" y="15">${chips(state)}: ${metric(held.all, "B")}</text>
    <text class="end ${over ? "accent" : ""}" x="478" y="15">${over ? `✗ ${metric(need - held.all, "B")} too much` : `${metric(held.all - need, "B")} free`}</text>
    <rect class="soft fill" x="0" y="84" width="14" height="14" /><text x="20" y="96">weights ${metric(held.weights, "B")}</text>
    ${svg`<rect class="key fill" x="200" y="84" width="14" height="14" /><text x="220" y="96">cache ${metric(held.cache, "B")}</text>`}
  </svg>`;
}

/** @param {State} state */
function times(state) {
  const limit = (/** @type {string} */ work, /** @type {number} */ one, /** @type {number} */ other) =>
    html`${work}<br>${one > other ? html`<b>${time(one)}</b>` : time(one)}`;
  const rows = derive(state).work.map(({ name, flops, bytes, arithmetic, memory: moving }) => [
    html`${name}<br>by ${arithmetic > moving ? "arithmetic" : "memory"}`,
    limit(metric(flops, "FLOP"), arithmetic, moving),
    limit(metric(bytes, "B"), moving, arithmetic),
  ]);
  return table("The least times", ["", "arithmetic", "memory"], rows);
}

/** Each formula with the numbers of the state. @param {State} state */
function formulas(state) {
  const { model, held } = derive(state);
  const { layers, heads, kvHeads, dim } = model;
  const { context, batch } = state;
  const n = grouped(context);
  const token = tokenBytes(model, state.format);
  const [first, , next] = derive(state).work;
  const many = batch > 1 ? ` · ${batch}` : "";
  const { gpu, gpus } = state;
  const shared = ring(model, context, batch, gpu, gpus);
  return html`<ul>
    <li>A token in the cache: 2 · ${layers} layers · ${kvHeads} heads · ${dim} · ${BITS[state.format]} bits = <b>${binary(token)}</b></li>
    <li>Cache: ${binary(token)} · ${n} tokens${many} = <b>${binary(held.cache)}</b> = ${metric(held.cache, "B")}</li>
    <li>Prefill, causal: ½ · 4 · ${layers} layers · ${heads} heads · ${n}² · ${dim}${many} = <b>${metric(first.flops, "FLOP")}</b></li>
    <li>Its Q, K, V and outputs: 2 · ${layers} layers · (${heads} + ${kvHeads}) heads · ${n} · ${dim} · 2 bytes${many} = <b>${metric(first.bytes, "B")}</b></li>
    <li>Decode step: 4 · ${layers} layers · ${heads} heads · ${n} · ${dim}${many} = <b>${metric(next.flops, "FLOP")}</b></li>
    <li>Weights: 2 · ${brief(model.weights / 1e9)} billion FLOP for each token, and as many bytes for each step</li>
    ${gpus > 1 ? html`<li>If they split each text, each of ${gpus} GPUs holds ${binary(held.cache / gpus)} of the cache, and in a ring sends ${gpus - 1} · 2 · ${layers} layers · ${kvHeads} heads · ${n} / ${gpus} tokens · ${dim} · 2 bytes${many} = <b>${metric(shared.sent, "B")}</b>. A step of the ring, in all layers together, computes for ${time(shared.computing)} and fetches for ${time(shared.fetching)}, at NVLink's ${metric(chip(gpu).link, "B")}/s${gpus > OF_ONE_HOST ? ", as if all were in one machine" : ""}: the fetching is <b>${shared.hidden ? "hidden" : "not hidden"}</b></li>` : ""}
    <li>In a prefill one layer's attention holds, beside Q, K and V, <b>${binary(held.fused)}</b>; with scores and shares written down, ${binary(held.unfused)}</li>
  </ul>`;
}

/** @param {number} value */
const power = (value) => Math.round(2 ** value);

/** @param {State} state */
function picture(state) {
  const name = MODELS[state.model]?.name ?? "Your own model";
  return html`<p><b>${name}</b>: ${state.batch} × ${grouped(state.context)} tokens, cache in ${Object.fromEntries(FORMATS)[state.format]}, on ${chips(state)}</p>
    ${drawing(state)}`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
const primary = (state, set) =>
  slider("Context, in tokens", Math.log2(state.context), (value) => set({ context: power(value) }), {
    min: 7,
    max: MAX.context,
    inWords: grouped(state.context),
  });

/** @param {State} state @param {(change: Partial<State>) => void} set */
function more(state, set) {
  const choose = (/** @type {string} */ model) => {
    const { layers, heads, kvHeads, dim, weights } = modelOf(state);
    set(model === "own" ? { model, own: [layers, heads, kvHeads, dim, weights / 1e9].join(" ") } : { model });
  };
  return html`
    ${menu("Model", state.model, choose, [...Object.entries(MODELS).map(([key, each]) => /** @type {[string, string]} */ ([key, each.name])), ["own", "your own"]])}
    ${state.model === "own" ? textField("Layers, heads, of keys, d, billions of weights", state.own, (own) => set({ own }), 22) : ""}
    ${menu("Cache", state.format, (format) => set({ format }), FORMATS)}
    ${choice("GPU", state.gpu, (gpu) => set({ gpu }), Object.keys(CHIPS))}
    ${slider("Sequences at once", Math.log2(state.batch), (value) => set({ batch: power(value) }), { min: 0, max: MAX.batch, inWords: String(state.batch) })}
    ${slider("GPUs", Math.log2(state.gpus), (value) => set({ gpus: power(value) }), { min: 0, max: MAX.gpus, inWords: String(state.gpus) })}
    ${formulas(state)}`;
}

/** @param {State} state */
function says(state) {
  const { held, least, work } = derive(state);
  if (held.weights > held.all)
    return `The weights alone take ${metric(held.weights, "B")}, but ${chips(state)} only ${state.gpus > 1 ? "have" : "has"} ${metric(held.all, "B")}.`;
  const room = `Beside the weights there’s room for ${grouped(held.sequences)} ${held.sequences === 1 ? "sequence" : "sequences"} of that length, or for ${state.batch} of ${grouped(held.longest)} tokens each.`;
  if (held.weights + held.cache > held.all) return `This doesn’t fit. ${room}`;
  const share = (100 * work[2].memory) / (work[2].memory + work[3].memory);
  return `A decode step takes at least ${time(least)}, so we get at most ${grouped(state.batch / least)} tokens a second. ${brief(share)} % of its bytes come from the cache.`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "What a model needs: bytes, arithmetic, and the two least times",
  initial,
  picture,
  numbers: times,
  primary,
  more,
  says,
};

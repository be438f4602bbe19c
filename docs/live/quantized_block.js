// Numbers that share a scale: their codes, their bytes and what comes back, in four bits and in eight.
import { html, nothing } from "lit-html";
import { decode, spelt } from "./bits.model.js";
import { pack, quantize, rms, SCHEMES } from "./quantized_block.model.js";
import { Refused } from "./frame.js";
import { button, choice, formatNumber, menu, parseNumber, parseNumbers, slider, table, textField } from "./controls.js";

const initial = {
  numbers: "4.5 -2.25 0 0.9375 1.3125 3.75 0.1875 -0.5625 1 -0.1 2 0.3 -4.4 3 -1.5 0.75",
  tensor: "0.5", // the scale of the tensor in NVFP4; empty: from the largest number
  louder: 1, // how many times as large as typed the largest number is
  key: "", // rows that a page may offer, beside the numbers that the piece starts with
  value: "",
  scheme: "NVFP4",
  place: 5,
};

/** @typedef {typeof initial} State */

/** @param {number} code @param {number} [width] */
const hex = (code, width = 2) => code.toString(16).toUpperCase().padStart(width, "0");

/** @param {number} value */
const brief = (value) => (Object.is(value, -0) ? "−0" : formatNumber(value, 4));

/** @param {string} text */
const parseRow = (text) => parseNumbers("Numbers", text, { min: -1e6, max: 1e6, count: [2, 32] });

/** The place of the largest number as typed. @param {State} state */
function loudest(state) {
  const sizes = parseRow(state.numbers).map(Math.abs);
  return sizes.indexOf(Math.max(...sizes));
}

/** The numbers, the largest made louder. @param {State} state */
const row = (state) => parseRow(state.numbers).map((x, i) => (i === loudest(state) ? x * state.louder : x));

/** A scheme's blocks, and number by number what became of it. @param {State} state @param {string} name */
function read(state, name) {
  if (!Object.hasOwn(SCHEMES, name))
    throw new Refused(`Scheme: there is no ${name}; there is ${Object.keys(SCHEMES).join(", ")}.`);
  const scheme = SCHEMES[name];
  const all = row(state);
  const givenTensorScale =
    name === "NVFP4" && state.tensor.trim()
      ? parseNumber("Tensor scale", state.tensor, { min: 2 ** -117, max: 2 ** 117 })
      : null;
  const { tensor, blocks } = quantize(scheme, all, givenTensorScale);
  const each = blocks.flatMap(({ codes, quotients, decoded, unit }) =>
    codes.map((code, i) => ({ code, quotient: quotients[i], decoded: decoded[i], unit })),
  );
  const values = each.map((one, place) => ({
    ...one,
    place,
    number: all[place],
    lost: one.decoded === 0 && all[place] !== 0,
  }));
  const others = values.filter(({ place }) => place !== loudest(state));
  return {
    scheme,
    name,
    tensor,
    blocks,
    values,
    off: rms(others.map((one) => one.decoded - one.number)),
    lost: others.filter((one) => one.lost).length,
  };
}

/** @typedef {ReturnType<typeof read>} Read @typedef {Read["values"][number]} Value */

/**
 * The codes of a block where they lie: a box a byte, its numbers and what they come back as.
 * @param {State} state @param {Read} now @param {number} which @param {(change: Partial<State>) => void} set
 */
function memory(state, now, which, set) {
  const { scheme, blocks, tensor } = now;
  const { scale, blockScale, unit, codes } = blocks[which];
  const from = which * (scheme.block ?? 0);
  const two = scheme.element.bits === 4;
  const value = (/** @type {Value} */ one, /** @type {string} */ colour) => html`
    <button type="button" aria-pressed=${String(one.place === state.place)} @click=${() => set({ place: one.place })}><span class=${one.place === state.place ? "chosen" : ""}>
      <span class="hb-live__spoken">place ${one.place}: </span><span>${brief(one.number)}</span>
      <span class="hb-live__spoken"> has code </span><b class="${colour}">${hex(one.code, two ? 1 : 2)}</b>
      <span class="hb-live__spoken"> and comes back as </span><span class="${one.lost ? "accent" : ""}">${brief(one.decoded)}${one.lost ? " lost" : ""}</span>
    </span></button>`;
  const byte = (/** @type {number} */ bits, /** @type {number} */ i) => {
    const own = now.values.slice(from + (two ? 2 * i : i), from + Math.min(two ? 2 * i + 2 : i + 1, codes.length));
    const [high, low] = hex(bits);
    return html`<div class="byte">
      <div>byte ${i} ${two ? html`<b><span class="key">${high}</span><span class="query">${low}</span></b>` : nothing}</div>
      <div>${own.map((one, half) => value(one, half ? "key" : "query"))}</div></div>`;
  };
  const half = scheme.block && codes.length < scheme.block ? `, ${codes.length} of ${scheme.block} numbers` : "";
  const said =
    scale === null || !scheme.scale
      ? `No block has a scale: all share the tensor's.`
      : html`Block ${which}${half}: scale <b>${hex(scale)}</b>, ${spelt(scheme.scale, scale)}, which is ${brief(blockScale)}${scheme.tensor ? `, times the tensor's ${formatNumber(tensor, 6)}` : ""}.`;
  return html`<p>${said} What is stored as 1 comes back as <b>${formatNumber(unit, 6)}</b>.</p>
    <div class="hb-live__bytes ${two ? "" : "eight"}">${pack(scheme, codes).map(byte)}</div>`;
}

/** One number's way there and back. @param {State} state @param {Read} now */
function way(state, { scheme, values }) {
  const one = values[Math.min(Math.max(Math.round(state.place), 0), values.length - 1)];
  const taken = one.unit ? one.decoded / one.unit : 0;
  const off = one.decoded - one.number;
  return html`<p class="hb-live__equation">Place ${one.place}: ${brief(one.number)} ÷ ${formatNumber(one.unit, 6)} = ${brief(one.quotient)}, taken as ${brief(taken)}, bits
    <b>${spelt(scheme.element, one.code)}</b>. Back: ${brief(taken)} · ${formatNumber(one.unit, 6)} = <b>${brief(one.decoded)}</b>, off by ${brief(off)}.</p>`;
}

/** @param {State} state */
function comparison(state) {
  const each = (/** @type {string} */ name) => {
    const { scheme, blocks, values, off, lost } = read(state, name);
    const scales = scheme.scale ? blocks.map(({ scale }) => hex(scale ?? 0)).join(", ") : "one for all";
    return [name, scales, brief(values[loudest(state)].decoded), formatNumber(off, 4), lost];
  };
  return html`${table("The same numbers in three schemes", ["", "scale", `place ${loudest(state)}`, "others off by", "others lost"], Object.keys(SCHEMES).map(each))}
    <p class="soft">Off by: the root of the mean of the squared errors.</p>`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
function picture(state, set) {
  const now = read(state, state.scheme);
  return html`<p>${state.scheme}: each number, its code, and what it comes back as.</p>
    ${now.blocks.map((_, which) => memory(state, now, which, set))} ${way(state, now)}`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
const primary = (state, set) =>
  slider(`Place ${loudest(state)} is louder`, state.louder, (louder) => set({ louder }), {
    min: 1,
    max: 40,
    inWords: `× ${state.louder}`,
  });

/** @param {State} state @param {(change: Partial<State>) => void} set */
function more(state, set) {
  const gaussian = () => {
    const one = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
    set({ numbers: Array.from({ length: 32 }, () => Number((2 * one()).toFixed(2))).join(" "), tensor: "", louder: 1 });
  };
  /** @type {[string, string][]} */
  const offered = [[initial.numbers, "the block of the board"], [state.key, "K row"], [state.value, "V row"]];
  const rows = offered.filter(([text]) => text);
  const own = rows.some(([text]) => text === state.numbers)
    ? []
    : [/** @type {[string, string]} */ ([state.numbers, "your own"])];
  const begin = (/** @type {string} */ text) =>
    set({
      numbers: text,
      tensor: text === initial.numbers ? initial.tensor : "",
      louder: 1,
      place: text === initial.numbers ? initial.place : 0,
    });
  return html`
    ${choice("Scheme", state.scheme, (scheme) => set({ scheme }), Object.keys(SCHEMES))}
    ${textField("Tensor scale of NVFP4", state.tensor, (tensor) => set({ tensor }), 10)}
    ${rows.length > 1 ? menu("Starting values", state.numbers, begin, [...rows, ...own]) : nothing}
    ${textField("Numbers", state.numbers, (text) => set({ numbers: text }), 60)}
    ${button("32 random numbers", gaussian)}`;
}

/** @param {State} state */
function says(state) {
  const now = read(state, state.scheme);
  const { name, values, lost } = now;
  const nonzero = values.filter((one) => one.place !== loudest(state) && one.number !== 0).length;
  if (lost) {
    const eight = read(state, "FP8");
    const rest = name === "FP8" ? "" : ` FP8 would lose ${eight.lost || "none"}.`;
    return `${name}: the largest number sets the scale of its block, and ${lost} of the other ${nonzero} nonzero numbers ${lost === 1 ? "comes" : "come"} back as 0.${rest}`;
  }
  const worst = values.reduce((most, one) => (Math.abs(one.decoded - one.number) > Math.abs(most.decoded - most.number) ? one : most));
  if (worst.decoded === worst.number) return `${name}: every number comes back as it was.`;
  const end = decode(now.scheme.element, now.scheme.element.largest);
  // E2M1 ends at 6, and from 7 on a next mark, 8, would be nearer. In FP8 the largest number has the last mark.
  if (Math.abs(worst.quotient) >= (7 / 6) * end)
    return `${name}: the marks end below place ${worst.place}: ${brief(worst.number)} is clipped to ${brief(worst.decoded)}.`;
  return `${name}: nothing is lost. The worst is place ${worst.place}: ${brief(worst.number)} comes back as ${brief(worst.decoded)}.`;
}

/** @type {import("./frame.js").Piece<State>} */
export default { title: "A block and its scale", initial, picture, numbers: comparison, primary, more, says };

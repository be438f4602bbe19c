// A number as bits: type it, or flip them; what they stand for, what lies beside it, and what rounding did.
import { html, nothing, svg } from "lit-html";
import { beside, decode, encode, fields, FORMATS, spelt } from "./bits.model.js";
import { Refused } from "./frame.js";
import { choice, formatNumber, parseNumber, table, textField } from "./controls.js";

const initial = { number: "0.1", format: "E4M3", code: "" }; // code: hexadecimal, once a bit was flipped

/** @typedef {typeof initial} State */

const DIGITS = 9;

/** @param {number} value */
const inDigits = (value) => (Object.is(value, -0) ? "−0" : formatNumber(value, DIGITS));

/** Whether those digits are all there are. @param {number} value */
function whole(value) {
  const fixed = Math.abs(value) >= 1e-3 && Math.abs(value) < 1e6;
  return value === 0 || Number(fixed ? value.toFixed(DIGITS) : value.toPrecision(DIGITS)) === value;
}

/** What was asked for, what is stored, and what lies beside that. @param {State} state */
function read(state) {
  const format = FORMATS[state.format];
  if (!format) throw new Refused(`Format: there is no ${state.format}; there is ${Object.keys(FORMATS).join(", ")}.`);
  const asked = /^\s*nan\s*$/i.test(state.number) ? NaN : parseNumber("Number", state.number);
  const taken = encode(format, asked);
  const code = state.code === "" ? taken : parseInt(state.code, 16);
  if (!/^[0-9a-f]*$/i.test(state.code) || code >= 2 ** format.bits) {
    throw new Refused(`Code: “${state.code}” is no code of ${state.format}, which has ${format.bits} bits.`);
  }
  const [below, above] = [beside(format, code, -1), beside(format, code, 1)];
  return { format, asked, code, taken, value: decode(format, code), below, above, ...fields(format, code) };
}

/** @typedef {ReturnType<typeof read>} Read */

/**
 * Sign, exponent and mantissa, each with the width and the colour that it has everywhere.
 * @param {Read["format"]} format
 */
const parts = (format) =>
  /** @type {[string, number, string][]} */ ([
    ["sign", format.bits - format.exponent - format.mantissa, "accent"],
    ["exponent", format.exponent, "key"],
    ["mantissa", format.mantissa, "query"],
  ]).filter(([, width]) => width);

/** The bits of a code, in hexadecimal where they are too many. @param {Read["format"]} format @param {number} code */
function codeText(format, code) {
  return format.bits > 8 ? code.toString(16).toUpperCase().padStart(format.bits / 4, "0") : spelt(format, code);
}

/** @param {Read} now @param {(change: Partial<State>) => void} set */
function boxes({ format, code, sign, exponent, mantissa, kind }, set) {
  const bits = code.toString(2).padStart(format.bits, "0");
  const reads = {
    sign: sign ? "1: minus" : "0: plus",
    exponent:
      kind === "normal"
        ? `${exponent} − ${format.bias} = ${formatNumber(exponent - format.bias)}`
        : kind === "subnormal" || kind === "zero"
          ? `0: as 1 − ${format.bias}`
          : "all ones",
    mantissa:
      kind === "not a number" || kind === "infinity"
        ? `${mantissa}`
        : `${kind === "normal" ? "1 + " : ""}${mantissa}/${2 ** format.mantissa}`,
  };
  let from = 0;
  const bit = (
    /** @type {string} */ name,
    /** @type {string} */ colour,
    /** @type {number} */ width,
    /** @type {number} */ place,
  ) => {
    const weight = 2 ** (format.bits - 1 - place);
    const on = bits[place] === "1";
    const flip = () => set({ code: (code + (on ? -weight : weight)).toString(16) });
    const label = `${name} bit ${place - from + width + 1}: ${bits[place]}`;
    return html`<button type="button" class="${colour} ${on ? "on" : ""}" aria-label=${label} @click=${flip}><span>${bits[place]}</span></button>`;
  };
  const field = (/** @type {[string, number, string]} */ [name, width, colour]) => {
    from += width;
    const places = Array.from({ length: width }, (_, i) => from - width + i);
    return html`<div role="group" aria-label=${name}>
      <div>${places.map((place) => bit(name, colour, width, place))}</div>
      <span class="${colour}">${name}</span> <span>${reads[/** @type {keyof typeof reads} */ (name)]}</span>
    </div>`;
  };
  return html`<div class="hb-live__bits">${parts(format).map(field)}</div>`;
}

/** What the bits stand for. @param {Read} now */
function equation({ format, value, sign, exponent, mantissa, kind }) {
  const words = {
    "not a number": "NaN, not a number",
    infinity: `${sign ? "minus " : ""}infinity`,
    zero: sign ? "minus zero" : "zero",
    subnormal: "a subnormal number",
  };
  const word = words[/** @type {keyof typeof words} */ (kind)];
  if (kind === "infinity" || (kind === "not a number" && format.infinity !== null))
    return html`an exponent of ones only: <b>${word}</b>`;
  if (kind === "not a number") return html`ones only: <b>${word}</b>`;
  const part = html`${mantissa}/${2 ** format.mantissa}`;
  const factor = !format.mantissa ? nothing : kind === "normal" ? html` · (1 + ${part})` : html` · ${part}`;
  return html`${sign ? "−" : ""}2<sup>${kind === "normal" ? exponent : 1} − ${format.bias}</sup>${factor} ${whole(value) ? "=" : "≈"} <b>${inDigits(value)}</b>${word ? `, ${word}` : ""}`;
}

/** The marks around what is stored, and where the number lies that was asked for. @param {Read} now */
function ruler({ format, asked, value, below, above }) {
  if (!Number.isFinite(value)) return nothing;
  const finite = (/** @type {number | null} */ code) => (code === null || !Number.isFinite(decode(format, code)) ? null : decode(format, code));
  const [low, high] = [finite(below), finite(above)];
  const step = low === null ? Number(high) - value : value - low;
  const [left, right] = [low ?? value - step, high ?? value + step];
  const x = (/** @type {number} */ at) => 90 + (300 * (at - left)) / (right - left);
  const mark = (/** @type {number} */ at, /** @type {string} */ name, /** @type {string} */ colour) =>
    svg`<path class="${colour} stroke moves" d="M${x(at)} 34 V58" /><text class="middle ${colour}" x=${x(at)} y="78">${name}</text>`;
  const place = Math.min(
    Math.max(Number.isNaN(asked) ? left : asked, left - (right - left) * 0.24),
    right + (right - left) * 0.24,
  );
  const outside = asked < left || asked > right;
  // Half a step to either side rounds to the mark, and at the end all that lies beyond; E8M0 takes all up to the next
  // mark.
  const from = low === null ? 15 : x(format.mantissa ? (left + value) / 2 : value);
  const to = high === null ? 465 : x(format.mantissa ? (value + right) / 2 : right);
  return html`<svg viewBox="0 0 480 84" role="img" aria-label="A ruler with the number that is stored, the numbers below and above it, and an arrow where the number lies that was asked for. What lies in the band is rounded to the stored number.">
    <path class="line stroke thin" d="M15 46 H465" />
    <rect class="query fill faint moves" x=${from} y="38" width=${to - from} height="16" />
    ${low === null ? nothing : mark(low, "below", "soft")} ${mark(value, "stored", "query")} ${high === null ? nothing : mark(high, "above", "soft")}
    ${Number.isNaN(asked) ? nothing : svg`<path class="accent fill moves" d="M${x(place) - 6} 22 h12 l-6 14 z" /><text class="middle accent" x=${x(place)} y="16">${outside ? (asked < left ? "← " : "") : ""}${formatNumber(asked, 5)}${outside && asked > right ? " →" : ""}</text>`}
  </svg>`;
}

/** @param {State} state */
function around(state) {
  const { format, asked, code, below, above } = read(state);
  const row = (/** @type {string} */ name, /** @type {number | null} */ one) => {
    if (one === null) return [name, "none", "", ""];
    const number = decode(format, one);
    const off = number === asked ? 0 : number - asked; // infinity less itself would be NaN
    return [
      name,
      inDigits(number),
      codeText(format, one),
      `${off > 0 ? "+" : ""}${formatNumber(off, format.bits > 8 ? 3 : DIGITS)}`,
    ];
  };
  const head = ["", "number", format.bits > 8 ? "hex" : "bits", `off ${inDigits(asked)} by`];
  return table("What is stored, and the numbers beside it", head, [
    row("below", below),
    row("stored", code),
    row("above", above),
  ]);
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
function picture(state, set) {
  const now = read(state);
  return html`${boxes(now, set)}
    <p class="hb-live__equation">${state.format}: ${equation(now)}</p>
    ${ruler(now)}`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
const primary = (state, set) => textField("Number", state.number, (typed) => set({ number: typed, code: "" }), 12);

/** @param {State} state @param {(change: Partial<State>) => void} set */
const more = (state, set) =>
  choice("Format", state.format, (format) => set({ format, code: "" }), Object.keys(FORMATS));

/** What E8M0 makes of a number. @param {number} asked @param {number} value */
function scaled(asked, value) {
  const size = Math.abs(asked);
  if (Number.isNaN(value)) return `${inDigits(asked)} becomes NaN`;
  if (size < value) return `${inDigits(asked)} becomes its smallest number, ${inDigits(value)}`;
  if (size >= 2 * value) return `${inDigits(asked)} becomes its largest number, ${inDigits(value)}`;
  return `it takes the power of two at or below ${asked < 0 ? "the size " : ""}${inDigits(size)}, which is ${inDigits(value)}`;
}

/** @param {State} state */
function says(state) {
  const { format, asked, code, taken, value, below, above } = read(state);
  const name = inDigits(asked);
  const error = (/** @type {number} */ one) => Math.abs(decode(format, one) - asked);
  const share = asked === 0 ? "" : `, ${formatNumber((100 * error(code)) / Math.abs(asked), 2)} % of it`;
  if (code !== taken && !Number.isFinite(error(code)))
    return `These bits stand for ${inDigits(value)}. ${name} would be stored as ${codeText(format, taken)}.`;
  if (code !== taken)
    return `These bits stand for ${inDigits(value)}, off ${name} by ${formatNumber(error(code), DIGITS)}. The nearest code is ${codeText(format, taken)}, off by ${formatNumber(error(taken), DIGITS)}.`;
  if (Number.isNaN(asked))
    return Number.isNaN(value)
      ? `${state.format} has codes for NaN, and we write this one.`
      : `${state.format} has no NaN: the library writes its largest number, ${inDigits(value)}.`;
  if (!format.mantissa) return `${state.format} is a scale without sign or mantissa: ${scaled(asked, value)}.`;
  if (value === asked) return `${name} is a number of ${state.format}, so nothing is lost.`;
  if (!Number.isFinite(value))
    return `${name} is so far beyond the largest number, ${inDigits(decode(format, format.largest))}, that ${state.format} overflows to infinity.`;
  if (format.saturates && Math.abs(asked) > decode(format, format.largest))
    return `${name} is beyond the largest number, so ${state.format} saturates at ${inDigits(value)}.`;
  const other = value > asked ? below : above;
  if (other !== null && error(other) === error(code))
    return `${name} is halfway between ${inDigits(value)} and ${inDigits(decode(format, other))}. A tie goes to the even code, which ends in 0.`;
  return `${name} becomes ${inDigits(value)}, the nearest number in ${state.format}. That’s off by ${formatNumber(error(code), DIGITS)}${share}.`;
}

/** @type {import("./frame.js").Piece<State>} */
export default { title: "A number as bits", initial, picture, numbers: around, primary, more, says };

// Floating-point formats bit by bit: kernels.formats.value for eight bits and fewer, PyTorch's own types for more.

/**
 * A code is, from left to right, a sign, an exponent and a mantissa.
 * @typedef {object} Format
 * @property {number} bits @property {number} exponent bits of the exponent @property {number} mantissa bits of the
 *   mantissa
 * @property {number} bias @property {number} largest the code of the largest number, without its sign
 * @property {number | null} infinity @property {number | null} nan the codes that overflow and NaN are given
 * @property {boolean} saturates what is too large becomes the largest number, and not infinity
 */

/** @type {Record<string, Format>} */
export const FORMATS = {
  FP32: {
    bits: 32,
    exponent: 8,
    mantissa: 23,
    bias: 127,
    largest: 0x7f7fffff,
    infinity: 0x7f800000,
    nan: 0x7fc00000,
    saturates: false,
  },
  BF16: {
    bits: 16,
    exponent: 8,
    mantissa: 7,
    bias: 127,
    largest: 0x7f7f,
    infinity: 0x7f80,
    nan: 0x7fc0,
    saturates: false,
  },
  FP16: {
    bits: 16,
    exponent: 5,
    mantissa: 10,
    bias: 15,
    largest: 0x7bff,
    infinity: 0x7c00,
    nan: 0x7e00,
    saturates: false,
  },
  E5M2: { bits: 8, exponent: 5, mantissa: 2, bias: 15, largest: 0x7b, infinity: 0x7c, nan: 0x7f, saturates: true },
  E4M3: { bits: 8, exponent: 4, mantissa: 3, bias: 7, largest: 0x7e, infinity: null, nan: 0x7f, saturates: true },
  E2M1: { bits: 4, exponent: 2, mantissa: 1, bias: 1, largest: 0x7, infinity: null, nan: null, saturates: true },
  E8M0: { bits: 8, exponent: 8, mantissa: 0, bias: 127, largest: 0xfe, infinity: null, nan: 0xff, saturates: true },
};

/** The first code with a minus; E8M0 has no sign, and none of its codes reaches so far. @param {Format} format */
const minus = (format) => 2 ** (format.exponent + format.mantissa);

/** The bit fields of a code, and what it is. @param {Format} format @param {number} code */
export function fields(format, code) {
  const unsigned = code % minus(format);
  const exponent = Math.floor(unsigned / 2 ** format.mantissa);
  const mantissa = unsigned % 2 ** format.mantissa;
  let kind = "normal";
  if (format.mantissa && exponent === 0) kind = mantissa ? "subnormal" : "zero";
  if (unsigned > format.largest) kind = unsigned === format.infinity ? "infinity" : "not a number";
  return { sign: code >= minus(format) ? 1 : 0, exponent, mantissa, kind };
}

/** The bits of a code, a blank between its fields. @param {Format} format @param {number} code */
export function spelt(format, code) {
  const bits = code.toString(2).padStart(format.bits, "0");
  const sign = format.bits - format.exponent - format.mantissa;
  return [bits.slice(0, sign), bits.slice(sign, sign + format.exponent), bits.slice(sign + format.exponent)]
    .filter(Boolean)
    .join(" ");
}

/** The number that a code stands for. @param {Format} format @param {number} code */
export function decode(format, code) {
  const { sign, exponent, mantissa, kind } = fields(format, code);
  if (kind === "not a number") return NaN;
  const part = mantissa / 2 ** format.mantissa;
  const normal = 2 ** (exponent - format.bias) * (1 + part);
  const size = { normal, subnormal: 2 ** (1 - format.bias) * part, zero: 0, infinity: Infinity }[kind] ?? NaN;
  return sign ? -size : size;
}

/** The power of two at or below a positive number is 2 to this. @param {number} size */
export function exponentOf(size) {
  const near = Math.floor(Math.log2(size)); // off by one where the logarithm was rounded to an integer
  return near + (2 ** (near + 1) <= size ? 1 : 0) - (2 ** near > size ? 1 : 0);
}

/** The integer nearest to a number that is not negative, a tie to the even one. @param {number} x */
export function roundEven(x) {
  const floor = Math.floor(x);
  return floor + (x - floor > 0.5 || (x - floor === 0.5 && floor % 2 === 1) ? 1 : 0);
}

/**
 * The code of the nearest number, a tie to the even code; E8M0 takes the power of two at or below, whatever the sign.
 * @param {Format} format @param {number} number
 */
export function encode(format, number) {
  const x = format.bits > 8 ? Math.fround(number) : number; // PyTorch comes to 16 bits by way of FP32
  const size = Math.min(Math.abs(x), Number.MAX_VALUE);
  if (!format.mantissa) {
    if (!Number.isFinite(x)) return format.nan ?? format.largest;
    return Math.min(Math.max(exponentOf(size || 2 ** -format.bias) + format.bias, 0), format.largest);
  }
  if (Number.isNaN(x)) return format.nan ?? format.largest;
  const power = Math.max(exponentOf(size || Number.MIN_VALUE), 1 - format.bias);
  // Codes count the steps: a carry from the mantissa into the exponent is the next number's code.
  let code = roundEven(size / 2 ** (power - format.mantissa)) + (power - 1 + format.bias) * 2 ** format.mantissa;
  if (code > format.largest) code = format.saturates || format.infinity === null ? format.largest : format.infinity;
  return code + (x < 0 || Object.is(x, -0) ? minus(format) : 0);
}

/**
 * The code of the next number up (1) or down (−1), infinity among them where rounding may end there; null if there is
 * none.
 * @param {Format} format @param {number} code @param {1 | -1} way
 */
export function beside(format, code, way) {
  const { sign, kind } = fields(format, code);
  if (kind === "not a number") return null;
  const place = (sign ? minus(format) - code : code) + way;
  const last = format.saturates || format.infinity === null ? format.largest : format.infinity;
  if (Math.abs(place) > last || (place < 0 && !format.mantissa)) return null;
  return place < 0 ? minus(format) - place : place;
}

// A block of numbers and its scale, as kernels.formats.block quantizes them: every step rounded to FP32, as there.
import { decode, encode, FORMATS } from "./bits.model.js";

const { E2M1, E4M3, E8M0, FP32 } = FORMATS;

/**
 * block: numbers that share a scale, null where all do; scale: the format of a block's scale, null where only the
 * tensor has one
 * @typedef {{element: import("./bits.model.js").Format, block: number | null, scale: import("./bits.model.js").Format |
 *   null, tensor: boolean}} Scheme
 */

/** @type {Record<string, Scheme>} */
export const SCHEMES = {
  NVFP4: { element: E2M1, block: 16, scale: E4M3, tensor: true },
  MXFP4: { element: E2M1, block: 32, scale: E8M0, tensor: false },
  FP8: { element: E4M3, block: null, scale: null, tensor: true },
};

const { fround } = Math;
const SMALLEST = 2 ** -117; // an FP32 scale is never below it, so that its reciprocal does not overflow

/** @param {import("./bits.model.js").Format} format */
const largest = (format) => decode(format, format.largest);

/** The largest size: NaN has no part in it, and infinity counts as FP32's largest number. @param {number[]} numbers */
const amaxOf = (numbers) =>
  Math.max(0, ...numbers.map((x) => (Number.isNaN(x) ? 0 : Math.min(Math.abs(x), largest(FP32)))));

/** What the largest number of a tensor asks its scale to be. @param {Scheme} scheme @param {number[]} numbers */
function tensorScale(scheme, numbers) {
  const amax = amaxOf(numbers);
  const largestProduct = largest(scheme.element) * (scheme.scale ? largest(scheme.scale) : 1);
  return amax === 0 ? 1 : Math.max(fround(amax / largestProduct), SMALLEST);
}

/** The code of a block's scale. @param {Scheme} scheme @param {number} amax @param {number} tensor */
function scaleOf(scheme, amax, tensor) {
  if (scheme.scale === E8M0) return Math.max(encode(E8M0, amax) - Math.floor(Math.log2(largest(scheme.element))), 0);
  return encode(E4M3, fround(fround(amax / largest(scheme.element)) / tensor));
}

/**
 * The blocks of a row of numbers: the code of the scale, what a code of 1 is worth, and each number's code.
 * @param {Scheme} scheme @param {number[]} row @param {number | null} [givenTensorScale] null: from the largest number
 */
export function quantize(scheme, row, givenTensorScale = null) {
  const numbers = row.map(fround);
  const tensor = scheme.tensor ? fround(givenTensorScale ?? tensorScale(scheme, numbers)) : 1;
  const size = scheme.block ?? Math.max(numbers.length, 1);
  const blocks = Array.from({ length: Math.ceil(numbers.length / size) }, (_, i) => {
    const own = numbers.slice(i * size, (i + 1) * size);
    const scale = scheme.scale && scaleOf(scheme, amaxOf(own), tensor);
    const blockScale = scale === null || !scheme.scale ? 1 : decode(scheme.scale, scale);
    // A reciprocal instead of a division, as in the kernels; where the scale is 0, all becomes 0.
    const inverse = fround(fround(1 / tensor) / (blockScale || Infinity));
    const quotients = own.map((x) => fround(x * inverse));
    const codes = quotients.map((x) => encode(scheme.element, x));
    const unit = fround(blockScale * tensor);
    return {
      scale,
      blockScale,
      unit,
      quotients,
      codes,
      decoded: codes.map((code) => fround(decode(scheme.element, code) * unit)),
    };
  });
  return { tensor, blocks };
}

/**
 * The bytes in memory: two codes of four bits to a byte, the first in the low half.
 * @param {Scheme} scheme @param {number[]} codes
 */
export function pack(scheme, codes) {
  if (scheme.element.bits === 8) return codes;
  return Array.from({ length: Math.ceil(codes.length / 2) }, (_, i) => codes[2 * i] + 16 * (codes[2 * i + 1] ?? 0));
}

/** The root mean square. @param {number[]} numbers */
export const rms = (numbers) => Math.sqrt(numbers.reduce((sum, x) => sum + x * x, 0) / Math.max(numbers.length, 1));

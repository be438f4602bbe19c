// Softmax of a short row in a type of 16, 32 or 64 bits, bit for bit as kernels.softmax has it: each step is rounded.

const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

/**
 * The nearest number of a type, even in a tie, by way of FP32, as PyTorch goes.
 * @param {number} value @param {number} mantissa its bits after the point
 * @param {number} lowest the exponent below which the steps no longer shrink @param {number} largest
 */
function nearest(value, mantissa, lowest, largest) {
  float[0] = value;
  const exponent = Math.max(((bits[0] >>> 23) & 255) - 127, lowest);
  const step = 2 ** (exponent - mantissa);
  const steps = float[0] / step + EVEN - EVEN;
  return Math.abs(steps * step) > largest ? steps * Infinity : steps * step;
}

const EVEN = 1.5 * 2 ** 52; // beside it FP64 holds whole numbers only, and rounds to even

/** @type {Record<string, (value: number) => number>} */
export const TYPES = {
  FP16: (value) => nearest(value, 10, -14, 65504),
  BF16: (value) => nearest(value, 7, -126, (2 - 2 ** -7) * 2 ** 127),
  FP32: Math.fround,
  FP64: (value) => value,
};

/** @param {string} type @param {number} value */
export const rounded = (type, value) => TYPES[type](value);

/**
 * Softmax as the formula has it, or with the largest score subtracted first. The sum runs in FP32 at least and is then
 * rounded, as in PyTorch; so four numbers have one order in which they are added.
 * @param {string} type @param {number[]} scores @param {boolean} safe
 */
export function softmaxIn(type, scores, safe) {
  const round = TYPES[type];
  const wide = type === "FP64" ? round : Math.fround;
  const stored = scores.map(round);
  const max = stored.reduce((a, b) => (b > a || Number.isNaN(b) ? b : a), -Infinity);
  const lowered = safe ? stored.map((score) => round(score - max)) : stored;
  const powers = lowered.map((score) => round(Math.exp(score)));
  const sum = round(powers.reduce((total, power) => wide(total + power), 0));
  return { stored, lowered, powers, sum, shares: powers.map((power) => round(power / sum)) };
}

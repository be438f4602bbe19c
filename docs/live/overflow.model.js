// Softmax of a short row in a type of 16, 32 or 64 bits, bit for bit as kernels.softmax has it: each step is rounded.

import { decode, encode, FORMATS } from "./bits.model.js";

/** The nearest number of a format. @param {import("./bits.model.js").Format} format */
const nearest = (format) => (/** @type {number} */ value) => decode(format, encode(format, value));

/** @type {Record<string, (value: number) => number>} */
export const TYPES = {
  FP16: nearest(FORMATS.FP16),
  BF16: nearest(FORMATS.BF16),
  FP32: Math.fround,
  FP64: (value) => value,
};

/** @param {string} type @param {number} value */
export const rounded = (type, value) => TYPES[type](value);

/** The largest score whose exponential fits into that type. @param {string} type */
export function end(type) {
  let [fits, above] = [0, 1000];
  for (let i = 0; i < 60; i++) {
    const middle = (fits + above) / 2;
    if (TYPES[type](Math.exp(middle)) < Infinity) fits = middle;
    else above = middle;
  }
  return fits;
}

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

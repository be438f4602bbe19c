// What a dot product is made of: the products, their sum, and what lengths and angle say of it.
import { dot, sum } from "./attention_row.model.js";

/** @param {number[]} a */
export const length = (a) => Math.hypot(...a);

/**
 * Between two lists of numbers, in degrees; it has none where a length is 0.
 * @param {number[]} a @param {number[]} b
 */
export function angle(a, b) {
  const [x, y] = [a, b].map((each) => each.map((number) => number / length(each)));
  // Of two arrows of length 1, the difference against the sum: the arc cosine loses digits where they are nearly
  // parallel.
  const half = Math.atan2(length(x.map((number, i) => number - y[i])), length(x.map((number, i) => number + y[i])));
  return (half * 360) / Math.PI;
}

/** How far b reaches along a; negative where it points away. @param {number[]} a @param {number[]} b */
export const along = (a, b) => dot(a, b) / length(a);

/**
 * From the first arrow to the second, in degrees; above zero against the clock.
 * @param {number[]} a @param {number[]} b
 */
export const turn = ([x, y], b) => (Math.atan2(x * b[1] - y * b[0], dot([x, y], b)) * 180) / Math.PI;

/**
 * The second arrow, as long as it is, at that angle from the first.
 * @param {number[]} a @param {number[]} b @param {number} degrees
 */
export function turnTo([x, y], b, degrees) {
  const [cos, sin] = [Math.cos, Math.sin].map((part) => (part((degrees * Math.PI) / 180) * length(b)) / length([x, y]));
  return [x * cos - y * sin, y * cos + x * sin];
}

/** @param {number[]} a @param {number[]} b */
export function measure(a, b) {
  const products = a.map((number, i) => number * b[i]);
  return { products, sum: sum(products), lengths: [length(a), length(b)], angle: angle(a, b), along: along(a, b) };
}

// Two readers share a row: the state of each, and what both are worth once they're measured from the same maximum.
import { empty, expBelow, update } from "./online_softmax.model.js";

/** @param {number[]} scores @param {number} cut how many the first reader gets */
export function mergeReaders(scores, cut) {
  const readers = [scores.slice(0, cut), scores.slice(cut)].map((part) => update(empty(), part));
  const max = Math.max(...readers.map((reader) => reader.max));
  const factors = readers.map((reader) => expBelow(reader.max, max));
  const parts = readers.map((reader, i) => factors[i] * reader.sum);
  return { readers, max, factors, parts, sum: parts[0] + parts[1] };
}

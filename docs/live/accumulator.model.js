// What rides along with the sum: the values, each times its score's exponential, and in the end all of it divided by
// the sum.
import { blocks, frame } from "./online_softmax.model.js";

/** @typedef {import("./online_softmax.model.js").Run} Run */

/**
 * The columns so many milliseconds into step k: the sum, then each number of the accumulator. A column's first piece is
 * what it kept; the others are the pairs' exponentials, each times what its value has there.
 * @param {Run} run @param {number} k @param {number} [elapsed]
 */
export function columns(run, k, elapsed = Infinity) {
  const now = frame(run, k, elapsed);
  const { before: old, sum } = run.steps[now.k];
  const arrived = now.stack.slice(1);
  const first = old.seen - old.terms.length; // the word of the first piece that arrived
  const part = now.checked ? 1 + (1 / sum - 1) * now.checked : 1; // after the last pair, everything is divided by the sum
  const of = (/** @type {(word: number) => number} */ weight, /** @type {number} */ before) => {
    const recent = old.terms.reduce((all, term, i) => all + term * weight(first + i), 0);
    const pieces = arrived.map(({ height, ink, grown }, i) => ({
      height: height * grown * weight(first + i) * part,
      ink,
    }));
    const kept = { height: (before - recent) * now.scale * part, ink: 1 };
    return { pieces: [kept, ...pieces], height: [kept, ...pieces].reduce((all, { height }) => all + height, 0) };
  };
  return {
    ...now,
    columns: [
      of(() => 1, old.sum),
      ...old.accumulator.map((before, column) => of((word) => run.values[word][column], before)),
    ],
  };
}

/** The step at which all is divided. @param {Run} run */
export const last = (run) => blocks(run) + 1;

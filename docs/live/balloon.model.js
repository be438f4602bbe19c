// What the three lines hold beside Q, K and V, one kernel after another.
import { rowBytes, squareBytes } from "./cost.model.js";

/** @typedef {import("./cost.model.js").Shape} Shape */
/** @typedef {{doing: string, squares: string[], output: boolean}} Step */

/**
 * Python lets go of the raw scores, which have no name, and of the scores only when the function returns.
 * @type {Step[]}
 */
export const STEPS = [
  { doing: "before", squares: [], output: false },
  { doing: "QKᵀ", squares: ["raw scores"], output: false },
  { doing: "times scale", squares: ["raw scores", "scores"], output: false },
  { doing: "softmax", squares: ["scores", "shares"], output: false },
  { doing: "times V", squares: ["scores", "shares"], output: true },
  { doing: "after", squares: [], output: true },
];

/** Bytes held at a step, Q, K and V among them. @param {Shape} shape @param {number} step */
export const bytesHeld = (shape, step) =>
  (3 + Number(STEPS[step].output)) * rowBytes(shape) + STEPS[step].squares.length * squareBytes(shape);

/** The step at which more is held than there is, or the last. @param {Shape} shape @param {number} memory */
export function last(shape, memory) {
  const burst = STEPS.findIndex((_, step) => bytesHeld(shape, step) > memory);
  return burst < 0 ? STEPS.length - 1 : burst;
}

// The sentence of snippets/three_matmuls/sentence.py: what each word asks for and offers, and who looks at whom.
import { causal, products, shares } from "./attention_row.model.js";

/** thing, action, place, link: chosen by hand, not trained */
export const QUERIES = [[2, 0, 1, 0], [1, 2, 0, 0], [2, 0, 1, 1], [0, 1, 3, 0], [2, 0, 1, 0], [0, 1, 0, 2]];
export const KEYS = [[0, 0, 0, 1], [2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 1, 2], [0, 0, 0, 1], [1, 0, 2, 0]];

/**
 * Scores as the dot products have them, and the shares after the division by √4.
 * @param {number} times multiplies each score @param {boolean} hidden word i sees the words up to itself
 */
export function allPairs(times, hidden) {
  const scores = products(QUERIES, KEYS);
  const divided = scores.map((row) => row.map((score) => (score * times) / Math.sqrt(QUERIES[0].length)));
  return { scores, shares: shares(hidden ? causal(divided) : divided) };
}

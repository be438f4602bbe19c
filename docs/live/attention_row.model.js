// Attention of a few words as kernels.reference.attention computes it, in the 64 bits of a number on a page.

/** @param {number[]} a @param {number[]} b */
export const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

/** @param {number[]} row */
export const sum = (row) => row.reduce((a, b) => a + b, 0);

/** @param {number[][]} table */
export const transposed = (table) => table[0].map((_, column) => table.map((row) => row[column]));

/**
 * Every query with every key: the row asks, the column is looked at.
 * @param {number[][]} queries @param {number[][]} keys
 */
export const products = (queries, keys) => queries.map((q) => keys.map((k) => dot(q, k)));

/**
 * Each score as its share of the row; −∞ hides a key, and a row that is all hidden has zeros.
 * @param {number[]} scores
 */
export function softmax(scores) {
  const max = Math.max(...scores);
  if (max === -Infinity) return scores.map(() => 0);
  const powers = scores.map((score) => Math.exp(score - max));
  const total = sum(powers);
  return powers.map((power) => power / total);
}

/**
 * Softmax of each row of a table, or by mistake of each column.
 * @param {number[][]} scores @param {boolean} [columns]
 */
export const shares = (scores, columns = false) => (columns ? transposed(transposed(scores).map(softmax)) : scores.map(softmax));

/** Word i sees the words up to itself. @param {number[][]} scores */
export const causal = (scores) => scores.map((row, i) => row.map((score, j) => (j > i ? -Infinity : score)));

/** The average of the value rows by these shares. @param {number[]} row of shares @param {number[][]} values */
export const weightedSum = (row, values) => transposed(values).map((column) => dot(row, column));

/**
 * The three lines.
 * @param {number[][]} queries @param {number[][]} keys @param {number[][]} values @param {number} scale
 */
export const attention = (queries, keys, values, scale) =>
  shares(products(queries, keys).map((row) => row.map((score) => score * scale))).map((row) => weightedSum(row, values));

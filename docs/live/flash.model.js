// FlashAttention in numbers: which tiles each program visits, and what it keeps, as kernels/flash has both.
import { empty, output, update } from "./online_softmax.model.js";

/**
 * Rows of queries, keys, values and of the gradient that arrives from above, and how they are cut.
 * @typedef {object} Problem
 * @property {number[][]} q @property {number[][]} k @property {number[][]} v @property {number[][]} [dout]
 * @property {number} blockQ queries a block @property {number} blockK keys a block @property {boolean} causal
 * @property {number} scale of the scores @property {boolean} [forget] no tile is masked
 */

/** @typedef {{first: number, masked: boolean}} Tile first: its first key; where a program owns keys, its first query */
/** @typedef {"forward" | "dq" | "dkdv"} Pass */

/** @param {number} from @param {number} stop @param {number} step */
const range = (from, stop, step = 1) =>
  Array.from({ length: Math.max(0, Math.ceil((stop - from) / step)) }, (_, i) => from + i * step);

/** @param {number[]} a @param {number[]} b */
const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

/**
 * The programs of a pass in the order in which they start, the longest first, and the tiles of each in its own order.
 * @param {Pass} pass @param {Problem} problem @returns {{first: number, tiles: Tile[]}[]} first: the row that it owns
 *   first
 */
export function programs(pass, { q, k, blockQ, blockK, causal }) {
  const tiles = (
    /** @type {number} */ from,
    /** @type {number} */ stop,
    /** @type {number} */ block,
    /** @type {boolean} */ masked,
  ) => range(from, stop, block).map((first) => ({ first, masked }));
  if (pass === "dkdv") {
    return range(0, k.length, blockK).map((first) => {
      const start = causal ? Math.floor(first / blockQ) * blockQ : 0;
      const unmaskedStart = causal ? Math.ceil((first + blockK - 1) / blockQ) * blockQ : 0;
      const masked = tiles(start, Math.min(unmaskedStart, q.length), blockQ, true);
      return { first, tiles: [...masked, ...tiles(unmaskedStart, q.length, blockQ, false)] };
    });
  }
  return range(0, q.length, blockQ).reverse().map((first) => {
    const stop = causal ? Math.min(k.length, first + blockQ) : k.length;
    const unmaskedStop = Math.floor((causal ? Math.min(stop, first + 1) : stop) / blockK) * blockK;
    return { first, tiles: [...tiles(0, unmaskedStop, blockK, false), ...tiles(unmaskedStop, stop, blockK, true)] };
  });
}

/** Whether a mask hides that key from that query. @param {Problem} problem @param {number} query @param {number} key */
export const hidden = ({ k, causal }, query, key) => key >= k.length || (causal && key > query);

/**
 * A score of a tile. Keys beyond the end come as zeros, and so do their scores where nothing masks them.
 * @param {Problem} problem @param {number} query @param {number} key @param {boolean} masked
 */
function score(problem, query, key, masked) {
  if (masked && !problem.forget && hidden(problem, query, key)) return -Infinity;
  return key < problem.k.length ? problem.scale * dot(problem.q[query], problem.k[key]) : 0;
}

/**
 * What each query has once every program has visited so many of its tiles: maximum, sum, accumulator, and the last factor.
 * @param {Problem} problem @param {number} steps
 */
export function forward(problem, steps) {
  const { q, v, blockQ, blockK } = problem;
  const states = q.map(() => ({ ...empty(v[0].length), factor: 1, moved: false }));
  for (const { first, tiles } of programs("forward", problem)) {
    for (const tile of tiles.slice(0, steps)) {
      const keys = range(tile.first, tile.first + blockK);
      const values = keys.map((key) => v[key] ?? v[0].map(() => 0));
      for (const query of range(first, Math.min(first + blockQ, q.length))) {
        states[query] = update(states[query], keys.map((key) => score(problem, query, key, tile.masked)), values);
      }
    }
  }
  return states;
}

/**
 * What the forward pass leaves of each row, and how much of dout points along its output.
 * @param {Problem & {dout: number[][]}} problem
 */
export function left(problem) {
  return forward(problem, Infinity).map((state, query) => ({
    lse: state.max + Math.log(state.sum),
    delta: dot(problem.dout[query], output(state)),
  }));
}

/**
 * The backward sums once every program has visited so many of its tiles; those of dq and dk before the scale.
 * @param {"dq" | "dkdv"} pass @param {Problem & {dout: number[][]}} problem @param {number} steps
 */
export function backward(pass, problem, steps) {
  const { q, k, v, dout, blockQ, blockK } = problem;
  const rows = left(problem);
  const zeros = (/** @type {number[][]} */ like) => like.map((row) => row.map(() => 0));
  const sums = { dq: zeros(q), dk: zeros(k), dv: zeros(v) };
  const add = (/** @type {number[]} */ sum, /** @type {number} */ weight, /** @type {number[]} */ row) =>
    row.forEach((x, i) => (sum[i] += weight * x));
  for (const { first, tiles } of programs(pass, problem)) {
    for (const tile of tiles.slice(0, steps)) {
      const [firstQuery, firstKey] = pass === "dq" ? [first, tile.first] : [tile.first, first];
      for (const query of range(firstQuery, Math.min(firstQuery + blockQ, q.length))) {
        for (const key of range(firstKey, Math.min(firstKey + blockK, k.length))) {
          const weight = Math.exp(score(problem, query, key, tile.masked) - rows[query].lse);
          const dscore = weight * (dot(dout[query], v[key]) - rows[query].delta);
          if (pass === "dq") add(sums.dq[query], dscore, k[key]);
          else {
            add(sums.dv[key], weight, dout[query]);
            add(sums.dk[key], dscore, q[query]);
          }
        }
      }
    }
  }
  return sums;
}

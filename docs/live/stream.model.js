// Online softmax: the state of a row that is still arriving, as kernels.softmax.OnlineSoftmax keeps it.

/** @typedef {{max: number, sum: number, blend: number[], seen: number}} State blend: the weighted sum of value rows */

/** @param {number} width numbers of a value row @returns {State} a row of which nothing was read */
export const empty = (width) => ({ max: -Infinity, sum: 0, blend: Array(width).fill(0), seen: 0 });

/** e^(score − max), and 0 where both are −∞. @param {number} score @param {number} max */
export const expBelow = (score, max) => (score === -Infinity ? 0 : Math.exp(score - max));

/**
 * Reads a block: one factor rescales all that was kept, then the block is added.
 * @param {State} state @param {number[]} scores @param {number[][]} values one row a score
 * @param {boolean} [forget] leave out the rescaling, as a first kernel may
 * @returns {State & {factor: number, moved: boolean}}
 */
export function update(state, scores, values, forget = false) {
  const max = Math.max(state.max, ...scores);
  const factor = expBelow(state.max, max);
  const kept = forget && state.seen ? 1 : factor;
  let sum = state.sum * kept;
  const blend = state.blend.map((x) => x * kept);
  scores.forEach((score, i) => {
    const weight = expBelow(score, max);
    sum += weight;
    values[i].forEach((v, column) => (blend[column] += weight * v));
  });
  return { max, sum, blend, seen: state.seen + scores.length, factor, moved: max > state.max };
}

/**
 * Reads the first scores of a row, a block at a time.
 * @param {number[]} scores @param {number[][]} values @param {number} block scores a block @param {number} blocks how many
 * @param {boolean} [forget] @param {number} [first] how many scores were there first: no block holds scores of these and of later ones
 * @returns {State & {factor: number, moved: boolean}}
 */
export function read(scores, values, block, blocks, forget = false, first = scores.length) {
  let state = { ...empty(values[0]?.length ?? 1), factor: 1, moved: false };
  for (let step = 0; step < blocks && state.seen < scores.length; step++) {
    const from = state.seen;
    const to = from < first ? Math.min(from + block, first) : from + block;
    state = update(state, scores.slice(from, to), values.slice(from, to), forget);
  }
  return state;
}

/** Two readers' states as one. @param {State} a @param {State} b @returns {State} */
export function merge(a, b) {
  const max = Math.max(a.max, b.max);
  const [left, right] = [expBelow(a.max, max), expBelow(b.max, max)];
  const blend = a.blend.map((x, column) => x * left + b.blend[column] * right);
  return { max, sum: a.sum * left + b.sum * right, blend, seen: a.seen + b.seen };
}

/** @param {State[]} states @returns {State} */
export const mergeAll = (states) => states.reduce(merge, empty(states[0].blend.length));

/** The blend of all that was seen: zeros where nothing was, or all was masked. @param {State} state */
export const output = (state) => state.blend.map((x) => (state.sum === 0 ? 0 : x / state.sum));

// A step of decode: where a token lies, how the blocks are shared out, and what the programs' parts make together.
import { empty, output, update } from "./online_softmax.model.js";

/**
 * Which entry of the page table a token's page is, and which row of the page it has.
 * @param {number} token @param {number} pageSize
 */
export const placeOf = (token, pageSize) => ({ entry: Math.floor(token / pageSize), row: token % pageSize });

/**
 * Where a program's piece of the line of blocks begins: the first of them have one more.
 * @param {number} program @param {number} programs @param {number} blocks
 */
export const beginOf = (program, programs, blocks) =>
  Math.floor(blocks / programs) * program + Math.min(program, blocks % programs);

/**
 * What lies in each program's piece of the line, in which sequence follows sequence.
 * @typedef {{program: number, sequence: number, begin: number, count: number, whole: boolean}} Part begin, count: of
 *   the sequence's blocks; whole: it has all of them, and is written at once
 * @param {number[]} lengths tokens of each sequence @param {number} block keys a block @param {number} programs
 *   @returns {Part[]}
 */
export function shares(lengths, block, programs) {
  const blocks = lengths.map((length) => Math.ceil(length / block));
  const all = blocks.reduce((sum, count) => sum + count, 0);
  /** @type {Part[]} */
  const parts = [];
  for (let program = 0; program < programs; program++) {
    const stop = beginOf(program + 1, programs, all);
    let [at, before] = [beginOf(program, programs, all), 0];
    blocks.forEach((each, sequence) => {
      const count = Math.min(before + each, stop) - at;
      if (at >= before && count > 0) {
        parts.push({ program, sequence, begin: at - before, count, whole: count === each });
        at += count;
      }
      before += each;
    });
  }
  return parts;
}

/**
 * What a program knows once it has read so many blocks from `begin` on.
 * @param {number[][]} keys @param {number[][]} values of one sequence @param {number[]} query @param {number} scale
 * @param {number} block @param {number} begin @param {number} count blocks @param {boolean} [topLeft] the query sees
 *   key 0 alone
 */
export function partOf(keys, values, query, scale, block, begin, count, topLeft = false) {
  let state = empty(values[0].length);
  for (let from = begin * block; from < Math.min(keys.length, (begin + count) * block); from += block) {
    const rows = keys.slice(from, from + block);
    const scores = rows.map((key, i) => (topLeft && from + i > 0 ? -Infinity : scale * key.reduce((sum, x, column) => sum + x * query[column], 0)));
    state = update(state, scores, values.slice(from, from + block));
  }
  return { ...state, output: output(state), lse: state.sum === 0 ? -Infinity : state.max + Math.log(state.sum) };
}

/**
 * Parts of one row as one: each weighs as much as its sum of exponentials.
 * @param {{output: number[], lse: number}[]} parts
 */
export function merge(parts) {
  const max = Math.max(...parts.map(({ lse }) => lse));
  if (max === -Infinity) return { output: parts[0].output.map(() => 0), lse: -Infinity, weights: parts.map(() => 0) };
  const powers = parts.map(({ lse }) => Math.exp(lse - max));
  const total = powers.reduce((sum, x) => sum + x, 0);
  const weights = powers.map((x) => x / total);
  const row = parts[0].output.map((_, column) =>
    parts.reduce((sum, part, i) => sum + (weights[i] ? weights[i] * part.output[column] : 0), 0),
  );
  return { output: row, lse: max + Math.log(total), weights };
}

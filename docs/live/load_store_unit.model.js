// A query meets a key: what a program's warps have for the load-store unit (LSU) and the ALU of their SM.

export const WARPS = [1, 2, 4, 8];
const [LANES, NUMBERS] = [32, 128]; // threads of a warp; numbers of a key or a value

/**
 * How many instructions a sum takes one warp: shuffles among its own threads and, where several warps have a result,
 * shuffles among these and four trips to shared memory.
 * @param {number} results how many warps have one
 */
const sum = (results) => Math.log2(LANES) + (results > 1 ? Math.log2(results) + 4 : 0);

/**
 * One warp's LSU instructions for a pair, in order: load the key, add up the score, load the value, add up the row. The
 * score adds up 128 products, which at most four warps hold; the row of scores is spread over all of them.
 * @param {number} warps
 */
export const instructions = (warps) => [1, sum(Math.min(warps, NUMBERS / LANES)), 1, sum(warps)];

/** How long the LSU works: it starts one instruction in a clock. @param {number} warps */
export const lsuClocks = (warps) => warps * instructions(warps).reduce((all, one) => all + one);

/** How long the ALU works: two passes over the row, and each warp's loops and addresses. @param {number} warps */
export const aluClocks = (warps) => 48 + 5 * warps;

// A query meets a key: what the warps of a program want from their SM's load-store unit, and when each has its turn.

/** @typedef {"key" | "value" | "shuffle" | "shared"} Kind */
/**
 * An instruction: whose it is, how many of its warp's are before it, and the clock that starts it.
 * @typedef {{kind: Kind, warp: number, place: number, clock: number}} Instruction
 */

export const WARPS = [1, 2, 4, 8];
export const FALL = 12; // clocks that one is drawn on its way from the head of its queue
const [LANES, NUMBERS] = [32, 128]; // threads of a warp; numbers of a key or a value

/**
 * What a warp does to add up: shuffles among its own threads and, where several warps have a result, shared memory.
 * @param {number} results how many warps have one @returns {Kind[]}
 */
function sum(results) {
  const shuffles = (/** @type {number} */ numbers) => /** @type {Kind[]} */ (Array(Math.log2(numbers)).fill("shuffle"));
  return [...shuffles(LANES), ...(results > 1 ? /** @type {Kind[]} */ (["shared", "shared", ...shuffles(results), "shared", "shared"]) : [])];
}

/**
 * One warp's instructions for a pair. The score adds up the products of 128 numbers, which at most four warps hold; the
 * weight is added up out of the row of scores, which all of them hold.
 * @param {number} warps @returns {Kind[]}
 */
export const queue = (warps) => ["key", ...sum(Math.min(warps, NUMBERS / LANES)), "value", ...sum(warps)];

/** @param {number} warps */
export const clocks = (warps) => warps * queue(warps).length;

/** For how many the ALU works: two passes over the row, and each warp's loops and addresses. @param {number} warps */
export const aluClocks = (warps) => 48 + 5 * warps;

/** All instructions in the order in which they start; the warps take turns. @param {number} warps @returns {Instruction[]} */
export const instructions = (warps) =>
  queue(warps).flatMap((kind, place) =>
    Array.from({ length: warps }, (_, warp) => ({ kind, warp, place, clock: place * warps + warp })),
  );

/**
 * Where all are when so many clocks have passed: how many places each still is from the head of its queue, how far it has
 * come from there to its clock, and whether that has passed.
 * @param {number} warps @param {number} clock
 */
export const at = (warps, clock) =>
  instructions(warps).map((one) => ({
    ...one,
    ahead: Math.max(0, Math.min(one.place, (one.clock + 1 - FALL - clock) / warps)),
    fallen: Math.max(0, Math.min(1, (clock - one.clock - 1) / FALL + 1)),
    started: clock >= one.clock + 1,
  }));

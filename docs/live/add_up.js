// A program multiplies a query with a key, one step for all threads, and adds up, for which they have to talk.
import { nothing } from "lit-html";
import { parseNumbers } from "./controls.js";
import { clamp, group, path, rect, stage, text } from "./strokes.js";

const initial = { step: 0, query: "1 2 0 2 1 3 1 2", key: "3 1 3 2 1 0 3 1" };
const [LANES, MOST] = [4, 3]; // threads of a warp; the largest number of a query or a key
const FIRSTS = [0, LANES]; // the first thread of each warp
const THREADS = Array.from({ length: LANES * FIRSTS.length }, (_, thread) => thread);
const AWAY = [LANES / 2, 1]; // from shuffle to shuffle, how far away a thread’s partner is
const STEPS = ["Multiply", "Shuffle", "Shuffle", "Hand over", "Add", "Hand back"];
const [WARPS, WARP] = [4, 32]; // what’s real: warps of a program, threads of a warp
/** A real warp’s instructions: shuffles, shuffles of the warps’ sums, and a write and a read of shared memory, twice. */
const [IN_WARPS, OF_WARPS, IN_SHARED] = [Math.log2(WARP), Math.log2(WARPS), 4];
const PACE = 500; // milliseconds for a step
const TO_COME = 0.25; // how much is seen of lines that wait
// Pixels: of a cell, and the tops of rows; then, from the top of shared memory, to who writes, to its barrier, to a line
// across, and to who reads.
const [CELL, QUERY, KEY, PRODUCT, SHUFFLED, MEMORY, AGAIN] = [20, 36, 58, 82, [124, 166], 194, 264];
const [WRITE, BARRIER, ACROSS, READ] = [-8, 28, 34, 42];
const HEIGHT = AGAIN + READ + CELL + 4;
/** From step to step, where what’s new in it begins and ends. */
const BANDS = [
  [0, 0], [PRODUCT, PRODUCT + CELL], ...SHUFFLED.map((top) => [top - 22, top + CELL]),
  [MEMORY + WRITE, MEMORY + ACROSS], [MEMORY + CELL, MEMORY + READ + CELL], [AGAIN + WRITE, AGAIN + READ + CELL],
];

/** @typedef {typeof initial} State */
/** How much is there of what a step draws between two heights. @typedef {(step: number, from: number, to: number) => number} There */
/** @typedef {ReturnType<typeof columns> & {there: There}} Ground */

/** Who gets a thread’s number, and whose it gets. @param {number} thread @param {number} away */
const partner = (thread, away) => thread ^ away;

/** What the threads hold, row by row. @param {State} state */
function compute(state) {
  const numbers = (/** @type {string} */ name, /** @type {string} */ text) =>
    parseNumbers(name, text, { min: 0, max: MOST, integer: true, count: [THREADS.length, THREADS.length] });
  const [query, key] = [numbers("Query", state.query), numbers("Key", state.key)];
  const products = query.map((number, thread) => number * key[thread]);
  const add = (/** @type {number[]} */ row, /** @type {number} */ away) =>
    row.map((number, thread) => number + row[partner(thread, away)]);
  const halves = add(products, AWAY[0]);
  const whole = add(halves, AWAY[1]);
  const sums = FIRSTS.map((first) => whole[first]);
  return { query, key, products, shuffled: [halves, whole], sums, score: sums[0] + sums[1] };
}

/** Where the threads are, the middle of each at x. @param {number} wide */
function columns(wide) {
  const [left, gap] = wide < 600 ? [100, 12] : [176, 28];
  const column = Math.min(wide < 700 ? 38 : 104, (wide - left - gap) / THREADS.length);
  const x = (/** @type {number} */ thread) => left + (thread + 0.5) * column + (thread < LANES ? 0 : gap);
  return { wide, words: wide < 600 ? "small" : "label", left, right: left + THREADS.length * column + gap, column, x };
}

/** @param {Ground} on @param {number} step @param {[number, number]} from @param {[number, number]} to */
function drawLine(on, step, [x, y], [right, foot], look = "soft thin") {
  const drawn = on.there(step, y, foot);
  const part = drawn || 1;
  return path(`M${x} ${y}L${x + part * (right - x)} ${y + part * (foot - y)}`, look, drawn ? 1 : TO_COME);
}

/** A score is rose, what leads to it grey. @param {Ground} on @param {number} thread @param {number} y @param {number} number @param {string} look */
function drawCell({ x, column }, thread, y, number, look) {
  return [
    ["paper", `${look} tint`].map((each) => rect(x(thread) - column / 2 + 1, y, column - 2, CELL, each)),
    text(x(thread), y + CELL - 4, `label strong middle ${look}`, number),
  ];
}

/** @param {Ground} on @param {number} step @param {number} y @param {number[]} numbers */
const drawRow = (on, step, y, numbers, look = "ink") =>
  group(on.there(step, y, y + CELL), numbers.map((number, thread) => drawCell(on, thread, y, number, look)));

/** What the rows are called, those to come in grey. @param {Ground} on */
function drawNames({ wide, words, there }) {
  const barrier = (/** @type {string} */ wait) => (wide < 600 ? "barrier: wait" : `barrier: wait ${wait}`);
  const names = /** @type {[number, number, string, string][]} */ ([
    [0, QUERY, "query", "query"], [0, KEY, "key", "× key"], [1, PRODUCT, "ink", "= product"],
    ...SHUFFLED.map((y, i) => [2 + i, y, "ink", `shuffle, ${AWAY[i]} away`]),
    [4, MEMORY, "ink", "shared memory"], [4, MEMORY + BARRIER - CELL / 2, "ink", barrier("for both")], [5, MEMORY + READ, "rose", "= score"],
    [6, AGAIN, "ink", "shared memory"], [6, AGAIN + BARRIER - CELL / 2, "ink", barrier("again")], [6, AGAIN + READ, "rose", "read by all"],
  ]);
  return names.map(([step, y, look, name]) => text(0, y + CELL - 5, `${words} ${there(step, y, y + CELL) ? look : "soft"}`, name));
}

/** Each thread keeps its number, and hands it to its partner. @param {Ground} on @param {number} i @param {number[]} sums */
function drawShuffle(on, i, sums) {
  const [[from], to, step] = [BANDS[2 + i], SHUFFLED[i], 2 + i];
  const lines = (/** @type {number} */ away, /** @type {string} */ look) =>
    THREADS.map((thread) => drawLine(on, step, [on.x(thread), from], [on.x(partner(thread, away)), to], look));
  return [lines(0, "line thin"), lines(AWAY[i], "soft"), drawRow(on, step, to, sums)];
}

/** What the first threads write, and the barrier below it. @param {Ground} on @param {number} step @param {number} top @param {number[]} numbers */
function drawMemory(on, step, top, numbers, look = "ink") {
  const [{ left, right, x, there }, dashed] = [on, top + BARRIER];
  const memory = [
    rect(left, top, right - left, CELL, "paper"),
    numbers.map((number, i) => drawCell(on, FIRSTS[i], top, number, look)),
  ];
  return [
    numbers.map((_, i) => drawLine(on, step, [x(FIRSTS[i]), top + WRITE], [x(FIRSTS[i]), top])),
    group(there(step, top, top + CELL), memory),
    group(there(step, top, top + CELL) || TO_COME, path(`M${left} ${top}H${right}V${top + CELL}H${left}Z`, "ink thin")),
    group(there(step, top + CELL, dashed) || TO_COME, path(`M${left} ${dashed}H${right}`, "ink dashes thin")),
  ];
}

/** From cells of shared memory to who reads them. @param {Ground} on @param {number} step @param {number} top @param {number[]} from @param {number[]} to */
function drawRead(on, step, top, from, to) {
  const [{ x, there }, y] = [on, top + ACROSS];
  return [
    from.map((cell) => drawLine(on, step, [x(cell), top + CELL], [x(cell), y])),
    group(there(step, y - 1, y) || TO_COME, path(`M${x(0)} ${y}H${x(Math.max(...from, ...to))}`, "soft thin")),
    to.map((thread) => drawLine(on, step, [x(thread), y], [x(thread), top + READ])),
  ];
}

/** @param {State} state @param {unknown} _ @param {import("./frame.js").Canvas} canvas */
function picture(state, _, { width, elapsed }) {
  const { query, key, products, shuffled, sums, score } = compute(state);
  const draw = (/** @type {number} */ wide, /** @type {number} */ _, /** @type {boolean} */ paper) => {
    /** A step is drawn from top to bottom. @type {There} */
    const there = (step, from, to) => {
      const [top, foot] = BANDS[step];
      if (paper || step !== state.step || !step) return Number(paper || step <= state.step);
      return clamp(0, (top + (foot - top) * Math.min(1, elapsed / PACE) - from) / (to - from), 1);
    };
    /** @type {Ground} */
    const on = { ...columns(wide), there };
    const { x, column, right } = on;
    const small = ["drawn small: really", `${WARPS} warps of ${WARP}`]; // a sentence says it, but not on paper
    return [
      FIRSTS.map((first, warp) => [
        rect(x(first) - column / 2, 0, LANES * column, HEIGHT, "track"),
        text(x(first + LANES / 2) - column / 2, 14, `${on.words} ink strong middle`, `warp ${warp}`),
      ]),
      text(0, 31, `${on.words} soft`, "thread"),
      THREADS.map((thread) => text(x(thread), 31, `${on.words} soft middle`, thread)),
      paper ? small.map((words, i) => text(right + 16, 14 + 17 * i, "small soft", words)) : nothing,
      drawNames(on),
      drawRow(on, 0, QUERY, query, "query"),
      drawRow(on, 0, KEY, key, "key"),
      drawRow(on, 1, PRODUCT, products),
      shuffled.map((numbers, i) => drawShuffle(on, i, numbers)),
      drawMemory(on, 4, MEMORY, sums),
      drawRead(on, 5, MEMORY, FIRSTS, [0]),
      drawRow(on, 5, MEMORY + READ, [score], "rose"),
      drawMemory(on, 6, AGAIN, [score], "rose"),
      drawRead(on, 6, AGAIN, [0], THREADS),
      drawRow(on, 6, AGAIN + READ, THREADS.map(() => score), "rose"),
    ];
  };
  const known = [products, ...shuffled, sums, [score], THREADS.map(() => score)].slice(0, state.step);
  const told = known.map((row, i) => `${STEPS[i]}: ${row.join(" ")}.`);
  const label = `Two warps of four threads, with the query ${query.join(" ")} and the key ${key.join(" ")}. ${told.join(" ")}`;
  return stage(width, label, draw, [HEIGHT, HEIGHT]);
}

/** @param {State} state */
function says(state) {
  const { sums, score } = compute(state);
  return [
    `Drawn small: 2 warps of ${LANES} threads instead of ${WARPS} of ${WARP}. Each thread holds one number of the query and one of the key.`,
    "One step, and every thread has its product. Nobody needed anybody.",
    `Each thread hands its number to the one ${AWAY[0]} places away, and adds the one it gets.`,
    `Once more, with its neighbour. Now each thread has the sum of its warp: ${sums.join(" or ")}.`,
    `No shuffle leaves a warp. So threads ${FIRSTS.join(" and ")} write their sums into shared memory, and all wait at the barrier.`,
    `Warp 0 reads both and adds: ${sums.join(" + ")} = ${score}.`,
    `All have ${score}. Multiplying took 1 step, adding up ${STEPS.length - 1}. With ${WARPS} warps of ${WARP} it’s ${IN_WARPS} + ${OF_WARPS} shuffles, and ${IN_SHARED} for shared memory.`,
  ][state.step];
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "Adding up across threads", initial, picture, says,
  lastStep: () => STEPS.length,
  next: ({ step }) => STEPS[step],
  duration: ({ step }) => (step ? PACE : 0),
};

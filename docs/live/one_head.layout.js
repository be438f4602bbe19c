// Where things are in the picture of a kernel at work: memory on top, below it a bench for each program.
import { padded, LINES, WORDS } from "./one_head.model.js";
import { formatNumber } from "./controls.js";
import { path, rect, text } from "./strokes.js";

/** @typedef {import("./one_head.model.js").Step} Step */
/** @typedef {import("./one_head.model.js").Tensor} Tensor */
/** @typedef {ReturnType<typeof layout>} Layout */
/** @typedef {Layout["tables"][number]} Table */
/** @typedef {{x: number, y: number, width: number, height: number}} Cell */
/**
 * @typedef {{step: Step, before: Step, wrong: boolean, first: number, second: number, replay: boolean}} Frame what to
 *   draw: how far the step's first change is, and its second; replay: whether a whole program runs
 */

export const PROGRAMS = WORDS.q.length;
export const KEYS = WORDS.k.length;
export const DIM = WORDS.q[0].length;
export const PLACES = padded(KEYS);
export const HEIGHTS = /** @type {[number, number]} */ ([340, 450]); // in pixels, on a phone and elsewhere
export const WIDEST = 516; // as in the stylesheet
export const TINT = 0.2; // how much of its colour a number's ground has
export const READ = 0.42; // and while it's read

/** The tables in memory, and whose colour each has. @type {[Tensor, string, string, string][]} */
const TABLES = [
  ["q", "Q", "queries", "query"],
  ["k", "K", "keys", "key"],
  ["v", "V", "values", "value"],
  ["out", "O", "output", "ink"],
];
/** What a program has a place for on its bench. */
export const VECTORS = ["query", "key", "value", "output"];
/** One row of places, whose numbers become the next ones. */
export const ROWS = ["scores", "exponentials", "weights"];

/** Whose colour a register has. @param {string} register */
export const lookOf = (register) => (register === "output" ? "ink" : ROWS.includes(register) ? "rose" : register);
/** The row that a program has on its bench. @param {import("./one_head.model.js").Held} held */
export const rowOf = (held) => ROWS.findLast((name) => held[name]);
/** Whether the program has stored its row. @param {Step} step */
export const over = ({ moments }) => moments.some(({ line }) => line === LINES.store);
/**
 * Lines that need two changes: a product before its sum, a row that goes out before the rest is forgotten.
 * @param {import("./one_head.model.js").Moment} moment
 */
export const twice = ({ line }) => line === LINES.score || line === LINES.add || line === LINES.store;

/**
 * Above memory there is room for the loads of each row; what a program makes is on its bench from left to right.
 * @param {number} width @param {number} tall
 */
export function layout(width, tall) {
  const small = tall === HEIGHTS[0];
  const [tile, wide, cell, height, floor] = small ? [25, 34, 32, 20, 15] : [36, 50, 38, 26, 18];
  const [y, top, name] = small ? [74, 140, 34] : [92, 178, 90]; // the stylesheet has the benches' top, too
  const apart = (width - 3 * KEYS * tile - PROGRAMS * wide) / 3;
  const tables = TABLES.map(([tensor, letter, word, look], i) => {
    const size = { width: tensor === "out" ? wide : tile, height };
    return { tensor, letter, word, look, x: i * (KEYS * tile + apart), y, ...size };
  });
  const gap = (width - name - 3 * tile - PLACES * cell - wide) / 4;
  const row = name + 2 * (tile + gap);
  /** @type {Record<string, number>} */
  const places = { query: name, key: name + tile + gap, value: row + PLACES * cell + gap, output: width - wide };
  const bench = (/** @type {number} */ program) => top + ((program + 1) * (tall - top)) / PROGRAMS - 4;
  /** The place of a number. @param {number} program @param {string} register @param {number} i @returns {Cell} */
  const held = (program, register, i) => {
    const y = bench(program) - DIM * height;
    if (ROWS.includes(register)) return { x: row + i * cell, y, width: cell, height: DIM * height };
    return { x: places[register], y: y + i * height, width: register === "output" ? wide : tile, height };
  };
  return { small, width, tables, name, floor, gap, bench, held };
}

/**
 * Where a number is in memory: those of a row are one below the other.
 * @param {Table} table @param {number} i @returns {Cell}
 */
export const inMemory = ({ x, y, width, height }, i) => ({
  x: x + Math.floor(i / DIM) * width,
  y: y + (i % DIM) * height,
  width,
  height,
});
/** @param {Layout} at @param {Tensor} tensor */
export const tableOf = ({ tables }, tensor) => tables.find((table) => table.tensor === tensor) ?? tables[0];

/** @param {Cell} cell @param {number} number @param {string} look @param {number} [opacity] */
export const written = ({ x, y, width, height }, number, look, opacity) =>
  text(x + width / 2, y + height / 2 + 5.5, `cell middle ${look}`, formatNumber(number, 2), opacity);
/** @param {Cell} cell @param {string} look @param {number} [opacity] */
export const ground = ({ x, y, width, height }, look, opacity) => rect(x, y, width, height, look, opacity);
/** Around as many cells, one below the other. @param {Cell} cell @param {string} look @param {number} [cells] */
export const outline = ({ x, y, width, height }, look, cells = DIM) =>
  path(`M${x} ${y}h${width}v${cells * height}h${-width}z`, look);

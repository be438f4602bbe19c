// Memory in the picture of a kernel at work: its tables, and on each row a block for each load.
import { nothing, svg } from "lit-html";
import { output, range, right, visitors, WORDS } from "./one_head.model.js";
import { DIM, ground, inMemory, outline, over, READ, TINT, written } from "./one_head.layout.js";
import { group, rect, text } from "./strokes.js";

/** @typedef {import("./one_head.layout.js").Frame} Frame */
/** @typedef {import("./one_head.layout.js").Layout} Layout */
/** @typedef {import("./one_head.layout.js").Table} Table */

/**
 * The loads of a row, one block on the other, each with the number of its program; the last one may be new, and in the
 * end they are counted.
 * @param {number} x @param {Table} table @param {number[]} programs @param {boolean} fresh @param {Frame} now
 * @param {number} high how high a block is @param {number} most
 */
function drawLoads(x, { y, width, look }, programs, fresh, { wrong, first }, high, most) {
  const count = programs.length;
  return [
    programs.map((program, i) => {
      const [top, lit] = [y - 3 - (i + 1) * high, fresh && i === count - 1];
      const number = text(x, top + high / 2 + 4, `small middle ${lit ? "paper" : "ink"}`, program);
      const block = rect(x + 1.5 - width / 2, top, width - 3, high - 2, look, lit ? 1 : READ);
      return group(lit ? first : 1, block, wrong ? nothing : number);
    }),
    most ? text(x, y - 9 - count * high, `middle strong ${count === most ? "violet" : "soft"}`, `${count}×`) : nothing,
  ];
}

/**
 * @param {Table} table @param {Frame} now @param {Layout} at @param {number} most loads of a row, once the last program
 *   is done
 */
export function drawTable(table, now, at, most) {
  const { step, before, wrong, first } = now;
  const { tensor, letter, word, look, x, y, width, height } = table;
  const stored = tensor === "out";
  const touched = step.moments.flatMap(({ touch }) => (touch?.tensor === tensor ? touch.places : []));
  const lit = stored && first < 1 ? [] : touched; // what is stored has yet to arrive
  const numbers = stored ? output(WORDS, touched.length > lit.length ? before : step) : WORDS[tensor].flat();
  const missed = (/** @type {number} */ i, /** @type {number} */ number) =>
    stored && Math.abs(number - right(WORDS, Math.floor(i / DIM))[i % DIM]) > 5e-3;
  const loads = range(numbers.length / DIM).map((row) => (stored ? [] : visitors(step, tensor, row, DIM)));
  const high = wrong ? at.floor / 2 : at.floor; // a wrong address may lead twice to the same row
  const [middle, stack] = [x + (loads.length * width) / 2, high * Math.max(...loads.map(({ length }) => length))];
  const named = svg`<tspan class="strong ${look}">${letter}</tspan> ${word}`;
  const own = { x: x + step.program * width - 3, y: y - 3, width: width + 6, height: height + 3 };
  return [
    text(middle, y + DIM * height + 20, "middle small soft halo", named),
    stored ? text(at.width, y - 12, "small end soft", "memory") : nothing,
    stored || most ? nothing : text(middle, y - 12 - stack, "middle hidden soft", "?"),
    loads.map((programs, row) => {
      const cell = inMemory(table, row * DIM);
      const empty = numbers[row * DIM] === null;
      const fresh = touched.some((i) => Math.floor(i / DIM) === row);
      return [
        empty ? nothing : rect(cell.x, y, width, DIM * height, look, TINT),
        outline(cell, empty ? "thin soft dots" : `thin ${look}`),
        stored ? nothing : drawLoads(cell.x + width / 2, table, programs, fresh, now, high, most),
      ];
    }),
    lit.map((i) => ground(inMemory(table, i), look)),
    numbers.map((number, i) => {
      if (number === null) return nothing;
      const look = `${lit.includes(i) ? "paper strong" : "ink"} ${missed(i, number) ? "wrong" : ""}`;
      return written(inMemory(table, i), number, look);
    }),
    step.held.own && !over(step) && (stored || tensor === "q") ? outline(own, stored ? "thin ink dashes" : "ink") : nothing,
  ];
}

// A program at its bench, in the picture of a kernel at work: what it has in registers.
import { nothing } from "lit-html";
import { range, run, WORDS } from "./one_head.model.js";
import {
  DIM, ground, lookOf, outline, over, PLACES, READ, rowOf, TINT, twice, VECTORS, written,
} from "./one_head.layout.js";
import { group, path, rect, text } from "./strokes.js";

/** @typedef {import("./one_head.layout.js").Frame} Frame */
/** @typedef {import("./one_head.layout.js").Layout} Layout */

const GONE = 0.25; // how much is left to see of what a program has forgotten
/** What stands before a register. */
const SIGNS = Object.entries({ key: "·", scores: "→", value: "×", output: "→" });

/**
 * A vector on the bench: it isn't there until the program has made it.
 * @param {number} program @param {string} register @param {Frame} now @param {Layout} at
 */
function drawVector(program, register, { step, before, first, second }, at) {
  const [now, look] = [step.held[register], lookOf(register)];
  const old = before.program === step.program ? before.held[register] : undefined;
  const writing = step.moments.find(({ writes }) => writes.includes(register));
  const read = step.moments.some(({ reads }) => reads.includes(register));
  const made = !writing ? 1 : writing.touch ? Number(first === 1) : twice(writing) ? second : first;
  const cells = range(DIM).map((i) => at.held(program, register, i));
  const solid = writing?.touch && made;
  return [
    group(
      old ? 1 : made,
      outline(cells[0], `thin ${look}`),
      cells.map((cell) => ground(cell, look, solid ? 1 : writing || read ? READ : TINT)),
    ),
    cells.map((cell, i) => [
      written(cell, now[i], solid ? "paper strong" : "ink", made),
      old ? written(cell, old[i], "ink", 1 - made) : nothing,
    ]),
  ];
}

/**
 * The row of scores, which becomes the row of weights: places filled as high as their numbers, and never written to
 * memory.
 * @param {number} program @param {Frame} now @param {Layout} at
 */
function drawRow(program, { step, before, first, second }, at) {
  const name = rowOf(step.held);
  if (!name) return nothing;
  const earlier = before.program === step.program ? rowOf(before.held) : undefined;
  const writing = step.moments.find(({ writes }) => writes.includes(name));
  const made = writing ? (twice(writing) ? second : first) : 1;
  const full = (/** @type {string} */ name, /** @type {number} */ x) => Math.max(0, x) / (name === "scores" ? DIM : 1);
  return step.held[name].map((number, i) => {
    const cell = at.held(program, name, i);
    const old = earlier ? before.held[earlier][i] : number;
    const [to, from] = [full(name, number), earlier ? full(earlier, old) : 0];
    const high = (from + (to - from) * made) * cell.height;
    const same = earlier && old === number;
    return [
      ground(cell, "paper"),
      rect(cell.x, cell.y + cell.height - high, cell.width, high, "rose-fill", 0.45),
      group(earlier ? 1 : made, outline(cell, "thin rose dashes", 1)),
      written(cell, number, "ink", same ? 1 : made),
      same ? nothing : written(cell, old, "ink", 1 - made),
    ];
  });
}

/**
 * What stands above the registers and between them.
 * @param {number} program @param {Frame} now @param {Layout} at
 */
function drawNames(program, { step: { held } }, at) {
  const row = rowOf(held);
  const names = [...VECTORS, row ?? ""].filter((name) => held[name]);
  const middle = at.bench(program) - at.held(program, "key", 1).height + 5;
  return [
    names.map((name) => {
      const { x, y, width } = at.held(program, name, 0);
      const wide = name === row ? PLACES * width : width;
      return text(x + wide / 2, y - 6, `small middle ${lookOf(name)}`, name);
    }),
    SIGNS.filter(([name]) => held[name] && (held.key || name !== "scores")).map(([name, sign]) =>
      text(at.held(program, name, 0).x - at.gap / 2, middle, "middle soft", sign),
    ),
  ];
}

/**
 * What a program that is done had made has faded.
 * @param {number} program @param {Frame} now @param {Layout} at @param {boolean} paper
 */
export function drawBench(program, now, at, paper) {
  const { step, second, wrong } = now;
  const here = program === step.program && !over(step);
  const line = path(`M${at.name - 8} ${at.bench(program) + 1}H${at.width}`, here ? "ink" : "line thin");
  if (program > step.program) return line;
  const ended = { ...step, program, moments: [], held: run(WORDS, program, wrong).slice(-1)[0].held };
  const seen = program < step.program ? { ...now, step: ended, before: ended } : now;
  const kept = paper || here ? 1 : program < step.program ? GONE : 1 - (1 - GONE) * second;
  const vectors = VECTORS.filter((name) => seen.step.held[name]);
  const low = at.bench(program) - 8;
  return [
    line,
    vectors.map((name) => range(DIM).map((i) => ground(at.held(program, name, i), "paper"))),
    group(
      kept,
      vectors.map((name) => drawVector(program, name, seen, at)),
      drawRow(program, seen, at),
    ),
    here && !step.held.output ? text(at.width, low, "small end soft", "registers") : nothing,
    (paper ? !program : here) ? drawNames(program, seen, at) : nothing,
    paper ? text(0, low, "small soft", `program ${program}`) : nothing,
  ];
}

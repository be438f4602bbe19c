// What the picture of a kernel at work shows: memory, with a block on a row for each load, and below it a bench for each
// program, large for the one that runs.
import { nothing, svg } from "lit-html";
import { isDone, LINES, output, padded, range, right, visitors, WORDS } from "./one_head.model.js";
import { formatNumber } from "./controls.js";
import { clamp, group, path, rect, text } from "./strokes.js";

/** @typedef {import("./one_head.model.js").Step} Step */
/** @typedef {import("./one_head.model.js").Tensor} Tensor */
/** @typedef {ReturnType<typeof layout>} Layout */
/** @typedef {Layout["tables"][number]} Table */
/** @typedef {{x: number, y: number, width: number, height: number}} Cell */
/** @typedef {{step: Step, before: Step, wrong: boolean, first: number, second: number}} Frame first, second: how far a line's changes are */

export const PROGRAMS = WORDS.q.length;
const [KEYS, DIM] = [WORDS.k.length, WORDS.q[0].length];
const PLACES = padded(KEYS);
// In pixels, as in the stylesheet: the heights, on a phone and elsewhere; the width that puts the listing beside the
// benches, its least and its most, and what it leaves to them first.
export const HEIGHTS = /** @type {[number, number]} */ ([352, 426]);
const [BESIDE, LEAST, MOST, BENCH] = [900, 408, 446, 520];
const [FLOOR, PILE] = [15, 4.1]; // how high a block of a pile is, and how many fit below the tables’ names, with their count
const GROUND_ALPHA = 0.2; // how much of its colour a number's ground has
const READ_ALPHA = 0.42; // and while it's read
const LEFT_ALPHA = 0.4; // how much is left to see of the registers of a program that has ended

/** The tables in memory, and whose colour each has. @type {[Tensor, string, string, string][]} */
const TABLES = [
  ["q", "Q", "queries", "query"],
  ["k", "K", "keys", "key"],
  ["v", "V", "values", "value"],
  ["out", "O", "output", "ink"],
];
const VECTORS = ["query", "key", "value", "output"]; // what a program has a place for on its bench
const ROWS = ["scores", "exponentials", "weights"]; // one row of places, whose numbers become the next ones

export const lookOf = (/** @type {string} */ name) => (name === "output" ? "ink" : ROWS.includes(name) ? "rose" : name);
const rowOf = (/** @type {Step["held"]} */ held) => ROWS.findLast((name) => held[name]);
/** Lines that need two changes: a product before its sum. @param {import("./one_head.model.js").Moment} moment */
const needsTwoChanges = ({ line }) => line === LINES.select || line === LINES.add;

/** Whether the last program is done. @param {Frame} now */
const isOver = ({ step, second }) => isDone(step, PROGRAMS - 1) && second === 1;

/** How many blocks are abreast: a wrong program loads a key up to twice. @param {Frame} now @param {Tensor} tensor */
const abreastIn = ({ wrong }, tensor) => (wrong && tensor === "k" ? 2 : 1);
/** Above memory there is room for its piles. @param {number} width @param {number} tall @param {number} open @param {boolean} paper */
function layout(width, tall, open, paper) {
  const small = tall === HEIGHTS[0];
  const [y, top, name, thin, large, height] = small ? [86, 134, 0, 44, 40, 20] : [92, 166, 94, 48, 44, 32];
  const [left, end] = width < BESIDE ? [0, width] : [name, width - clamp(LEAST, width - BENCH, MOST)];
  const [column, wide] = small ? [width / 16, width / 9.8] : [left ? 48 : 42, 56];
  const apart = (width - left - 3 * KEYS * column - PROGRAMS * wide) / 3;
  const tables = TABLES.map(([tensor, letter, word, look], i) => ({
    tensor, letter, word, look, x: left + i * (KEYS * column + apart), y, width: tensor === "out" ? wide : column, height,
  }));
  const room = end - name;
  const [tile, cell, last] = [room * 0.087, Math.min(room * 0.115, room * 0.155 - 14), room * 0.12];
  const gap = (room - 3 * tile - PLACES * cell - last) / 4;
  const row = name + 2 * (tile + gap);
  /** @type {Record<string, number>} */
  const places = { query: name, key: name + tile + gap, value: row + PLACES * cell + gap, output: end - last };
  const each = paper ? (tall - top) / PROGRAMS : thin;
  const bench = (/** @type {number} */ program) => (program < open ? top : tall - PROGRAMS * each) + (program + 1) * each - 4;
  /** The place of a number. @param {number} program @param {string} register @param {number} i @returns {Cell} */
  const held = (program, register, i) => {
    const height = paper ? 28 : program === open ? large : 18;
    const y = bench(program) - DIM * height;
    if (ROWS.includes(register)) return { x: row + i * cell, y, width: cell, height: DIM * height };
    return { x: places[register], y: y + i * height, width: register === "output" ? last : tile, height };
  };
  return { small, left, end, tables, name, aside: small ? row : name, gap, bench, held };
}

/** Where a number is in memory. @param {Table} table @param {number} i */
const inMemory = ({ x, y, width, height }, i) => ({ x: x + Math.floor(i / DIM) * width, y: y + (i % DIM) * height, width, height });

/** The middle of a place in a row. @param {Cell} cell */
const amid = (cell) => ({ ...cell, y: cell.y + cell.height / 4, height: cell.height / 2 });
/** @param {Cell} cell @param {number} number @param {string} look @param {number} [opacity] */
function written({ x, y, width, height }, number, look, opacity) {
  const size = height < 20 ? "small" : height > 36 ? "large" : "cell";
  return text(x + width / 2, y + height / 2 + 4.5 + height / 20, `${size} middle ${look}`, formatNumber(number, 2), opacity);
}
/** @param {Cell} cell @param {string} look @param {number} [opacity] */
const ground = ({ x, y, width, height }, look, opacity) => rect(x, y, width, height, look, opacity);
/** Around as many cells, one below the other. @param {Cell} cell @param {string} look @param {number} [cells] */
const outline = ({ x, y, width, height }, look, cells = DIM) => path(`M${x} ${y}h${width}v${cells * height}h${-width}z`, look);

const SIGNS = Object.entries({ key: "·", scores: "→", value: "×", output: "→" }); // each before a register

/**
 * The loads of a row, one block on the other, each with the number of its program; in the end they are counted.
 * @param {Cell} cell @param {Table} table @param {number[]} programs @param {boolean} fresh @param {Frame} now
 */
function drawLoads({ x, y, width }, { tensor, look }, programs, fresh, now) {
  const [abreast, count] = [abreastIn(now, tensor), programs.length];
  const [wide, high] = [(width - 2) / abreast, FLOOR - 2];
  const above = (/** @type {number} */ floors) => y - 3 - (floors + 1) * FLOOR;
  return [
    programs.map((program, i) => {
      const [left, up, lit] = [x + 1 + (i % abreast) * wide, above(Math.floor(i / abreast)), fresh && i === count - 1];
      const number = text(left + wide / 2, up + FLOOR / 2 + 4, `small middle ${lit ? "paper" : "ink"}`, program);
      return group(lit ? now.first : 1, rect(left + 0.5, up, wide - 1, high, look, lit ? 1 : READ_ALPHA), number);
    }),
    isOver(now) ? text(x + width / 2, above(Math.ceil(count / abreast) - 1) - 6, "cell middle strong ink", `${count}×`) : nothing,
  ];
}

/** @param {Table} table @param {Frame} now @param {Layout} at */
function drawTable(table, now, at) {
  const { step, before, first } = now;
  const { tensor, letter, word, look, x, y, width, height } = table;
  const stored = tensor === "out";
  const touched = step.moments.flatMap(({ touch }) => (touch?.tensor === tensor ? touch.places : []));
  const lit = stored && first < 1 ? [] : touched; // what is stored has yet to arrive
  const numbers = stored ? output(WORDS, touched.length > lit.length ? before : step) : WORDS[tensor].flat();
  const loads = range(numbers.length / DIM).map((row) => (stored ? [] : visitors(step, tensor, row, DIM)));
  const named = svg`<tspan class="strong ${look}">${letter}</tspan> ${word}`;
  return [
    text(Math.max(x + (loads.length * width) / 2, 28), y - 12 - PILE * FLOOR, "middle cell soft", named),
    loads.map((programs, row) => {
      const cell = inMemory(table, row * DIM);
      const empty = numbers[row * DIM] === null;
      const fresh = Math.floor(touched[0] / DIM) === row;
      return [
        empty ? nothing : rect(cell.x, y, width, DIM * height, look, GROUND_ALPHA),
        outline(cell, empty ? "thin soft dots" : `thin ${look}`),
        stored ? nothing : drawLoads(cell, table, programs, fresh, now),
      ];
    }),
    lit.map((i) => ground(inMemory(table, i), look)),
    numbers.map((number, i) => {
      if (number === null) return nothing;
      const missed = stored && Math.abs(number - right(WORDS, Math.floor(i / DIM))[i % DIM]) > 5e-3;
      return written(inMemory(table, i), number, `${lit.includes(i) ? "paper strong" : "ink"} ${missed ? "wrong" : ""}`);
    }),
  ];
}

/** A vector on the bench. @param {number} program @param {string} register @param {Frame} now @param {Layout} at */
function drawVector(program, register, { step, before, first, second }, at) {
  const [now, look] = [step.held[register], lookOf(register)];
  const old = before.at[program]?.held[register];
  const writing = step.moments.find(({ writes }) => writes.includes(register));
  const read = step.moments.some(({ reads }) => reads.includes(register));
  const made = !writing ? 1 : writing.touch ? Number(first === 1) : needsTwoChanges(writing) ? second : first;
  const cells = range(DIM).map((i) => at.held(program, register, i));
  const solid = writing?.touch && made;
  return [
    group(
      old ? 1 : made,
      outline(cells[0], `thin ${look}`),
      cells.map((cell) => ground(cell, look, solid ? 1 : writing || read ? READ_ALPHA : GROUND_ALPHA)),
    ),
    cells.map((cell, i) =>
      old && made < 0.5 ? written(cell, old[i], "ink") : written(cell, now[i], solid ? "paper strong" : "ink", made),
    ),
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
  const old = before.at[program]?.held ?? {};
  const earlier = rowOf(old);
  const writing = step.moments.find(({ writes }) => writes.includes(name));
  const made = writing ? (needsTwoChanges(writing) ? second : first) : 1;
  const full = (/** @type {string} */ name, /** @type {number} */ x) => Math.max(0, x) / (name === "scores" ? DIM : 1);
  return step.held[name].map((number, i) => {
    const cell = at.held(program, name, i);
    const last = earlier ? old[earlier][i] : number;
    const from = earlier ? full(earlier, last) : 0;
    const high = (from + (full(name, number) - from) * made) * cell.height;
    return [
      ground(cell, "rose-fill", writing ? GROUND_ALPHA : 0), // all of its places are made anew
      rect(cell.x, cell.y + cell.height - high, cell.width, high, "rose-fill", 0.45),
      group(earlier ? 1 : made, outline(cell, "thin rose dashes", 1)),
      written(amid(cell), made < 0.5 ? last : number, "ink"),
    ];
  });
}

/** No line asks for these any more, once the row is whole. @param {Step["held"]} held @param {string} name */
const isForgotten = (held, name) => Boolean(held.exponentials) && (name === "query" || name === "key");

/** What is above the registers and between them. @param {number} program @param {Frame} now @param {Layout} at */
function drawNames(program, { step: { held } }, at) {
  const row = rowOf(held);
  const middle = at.held(program, "key", 1).y + 5;
  return [
    [...VECTORS, row ?? ""].filter((name) => held[name]).map((name) => {
      const { x, y, width } = at.held(program, name, 0);
      const wide = ROWS.includes(name) ? PLACES * width : width;
      return text(clamp(18, x + wide / 2, at.end - 21), y - 6, `small middle ${lookOf(name)}`, name, isForgotten(held, name) ? LEFT_ALPHA : 1);
    }),
    SIGNS.filter(([name]) => held[name] && (name === "key" || name === "scores" ? held.key && !held.exponentials : true)).map(([name, sign]) =>
      text(at.held(program, name, 0).x - at.gap / 2, middle, "cell middle soft", sign),
    ),
  ];
}

/** What a program has on its bench, or had when it ended. @param {number} program @param {Frame} now @returns {Frame} */
function seenAt(program, now) {
  const moment = now.step.at[program];
  if (program === now.step.program) return now;
  const step = { ...now.step, program, moments: moment ? [moment] : [], held: moment?.held ?? {} };
  return { ...now, step, before: step, first: 1, second: 1 };
}

/** What is forgotten is pale. @param {number} program @param {Frame} now @param {Layout} at @param {boolean} paper */
function drawBench(program, now, at, paper) {
  const seen = seenAt(program, now);
  const { step, second } = seen;
  const [done, open] = [isDone(step, program), paper || program === now.step.program];
  const cell = { ...at.held(program, "query", 0), x: open ? at.name : at.aside };
  const vectors = VECTORS.filter((name) => step.held[name] && (open || !isForgotten(step.held, name)));
  return [
    path(`M${at.name - 8} ${at.bench(program) + 1}H${at.end}`, done || !step.moments.length ? "line thin" : "ink"),
    done || step.held.query ? nothing : [
      outline(cell, "thin soft dots"),
      text(cell.x + cell.width + 8, cell.y + cell.height + 5, "small soft", `query ${program}`),
    ],
    paper ? nothing : drawWires(seen, at),
    group(
      paper || !done ? 1 : 1 - (1 - LEFT_ALPHA) * second,
      vectors.map((name) => group(isForgotten(step.held, name) ? LEFT_ALPHA : 1, drawVector(program, name, seen, at))),
      drawRow(program, seen, at),
      open ? drawNames(program, seen, at) : nothing,
    ),
    paper ? text(0, at.bench(program) - 8, "small soft", `program ${program}`) : nothing,
  ];
}

/**
 * Along memory, and up or down at the bench, so that it crosses no listing.
 * @param {Cell} from @param {Cell} to @param {number} part of its way @param {number} number @param {string} look
 */
function flying(from, to, part, number, look) {
  const turns = [clamp(0, 2 * part, 1), clamp(0, 2 * part - 1, 1)];
  const [across, along] = from.y === to.y ? [part, part] : from.y < to.y ? turns : turns.reverse();
  const at = (/** @type {keyof Cell} */ side, part = along) => from[side] + (to[side] - from[side]) * part;
  const here = { x: at("x", across), y: at("y"), width: at("width"), height: at("height") };
  return [ground(here, look), written(here, number, look === "rose-fill" ? "ink" : "paper")];
}

/** The numbers on their way. @param {Frame} now @param {Layout} at */
function drawWay({ step, first, second }, at) {
  const moment = step.moments.at(-1);
  if (!moment) return nothing;
  const { line, turn, touch, held } = moment;
  const here = (/** @type {string} */ register, i = 0) => at.held(step.program, register, i);
  const place = amid(here("scores", turn));
  if (line === LINES.select && first === 1 && second < 1)
    return flying({ ...here("key"), y: place.y }, place, second, held.scores[turn], "rose-fill");
  if (line === LINES.add && first < 1)
    return flying(place, { ...here("value"), y: place.y }, first, held.weights[turn], "rose-fill");
  if (!touch || first === 1) return nothing;
  const [table] = at.tables.filter(({ tensor }) => tensor === touch.tensor);
  return touch.numbers.map((number, c) => {
    const ends = [inMemory(table, touch.places[c]), here(touch.register, c)];
    const [from, to] = touch.tensor === "out" ? ends.reverse() : ends;
    return flying(from, to, first, number, table.look);
  });
}

/** From memory to the bench, above the names of its registers; or back, and then it fades. @param {Frame} now @param {Layout} at */
function drawWires({ step, second }, at) {
  const { touch } = step.moments.at(-1) ?? {};
  if (!touch || at.small) return nothing;
  const [table] = at.tables.filter(({ tensor }) => tensor === touch.tensor);
  const place = at.held(step.program, touch.register, 0);
  const [stored, x, y, toY] = [touch.tensor === "out", place.x - Math.min(12, at.gap - 3), place.y + 12, table.y + DIM * table.height];
  const [load, store] = stored ? ["", "m-4 7l4-7 4 7"] : ["m-6-4l6 4-6 4m6-4", ""]; // the head of the arrow
  const wires = touch.places.map((i) => {
    const toX = inMemory(table, i).x + table.width / 2;
    return path(`M${place.x - 1} ${y}${load}H${x}V${toY + 11}H${toX}V${toY + 1}${store}`, table.look);
  });
  return group(stored ? 1 - second : 1, wires);
}

/** @param {Frame} now @param {number} width @param {number} height @param {boolean} paper */
export function draw(now, width, height, paper) {
  const at = layout(width, height, now.step.program, paper);
  return [
    at.left ? [text(0, 85, "small soft", "loaded by"), text(0, 150, "small soft", "memory")] : nothing,
    at.small ? nothing : text(0, at.held(paper ? 0 : now.step.program, "key", 0).y - 6, "small soft", "registers"),
    range(PROGRAMS).map((program) => drawBench(program, now, at, paper)),
    at.tables.map((table) => drawTable(table, now, at)),
    drawWay(now, at),
  ];
}

// A kernel at work: memory, three programs that visit it, each at its bench, and the lines that they run.
import { html, nothing, svg } from "lit-html";
import { launch, LINES, output, padded, programStep, range, right, run, visitors, WORDS } from "./one_head.model.js";
import { listing } from "./one_head.listing.js";
import { says } from "./one_head.sentences.js";
import { checkbox, shown, vector } from "./controls.js";
import { group, path, rect, stage, text } from "./strokes.js";

const start = { wrong: false, slowly: false, step: 0 };
const [BEAT, LINE] = [400, 70]; // milliseconds of a change, and of a line when a whole program runs
const [TINT, READ, GONE] = [0.16, 0.4, 0.25]; // how much is left of a colour: at rest, while it's read, when all is done

/** @typedef {typeof start} State */
/** @typedef {import("./one_head.model.js").Step} Step */
/** @typedef {import("./one_head.model.js").Tensor} Tensor */
/** @typedef {ReturnType<typeof layout>} Layout */
/** @typedef {ReturnType<typeof frame>} Frame */
/** @typedef {Layout["tables"][number]} Table */
/** @typedef {{x: number, y: number, width: number, height: number}} Cell */

const [PROGRAMS, KEYS, DIM] = [WORDS.q.length, WORDS.k.length, WORDS.q[0].length];
const PLACES = padded(KEYS);
const [LOW, HIGH, WIDEST] = [340, 450, 516]; // pixels of the drawing: how high on a phone, and elsewhere, and how wide

const LAUNCH = `one_head_kernel[(${PROGRAMS},)](q, k, v, out, ${WORDS.scale.toFixed(1)}, ${KEYS}, HEAD_DIM=${DIM}, ROW=${PLACES})`;

/** The tables in memory, and whose colour each has. @type {[Tensor, string, string, string][]} */
const TABLES = [["q", "Q", "queries", "query"], ["k", "K", "keys", "key"], ["v", "V", "values", "value"], ["out", "O", "output", "ink"]];
/** What a program has a place for on its bench. */
const VECTORS = ["query", "key", "value", "output"];
/** One row of places, whose numbers become the next ones. */
const ROWS = ["scores", "exponentials", "weights"];
const lookOf = (/** @type {string} */ register) => (register === "output" ? "ink" : register);

/** @param {Omit<State, "step">} state */
const all = ({ wrong, slowly }) => launch(WORDS, wrong, slowly);
/** @param {Omit<State, "step">} state */
const last = (state) => all(state).length - 1;
/** The step that ends a program. @param {number} program @param {Omit<State, "step">} state */
const end = (program, state) => all(state).map((step) => step.program).lastIndexOf(program);
/**
 * Lines that need two changes: a product before its sum, a row that goes out before the rest is forgotten.
 * @param {import("./one_head.model.js").Moment} moment
 */
const twice = ({ line }) => line === LINES.score || line === LINES.add || line === LINES.store;
/** How far a change is; it slows down to its end. @param {number} elapsed */
const eased = (elapsed) => 1 - (1 - Math.min(1, Math.max(0, elapsed / BEAT))) ** 3;

/**
 * What to draw so many milliseconds into a step; numbers arrive first, and what is made of them follows. A whole
 * program shows its lines.
 * @param {State} state @param {number} [elapsed]
 */
function frame(state, elapsed = Infinity) {
  const steps = all(state);
  const { wrong } = state;
  const [step, before] = [steps[state.step], steps[Math.max(0, state.step - 1)]];
  if (step.all && elapsed < Infinity) {
    const sofar = programStep(before, step.program, step.all.slice(0, 1 + Math.floor(elapsed / LINE)));
    return { step: sofar, before, wrong, first: 1, second: 1, replay: true };
  }
  return { step, before, wrong, first: eased(elapsed), second: eased(elapsed - BEAT), replay: false };
}

/** Whether the program has stored its row. @param {Step} step */
const over = ({ moments }) => moments.some(({ line }) => line === LINES.store);

/**
 * Memory on top, with room for the loads of each row; below it the benches, and on each of them, from left to right,
 * what a program makes.
 * @param {number} width @param {number} tall
 */
function layout(width, tall) {
  const small = tall === LOW;
  const [tile, wide, cell, height, floor] = small ? [25, 34, 32, 20, 15] : [36, 50, 38, 26, 18];
  const [y, top, name] = small ? [74, 140, 34] : [92, 178, 90];
  const apart = (width - 3 * KEYS * tile - PROGRAMS * wide) / 3;
  const tables = TABLES.map(([tensor, letter, word, look], i) => ({
    tensor, letter, word, look, x: i * (KEYS * tile + apart), y, width: tensor === "out" ? wide : tile, height,
  }));
  const lane = (tall - top) / PROGRAMS;
  const gap = (width - name - 3 * tile - PLACES * cell - wide) / 4;
  const bench = (/** @type {number} */ program) => top + (program + 1) * lane - 4;
  const row = name + 2 * (tile + gap);
  /** @type {Record<string, number>} */
  const places = { query: name, key: name + tile + gap, value: row + PLACES * cell + gap, output: width - wide };
  /** @param {number} program @param {string} register @param {number} i @returns {Cell} the place of a number */
  const held = (program, register, i) =>
    ROWS.includes(register)
      ? { x: row + i * cell, y: bench(program) - 2 * height, width: cell, height: 2 * height }
      : {
          x: places[register],
          y: bench(program) - (DIM - i) * height,
          width: register === "output" ? wide : tile,
          height,
        };
  return { small, width, tables, name, floor, lane, gap, bench, held };
}

/** Where a number is in memory: a row's numbers are one below the other. @param {Table} table @param {number} i @returns {Cell} */
const inMemory = ({ x, y, width, height }, i) => ({
  x: x + Math.floor(i / DIM) * width, y: y + (i % DIM) * height, width, height,
});

/** @param {Cell} cell @param {number} number @param {string} look @param {number} [opacity] */
const written = ({ x, y, width, height }, number, look, opacity) =>
  text(x + width / 2, y + height / 2 + 5.5, `cell middle ${look}`, shown(number, 2), opacity);
/** @param {Cell} cell @param {string} look @param {number} [opacity] */
const ground = ({ x, y, width, height }, look, opacity) => rect(x, y, width, height, look, opacity);
/** Around as many cells, one below the other. @param {Cell} cell @param {string} look @param {number} [cells] */
const outline = ({ x, y, width, height }, look, cells = DIM) =>
  path(`M${x} ${y}h${width}v${cells * height}h${-width}z`, look);

/** A number on its way, part of it done. @param {Cell} from @param {Cell} to @param {number} part @param {number} number @param {string} look */
function flying(from, to, part, number, look) {
  const between = (/** @type {keyof Cell} */ key) => from[key] + (to[key] - from[key]) * part;
  const here = { x: between("x"), y: between("y"), width: between("width"), height: between("height") };
  return [ground(here, look), written(here, number, look === "rose-fill" ? "ink" : "paper")];
}

/**
 * The loads of a row, one block on the other, each with the number of its program; the last one is new, and in the end
 * they are counted.
 * @param {Table} table @param {number} row @param {Frame} now @param {Layout} at @param {number} most
 */
function drawLoads(table, row, { step, wrong, first }, { floor }, most) {
  const { tensor, look, x, y, width } = table;
  const visits = visitors(step, tensor, row, DIM);
  const fresh = step.moments.some(({ touch }) => touch?.tensor === tensor && touch.places.some((i) => Math.floor(i / DIM) === row));
  const high = wrong ? floor / 2 : floor; // a wrong address may lead twice to the same row
  return [
    visits.map((program, i) => {
      const [top, lit] = [y - 3 - (i + 1) * high, fresh && i === visits.length - 1];
      return group(
        lit ? first : 1,
        rect(x + 1.5, top, width - 3, high - 2, look, lit ? 1 : READ),
        wrong ? nothing : text(x + width / 2, top + high / 2 + 4, `small middle ${lit ? "paper" : "ink"}`, program),
      );
    }),
    most
      ? text(x + width / 2, y - 9 - visits.length * high, `middle strong ${visits.length === most ? "violet" : "soft"}`, `${visits.length}×`)
      : nothing,
  ];
}

/**
 * @param {Table} table @param {Frame} now @param {Layout} at @param {number} most loads of a row, once the last program
 *   is done
 */
function drawTable(table, now, at, most) {
  const { step, before, wrong, first } = now;
  const { tensor, letter, word, look, x, y, width, height } = table;
  const stored = tensor === "out";
  const touched = step.moments.flatMap(({ touch }) => (touch?.tensor === tensor ? touch.places : []));
  const lit = stored && first < 1 ? [] : touched; // what is stored has yet to arrive
  const numbers = stored ? output(WORDS, touched.length > lit.length ? before : step) : WORDS[tensor].flat();
  const missed = (/** @type {number} */ i, /** @type {number} */ number) =>
    stored && Math.abs(number - right(WORDS, Math.floor(i / DIM))[i % DIM]) > 5e-3;
  const rows = range(numbers.length / DIM);
  const stack = Math.max(...rows.map((row) => visitors(step, tensor, row, DIM).length)) * (wrong ? at.floor / 2 : at.floor);
  return [
    stored ? text(at.width, y - 12, "small end soft", "memory") : nothing,
    text(x + (rows.length * width) / 2, y + DIM * height + 20, "middle small soft halo", svg`<tspan class="strong ${look}">${letter}</tspan> ${word}`),
    stored || most ? nothing : text(x + (rows.length * width) / 2, y - 12 - stack, "middle hidden soft", "?"),
    rows.map((row) => {
      const cell = inMemory(table, row * DIM);
      const empty = numbers[row * DIM] === null;
      return [
        empty ? nothing : rect(cell.x, y, width, DIM * height, look, TINT),
        outline(cell, empty ? "thin soft dots" : `thin ${look}`),
        stored ? nothing : drawLoads(inRow(table, cell), row, now, at, most),
      ];
    }),
    lit.map((i) => ground(inMemory(table, i), look)),
    numbers.map((number, i) => {
      if (number === null) return nothing;
      const look = `${lit.includes(i) ? "paper strong" : "ink"} ${missed(i, number) ? "wrong" : ""}`;
      return written(inMemory(table, i), number, look);
    }),
    (stored || tensor === "q") && step.held.own && !over(step)
      ? outline({ x: x + step.program * width - 3, y: y - 3, width: width + 6, height: height + 3 }, "ink")
      : nothing,
  ];
}

/** @param {Table} table @param {Cell} cell */
const inRow = (table, { x }) => ({ ...table, x });

/**
 * A vector on the bench: it isn't there until the program has made it.
 * @param {number} program @param {string} register @param {Frame} now @param {Layout} at
 */
function drawVector(program, register, { step, before, first, second }, at) {
  const [now, look] = [step.held[register], lookOf(register)];
  if (!now) return nothing;
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
  const name = ROWS.findLast((name) => step.held[name]);
  if (!name) return nothing;
  const earlier = before.program === step.program ? ROWS.findLast((name) => before.held[name]) : undefined;
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
 * What stands above the vectors and between them.
 * @param {number} program @param {Frame} now @param {Layout} at
 */
function drawNames(program, { step: { held } }, at) {
  const row = ROWS.findLast((name) => held[name]) ?? "";
  const names = [...VECTORS, row].filter((name) => held[name]);
  const signs = { key: "·", scores: "→", value: "×", output: "→" };
  return [
    names.map((name) => {
      const { x, y, width } = at.held(program, name, 0);
      const middle = x + (width * (name === row ? PLACES : 1)) / 2;
      return text(middle, y - 6, `small middle ${name === row ? "rose" : lookOf(name)}`, name);
    }),
    Object.entries(signs).map(([name, sign]) => {
      const { x } = at.held(program, name, 0);
      const there = name === "scores" ? held.key && row : held[name];
      return there ? text(x - at.gap / 2, at.bench(program) - at.held(program, "key", 1).height + 5, "middle soft", sign) : nothing;
    }),
  ];
}

/**
 * A program's bench, with what it has made; what one that is done had made has faded.
 * @param {number} program @param {Frame} now @param {Layout} at @param {boolean} paper
 */
function drawBench(program, now, at, paper) {
  const { step, second } = now;
  const here = program === step.program && !over(step);
  const ended = { step: { ...step, program, moments: [], held: run(WORDS, program, now.wrong).slice(-1)[0].held } };
  const kept = paper ? 1 : program < step.program ? GONE : over(step) ? 1 - (1 - GONE) * second : 1;
  const seen = program < step.program ? { ...now, ...ended, before: ended.step } : now;
  return [
    path(`M${at.name - 8} ${at.bench(program) + 1}H${at.width}`, here ? "ink" : "line thin"),
    VECTORS.flatMap((name) => program > step.program || !seen.step.held[name] ? [] : range(DIM).map((i) => ground(at.held(program, name, i), "paper"))),
    program > step.program
      ? nothing
      : group(
          kept,
          VECTORS.map((register) => drawVector(program, register, seen, at)),
          drawRow(program, seen, at),
        ),
    here && !step.held.output ? text(at.width, at.bench(program) - 8, "small end soft", "registers") : nothing,
    (paper ? !program : here) ? drawNames(program, seen, at) : nothing,
    paper ? text(0, at.bench(program) - 8, "small soft", `program ${program}`) : nothing,
  ];
}

/** The numbers on their way, and the wire that they take. @param {Frame} now @param {Layout} at */
function drawWay({ step, first, second, replay }, at) {
  const moment = step.moments[step.moments.length - 1];
  if (!moment || replay) return nothing;
  const { line, turn, touch, held } = moment;
  const here = (/** @type {string} */ register, i = 0) => at.held(step.program, register, i);
  if (line === LINES.score && second < 1)
    return first < 1 ? nothing : flying(here("key"), here("scores", turn), second, held.scores[turn], "rose-fill");
  if (line === LINES.add && first < 1) return flying(here("weights", turn), here("value"), first, held.weights[turn], "rose-fill");
  if (!touch || first === 1) return nothing;
  const table = at.tables.find(({ tensor }) => tensor === touch.tensor) ?? at.tables[0];
  return touch.numbers.map((number, c) => {
    const ends = [inMemory(table, touch.places[c]), here(touch.register, c)];
    const [from, to] = touch.tensor === "out" ? ends.reverse() : ends;
    return flying(from, to, first, number, table.look);
  });
}

/** @param {Frame} now @param {Layout} at */
function drawWires({ step }, at) {
  const { line, touch, held } = step.moments[step.moments.length - 1] ?? {};
  const { tensor, register, places } = touch ?? { tensor: "q", register: "query", places: held?.own ?? [] };
  if (!touch && line !== LINES.own) return nothing; // before it loads anything, a program knows which row is its own
  const table = at.tables.find((table) => table.tensor === tensor) ?? at.tables[0];
  const place = at.held(step.program, register, 0);
  const [x, y] = [place.x + place.width / 2, place.y - 22];
  const own = touch ? nothing : [text(x, place.y - 6, "small middle ink", "my row"), outline(place, "thin ink dashes")];
  return [own, [...new Set(places.map((i) => Math.floor(i / DIM)))].map((row) => {
    const [toX, toY] = [table.x + (row + 0.5) * table.width, table.y + DIM * table.height];
    const middle = Math.min(y, toY + 60);
    const way = `M${x} ${y}V${middle}C${x} ${(middle + toY) / 2} ${toX} ${(middle + toY) / 2} ${toX} ${toY}`;
    return touch ? path(way, table.look) : at.small ? nothing : path(way, "ink thin dashes");
  })];
}

/** @param {Frame} now @param {Layout} at @param {boolean} paper */
function draw(now, at, paper) {
  const ended = over(now.step) && now.step.program === PROGRAMS - 1 && !now.replay;
  const counts = range(KEYS).map((row) => visitors(now.step, "k", row, DIM).length);
  return [
    drawWires(now, at),
    range(PROGRAMS).map((program) => drawBench(program, now, at, paper)),
    at.tables.map((table) => drawTable(table, now, at, ended ? Math.max(...counts) : 0)),
    drawWay(now, at),
  ];
}

/** @param {Step} step */
function described(step) {
  const registers = Object.keys(step.held).map((name) => `${name} ${vector(step.held[name])}`);
  const out = output(WORDS, step).map((number) => (number === null ? "nothing" : shown(number, 2)));
  return `Registers of program ${step.program}: ${registers.join(", ") || "empty"}. The output in memory: ${out.join(", ")}.`;
}

/**
 * The programs, each at the head of its bench. A click on one runs it to its end, and one more starts it again.
 * @param {State} state @param {(change: Partial<State>) => void} set @param {Frame} frame
 */
function programs(state, set, { step: now, replay }) {
  const buttons = range(PROGRAMS).map((program) => {
    const [done, here] = [state.step >= end(program, state), program === now.program];
    const press = () => set({ step: done && here && !program ? 1 : end(program, state) });
    const status = here && (replay || (state.step && !done)) ? "running" : done ? "done" : "waiting";
    return html`<button type="button" class=${status} aria-label=${`program ${program}, ${status}`} @click=${press}><span>program</span> <b>${program}</b><small>${status}</small></button>`;
  });
  return html`<div class="hb-live__programs" role="group" aria-label="Programs">${buttons}</div>`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width, elapsed }) {
  const [now, done] = [frame(state, elapsed), frame({ ...state, step: last(state) })];
  done.step = { ...done.step, moments: done.step.moments.map((moment) => ({ ...moment, touch: null, reads: [] })) };
  const drawn = (/** @type {number} */ wide, /** @type {number} */ high, /** @type {boolean} */ paper) =>
    draw(paper ? done : now, layout(wide, high), paper);
  return html`<div class="hb-live__kernel">
    <div class="hb-live__machine">${stage(width, described(now.step), drawn, [LOW, HIGH], WIDEST)}${programs(state, set, now)}</div>
    ${listing(state.wrong, now.step)}
  </div>`;
}

/** @param {State} state */
function lasts(state) {
  const { moments, all: lines } = all(state)[state.step];
  if (lines) return LINE * lines.length;
  return twice(moments[0]) ? 2 * BEAT : BEAT;
}

/** What the button for the next step says. @param {State} state */
function next(state) {
  const { program } = all(state)[state.step];
  if (state.step < end(program, state)) return "Next line";
  return `${state.slowly ? "Start" : "Run"} program ${program + 1}`;
}

/** @param {State} state */
function meanwhile(state) {
  const { program, all: lines } = all(state)[state.step];
  return lines && `Program ${program} runs the same lines, with its own query.`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
function more({ wrong }, set) {
  const walk = () => set({ slowly: true, step: end(0, { wrong, slowly: true }) + 1 });
  return html`<p class="soft">Started with <code>${LAUNCH}</code></p>
    ${checkbox("forget * HEAD_DIM in a key’s address", wrong, (wrong) => set({ wrong }))}
    <button type="button" @click=${walk}>Program 1, line by line</button>`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "A kernel at work, line by line", start, picture, more, lasts, next, meanwhile,
  steps: last,
  says: (state) => says(WORDS, state.wrong, all(state)[Math.min(state.step, last(state))]),
  again: ({ wrong }) => [wrong ? "Fix the address" : "Forget * HEAD_DIM", { wrong: !wrong, step: wrong ? 0 : 4 }],
  done: ({ wrong }) => !wrong,
};

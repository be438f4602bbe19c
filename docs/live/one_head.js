// A kernel at work: memory, three programs that visit it, each at its bench, and the lines that they run.
import { html, nothing } from "lit-html";
import { launch, LINES, output, programStep, range, visitors, WORDS } from "./one_head.model.js";
import { drawBench } from "./one_head.bench.js";
import {
  DIM, ground, HEIGHTS, inMemory, KEYS, layout, outline, over, PLACES, PROGRAMS, tableOf, twice, WIDEST, written,
} from "./one_head.layout.js";
import { listing } from "./one_head.listing.js";
import { drawTable } from "./one_head.memory.js";
import { says } from "./one_head.sentences.js";
import { checkbox, formatNumber, vector } from "./controls.js";
import { path, stage, text } from "./strokes.js";

const start = { wrong: false, slowly: false, step: 0 };
const [BEAT, LINE] = [400, 70]; // milliseconds of a change, and of a line when a whole program runs

/** @typedef {typeof start} State */
/** @typedef {import("./one_head.model.js").Step} Step */
/** @typedef {import("./one_head.layout.js").Cell} Cell */
/** @typedef {import("./one_head.layout.js").Frame} Frame */
/** @typedef {import("./one_head.layout.js").Layout} Layout */

const LAUNCH = `one_head_kernel[(${PROGRAMS},)](q, k, v, out, ${WORDS.scale.toFixed(1)}, ${KEYS}, HEAD_DIM=${DIM}, ROW=${PLACES})`;

/** @param {Omit<State, "step">} state */
const all = ({ wrong, slowly }) => launch(WORDS, wrong, slowly);
/** @param {Omit<State, "step">} state */
const last = (state) => all(state).length - 1;
/** The step that ends a program. @param {number} program @param {Omit<State, "step">} state */
const end = (program, state) => all(state).map((step) => step.program).lastIndexOf(program);
/** How far a change is; it slows down to its end. @param {number} elapsed */
const eased = (elapsed) => 1 - (1 - Math.min(1, Math.max(0, elapsed / BEAT))) ** 3;

/**
 * What to draw so many milliseconds into a step; numbers arrive first, and what is made of them follows. A whole
 * program shows its lines.
 * @param {State} state @param {number} [elapsed] @returns {Frame}
 */
function frame(state, elapsed = Infinity) {
  const [steps, { wrong }] = [all(state), state];
  const [step, before] = [steps[state.step], steps[Math.max(0, state.step - 1)]];
  if (step.all && elapsed < Infinity) {
    const sofar = programStep(before, step.program, step.all.slice(0, 1 + Math.floor(elapsed / LINE)));
    return { step: sofar, before, wrong, first: 1, second: 1, replay: true };
  }
  return { step, before, wrong, first: eased(elapsed), second: eased(elapsed - BEAT), replay: false };
}

/**
 * A number on its way, part of it done.
 * @param {Cell} from @param {Cell} to @param {number} part @param {number} number @param {string} look
 */
function flying(from, to, part, number, look) {
  const between = (/** @type {keyof Cell} */ key) => from[key] + (to[key] - from[key]) * part;
  const here = { x: between("x"), y: between("y"), width: between("width"), height: between("height") };
  return [ground(here, look), written(here, number, look === "rose-fill" ? "ink" : "paper")];
}

/** The numbers on their way. @param {Frame} now @param {Layout} at */
function drawWay({ step, first, second, replay }, at) {
  const moment = step.moments[step.moments.length - 1];
  if (!moment || replay) return nothing;
  const { line, turn, touch, held } = moment;
  const here = (/** @type {string} */ register, i = 0) => at.held(step.program, register, i);
  if (line === LINES.score && first === 1 && second < 1)
    return flying(here("key"), here("scores", turn), second, held.scores[turn], "rose-fill");
  if (line === LINES.add && first < 1)
    return flying(here("weights", turn), here("value"), first, held.weights[turn], "rose-fill");
  if (!touch || first === 1) return nothing;
  const table = tableOf(at, touch.tensor);
  return touch.numbers.map((number, c) => {
    const ends = [inMemory(table, touch.places[c]), here(touch.register, c)];
    const [from, to] = touch.tensor === "out" ? ends.reverse() : ends;
    return flying(from, to, first, number, table.look);
  });
}

/**
 * From a row of memory to its place on the bench, where there is room for it; before it loads anything, a program knows
 * which row is its own.
 * @param {Frame} now @param {Layout} at
 */
function drawWires({ step }, at) {
  const { line, touch, held } = step.moments[step.moments.length - 1] ?? {};
  if (!touch && line !== LINES.own) return nothing;
  const { tensor, register, places } = touch ?? { tensor: "q", register: "query", places: held?.own ?? [] };
  const [table, place] = [tableOf(at, tensor), at.held(step.program, register, 0)];
  const [x, y] = [place.x + place.width / 2, place.y - 22];
  const wires = [...new Set(places.map((i) => Math.floor(i / DIM)))].map((row) => {
    const [toX, toY] = [table.x + (row + 0.5) * table.width, table.y + DIM * table.height];
    const low = Math.min(y, toY + 60);
    const way = `M${x} ${y}V${low}C${x} ${(low + toY) / 2} ${toX} ${(low + toY) / 2} ${toX} ${toY}`;
    return path(way, touch ? table.look : "ink thin dashes");
  });
  return [
    at.small ? nothing : wires,
    touch ? nothing : [text(x, place.y - 6, "small middle ink", "my row"), outline(place, "thin ink dashes")],
  ];
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
  const out = output(WORDS, step).map((number) => (number === null ? "nothing" : formatNumber(number, 2)));
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
    const label = `program ${program}, ${status}`;
    return html`<button type="button" class=${status} aria-label=${label} @click=${press}>
      <span>program</span> <b>${program}</b><small>${status}</small>
    </button>`;
  });
  return html`<div class="hb-live__programs" role="group" aria-label="Programs">${buttons}</div>`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width, elapsed }) {
  const [now, done] = [frame(state, elapsed), frame({ ...state, step: last(state) })];
  const still = done.step.moments.map((moment) => ({ ...moment, touch: null, reads: [] })); // on paper
  const ended = { ...done, step: { ...done.step, moments: still } };
  const drawn = (/** @type {number} */ wide, /** @type {number} */ high, /** @type {boolean} */ paper) =>
    draw(paper ? ended : now, layout(wide, high), paper);
  const machine = stage(width, described(now.step), drawn, HEIGHTS, WIDEST);
  return html`<div class="hb-live__kernel">
    <div class="hb-live__machine">${machine}${programs(state, set, now)}</div>
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
  title: "A kernel at work, line by line", initial: start, picture, more, duration: lasts, next, meanwhile,
  lastStep: last,
  says: (state) => says(WORDS, state.wrong, all(state)[Math.min(state.step, last(state))]),
  again: ({ wrong }) => [wrong ? "Fix the address" : "Forget * HEAD_DIM", { wrong: !wrong, step: wrong ? 0 : 4 }],
  done: ({ wrong }) => !wrong,
};

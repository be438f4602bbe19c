// A kernel at work: memory, three programs, each at its bench, and the lines that they run.
import { html, nothing } from "lit-html";
import { isDone, launch, LINES, output, range, right, source, STARTS, stops, total, WORDS } from "./one_head.model.js";
import { draw, HEIGHTS, lookOf, PROGRAMS } from "./one_head.machine.js";
import { checkbox, formatNumber, vector } from "./controls.js";
import { stage } from "./strokes.js";

const initial = { wrong: false, step: 2 }; // something is on the bench
const BEFORE_KEY_1 = 5; // the last step that the missing * HEAD_DIM leaves as it was
const [LINE, TURN, FAST] = [800, 400, 180]; // milliseconds of a line: alone, and where a turn or a whole program runs

/** @typedef {typeof initial} State */
/** @typedef {import("./one_head.model.js").Step} Step */
/** @typedef {import("./one_head.model.js").Moment} Moment */
/** @typedef {import("./one_head.model.js").Problem} Problem */
/** @typedef {import("./one_head.machine.js").Frame} Frame */

/** @param {State} state */
const all = ({ wrong }) => launch(WORDS, wrong);
/** After which lines a press ends. @param {State} state */
const ends = (state) => stops(all(state), state.wrong);
/** @param {State} state */
const now = (state) => all(state)[ends(state)[state.step]];
/** @param {State} state */
const last = (state) => ends(state).length - 1;
/** The step that ends a program. @param {number} program @param {State} state */
const end = (program, state) => ends(state).findIndex((i) => isDone(all(state)[i], program));
/** How many lines the last press ran. @param {State} state */
const lines = (state) => ends(state)[state.step] - ends(state)[state.step - 1];
/** @param {State} state */
const pace = (state) => (now(state).program ? FAST : lines(state) > 1 ? TURN : LINE);
/** How far a change is. @param {number} part */
const eased = (part) => 1 - (1 - Math.min(1, Math.max(0, part))) ** 3;

/**
 * What to draw so many milliseconds into a step. In a line's first half its numbers arrive, then what's made of them.
 * @param {State} state @param {number} [elapsed] @returns {Frame}
 */
function frame(state, elapsed = Infinity) {
  const [steps, passed] = [all(state), elapsed / pace(state)];
  const from = (ends(state)[state.step - 1] ?? 0) + 1;
  const i = Math.min(from + Math.floor(passed), ends(state)[state.step]);
  const part = 2 * (passed + from - i);
  const before = steps[i - 1] ?? steps[0];
  return { step: steps[i], before, wrong: state.wrong, first: eased(part), second: eased(part - 1) };
}

/** @param {Step} step */
function described(step) {
  const registers = Object.keys(step.held).map((name) => `${name} ${vector(step.held[name])}`);
  const out = output(WORDS, step).map((number) => (number === null ? "nothing" : formatNumber(number, 2)));
  return `Registers of program ${step.program}: ${registers.join(", ") || "empty"}. The output in memory: ${out.join(", ")}.`;
}

/** What each paragraph does. */
const STEPS = ["Load my query", "Score every key", "Normalize the row", "Blend the values", "Store my row"];
/** @param {number} line */
const paragraph = (line) => STARTS.findLastIndex((start) => start <= line);
/** What a row of each table is; in the code a name has its colour. @type {Record<string, string>} */
const POINTERS = { q: "query", k: "key", v: "value" };
const NAMES = /(\b(?:q|query|k|key|v|value|scores|exponentials|weights|key_number)\b)/;

/** @param {string} line @param {boolean} bug whether its key_number isn't multiplied any more */
const coloured = (line, bug) =>
  line.split(NAMES).map((part, i) => {
    if (part === "key_number") return bug ? html`${part} <del>* HEAD_DIM</del>` : part;
    return i % 2 ? html`<span class=${lookOf(POINTERS[part] ?? part)}>${part}</span>` : part;
  });

/**
 * The kernel; open is the step that runs, or that has the wrong address.
 * @param {boolean} wrong @param {Step} step
 */
function listing(wrong, { moments }) {
  const [now, turn] = [moments.map(({ line }) => line), moments[0]?.turn];
  if (wrong && !now.length) now.push(LINES.key);
  const [open, loop] = [paragraph(now[0] ?? -1), [LINES.keys, LINES.values].find((head) => now[0] > head && now[0] <= head + 2)];
  const items = source(wrong)[open]?.map((line, number) => {
    const i = STARTS[open] + number;
    const look = now.includes(i) ? "now" : i === loop ? "head" : "";
    const count = i === loop ? html` <span class="turn">now ${turn}</span>` : nothing;
    return html`<li class=${look} aria-current=${look === "now" ? "step" : "false"} style="--indent: ${line.search(/\S/)}">
      <code>${coloured(line.trim(), wrong && i === LINES.key)}${count}</code></li>`;
  });
  return html`<ol class="hb-live__code" aria-label="The kernel, step by step">${STEPS.map((title, number) =>
    html`<li class=${number === open ? "open" : ""}><p># ${title}</p>${number === open ? html`<ol>${items}</ol>` : nothing}</li>`,
  )}</ol>`;
}

/**
 * The programs. A click on one runs it to its end, or from there takes it back.
 * @param {State} state @param {(change: Partial<State>) => void} set @param {Frame} frame
 */
function programs(state, set, { step, second }) {
  const buttons = range(PROGRAMS).map((program) => {
    const last = end(program, state);
    const over = isDone(step, program) && (program !== step.program || second === 1);
    const press = () => set({ step: over && state.step === last ? Math.max(0, end(program - 1, state)) : last });
    const status = over ? "done" : step.at[program] ? "running" : "waiting";
    return html`<button type="button" class="${status} ${program === step.program ? "open" : ""}" @click=${press}>
      <span>program</span> <b>${program}</b> <small>${status}</small>
    </button>`;
  });
  return html`<div class="hb-live__programs" role="group" aria-label="Programs">${buttons}</div>`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width, elapsed }) {
  const [current, done] = [frame(state, elapsed), frame({ ...state, step: last(state) })];
  const drawn = (/** @type {number} */ wide, /** @type {number} */ high, /** @type {boolean} */ paper) =>
    draw(paper ? done : current, wide, high, paper);
  const machine = stage(width, described(current.step), drawn, HEIGHTS);
  return html`<div class="hb-live__machine">${machine}${programs(state, set, current)}</div>`;
}

/** @param {State} state */
function next(state) {
  const after = { ...state, step: Math.min(state.step + 1, last(state)) };
  const { program } = now(after);
  if (program) return `Run program ${program}`;
  return lines(after) > 1 ? "Next turn" : "Next line";
}

/** What is being done. @param {State} state */
function meanwhile(state) {
  if (now(state).program) return "The same lines run, with a query of its own.";
  return lines(state) > 1 ? "The loop’s lines run again." : "";
}

/** What follows the one launch, and the other. @param {boolean} wrong @returns {Partial<State>} */
const anew = (wrong) => ({ wrong, step: wrong ? BEFORE_KEY_1 : initial.step });
/** @param {State} state @param {(change: Partial<State>) => void} set */
const toggle = ({ wrong }, set) => checkbox(html`forget <code>* HEAD_DIM</code>`, wrong, (wrong) => set(anew(wrong)));

/** "1 · 0 + 0 · 1 = 0" @param {Moment} moment */
const product = ({ held, turn }) =>
  `${held.query.map((x, c) => `${formatNumber(x)} · ${formatNumber(held.key[c])}`).join(" + ")} = ${formatNumber(held.scores[turn])}`;

/** A key that was loaded from the wrong place. @param {Moment} moment @param {number} dim @param {number[]} key */
function missed({ turn, held, touch }, dim, key) {
  if (turn === 0) return `The address lacks * HEAD_DIM. Key 0 arrives all the same, since 0 × ${dim} is 0, too.`;
  const row = Math.floor(turn / dim);
  const what = turn % dim ? "across two keys" : `which is key ${row}`;
  return `Key ${turn} should be ${vector(key)}. We read ${vector(held.key)}, ${what}: from number ${touch?.places[0]} on, not ${turn} × ${dim} = ${turn * dim}.`;
}

/** The score of the key that should have been loaded. @param {Problem} problem @param {number} program @param {Moment} moment */
function meant({ q, k }, program, { turn, held }) {
  const score = total(q[program].map((x, c) => x * k[turn][c]));
  return `Key ${turn} itself would give ${formatNumber(score)}${score === held.scores[turn] ? ", too" : ""}.`;
}

/** What a program has done in the end. @param {Problem} problem @param {number} program @param {Step["held"]} held */
function ended(problem, program, { output }) {
  const last = problem.q.length - 1;
  const [row, other] = [output, right(problem, program)].map((row) => vector(row));
  if (row !== other) {
    if (program === 0) return `${row} goes out. That’s wrong, it should be ${other}. And nothing crashed.`;
    const what = `Program ${program} writes ${row} instead of ${other}.`;
    return program === last ? `${what} Look at K: nobody ever read its last key.` : what;
  }
  if (program === 0) return `${row} goes out to memory. The program ends, and its registers are forgotten.`;
  if (program < last)
    return `Its own row, ${row}, goes out. But program ${program} fetched every key and value again.`;
  return `${row} is the last row. Each query was loaded once, each key and value ${problem.q.length} times.`;
}

/** What a step has done. @param {Problem} problem @param {boolean} wrong @param {Step} step */
function sentence(problem, wrong, step) {
  const { program, moments, held } = step;
  const [dim, keys] = [problem.q[0].length, problem.k.length];
  const moment = moments.at(-1);
  if (!moment) {
    if (wrong) return "Now the address of a key lacks * HEAD_DIM. Which keys will the programs read?";
    return "Three programs, one for each query. A GPU runs them side by side. Here, program 0 goes first.";
  }
  const { line, turn } = moment;
  const largest = Math.max(...(held.scores ?? [0]));
  switch (line) {
    case LINES.offsets:
      return `I’m program ${program}, so query ${program} is mine. It starts at ${program} × ${dim} = ${program * dim}: numbers ${held.offsets.join(" and ")}.`;
    case LINES.query:
      return `Query ${program} arrives, ${vector(held.query)}, and stays in registers. In memory, a tag says which program loaded it.`;
    case LINES.scores:
      return `${keys} keys take ${held.scores.length} places, a power of two. All start at −∞, so a place without a key gets no weight.`;
    case LINES.key: {
      if (wrong) return missed(moment, dim, problem.k[turn]);
      return `Key ${turn} starts at ${turn} × ${dim} = ${turn * dim}. It arrives${turn ? ` in place of key ${turn - 1}` : ""}.`;
    }
    case LINES.select: {
      if (turn === 0 && wrong) return `Key 0 still arrives, since 0 × ${dim} is 0, too. What will be read for key 1?`;
      if (turn === 0)
        return `${product(moment)} goes to place 0 (not divided by √d). You can’t write to place 0 alone, so tl.where makes a new row.`;
      if (wrong) return `${product(moment)} goes to place ${turn}. ${meant(problem, program, moment)}`;
      const free = turn === keys - 1 && held.scores.length > keys ? ` Place ${keys} stays −∞.` : "";
      return `${product(moment)} goes to place ${turn}.${free}`;
    }
    case LINES.exponentials:
      return `Take off the largest score, ${formatNumber(largest)}, then take exponentials. The −∞ becomes 0.`;
    case LINES.weights:
      return `Divide by their sum: now they add up to 1. No score and no weight has touched memory.`;
    case LINES.output:
      return "The output starts at zero. Now each value is added to it, times its weight.";
    case LINES.value:
      return `Value ${turn} arrives: ${vector(held.value)}. Its weight is ${formatNumber(held.weights[turn], 2)}.`;
    case LINES.add:
      return `Value ${turn} is added times its weight. The output is ${vector(held.output)}.`;
    default:
      return ended(problem, program, held);
  }
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "A kernel at work", initial, picture, next, meanwhile,
  numbers: (state, { elapsed }, set) => html`${listing(state.wrong, frame(state, elapsed).step)}${toggle(state, set)}`,
  lastStep: last,
  again: ({ wrong }) => [wrong ? "Run it right" : "Forget * HEAD_DIM", anew(!wrong)],
  duration: (state) => pace(state) * lines(state),
  says: (state) => sentence(WORDS, state.wrong, now(state)).replace(/ ([·×]) /g, "\u00a0$1\u00a0"), // no line ends in a product
};

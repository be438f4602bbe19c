// A kernel at work: memory, three programs that visit it, each at its bench, and the lines that they run.
import { html, nothing } from "lit-html";
import { launch, LINES, output, range, source, stops, WORDS } from "./one_head.model.js";
import { draw, HEIGHTS, lookOf, PROGRAMS, WIDEST } from "./one_head.machine.js";
import { says } from "./one_head.sentences.js";
import { checkbox, formatNumber, vector } from "./controls.js";
import { stage } from "./strokes.js";

const initial = { wrong: false, slowly: false, step: 0 };
const [SLOW, LINE, FAST] = [800, 400, 140]; // milliseconds of a line: alone, within its paragraph, within a program

/** @typedef {typeof initial} State */
/** @typedef {import("./one_head.model.js").Step} Step */
/** @typedef {import("./one_head.machine.js").Frame} Frame */

/** @param {State} state */
const all = ({ wrong }) => launch(WORDS, wrong);
/** After which lines a press ends. @param {State} state */
const ends = (state) => stops(all(state), state.slowly);
/** @param {State} state */
const now = (state) => all(state)[ends(state)[state.step]];
/** @param {State} state */
const last = (state) => ends(state).length - 1;
/** The step that ends a program. @param {number} program @param {State} state */
const end = (program, state) => ends(state).map((i) => all(state)[i].program).lastIndexOf(program);
/** @param {State} state */
const pace = (state) => (state.slowly ? SLOW : now(state).program ? FAST : LINE);
/** How far a change is; it slows down to its end. @param {number} part */
const eased = (part) => 1 - (1 - Math.min(1, Math.max(0, part))) ** 3;

/**
 * What to draw so many milliseconds into a step, whose lines follow each other; in the first half of a line its numbers
 * arrive, and in the second half what is made of them.
 * @param {State} state @param {number} [elapsed] @returns {Frame}
 */
function frame(state, elapsed = Infinity) {
  const [steps, lines] = [all(state), elapsed / pace(state)];
  const from = (ends(state)[state.step - 1] ?? 0) + 1;
  const i = Math.min(from + Math.floor(lines), ends(state)[state.step]);
  const part = 2 * (lines + from - i);
  const before = steps[i - 1] ?? steps[0];
  return { step: steps[i], before, wrong: state.wrong, first: eased(part), second: eased(part - 1) };
}

/** @param {Step} step */
function described(step) {
  const registers = Object.keys(step.held).map((name) => `${name} ${vector(step.held[name])}`);
  const out = output(WORDS, step).map((number) => (number === null ? "nothing" : formatNumber(number, 2)));
  return `Registers of program ${step.program}: ${registers.join(", ") || "empty"}. The output in memory: ${out.join(", ")}.`;
}

/** What each paragraph does, and the button; its first word is in the source, too. */
const STEPS = ["Load my query", "Score every key", "Normalize the row", "Blend the values", "Store my row"];
/** In the code a name has the colour of the tensor that it comes from. @type {Record<string, string>} */
const POINTERS = { q: "query", k: "key", v: "value" };
const NAMES = /(\b(?:q|query|k|key|v|value|scores|exponentials|weights|key_number)\b)/;
const LONG = 48; // signs of a line; a longer one breaks after its first comma, or before its last sum

/** @param {string} line @param {boolean} bug whether its key_number is multiplied by too little */
const coloured = (line, bug) =>
  line.split(NAMES).map((part, i) => {
    const look = part === "key_number" ? bug && "bug" : lookOf(POINTERS[part] ?? part);
    return i % 2 && look ? html`<span class=${look}>${part}</span>` : part;
  });

/** A line of code, broken by hand. @param {string} line @param {boolean} bug @param {number} turn of its loop, or -1 */
function codeOf(line, bug, turn) {
  const code = line.replace(/ +#.*/, "").trim();
  const at = bug || code.length > LONG ? code.indexOf(",") + 1 || code.lastIndexOf(" +") : code.length;
  const rest = at < code.length ? html`<br>${coloured(code.slice(at), bug)}` : nothing;
  const now = turn < 0 ? nothing : html` <span class="turn">now ${turn}</span>`;
  return html`<code>${coloured(code.slice(0, at), bug)}${rest}${now}</code>`;
}

/** @param {boolean} wrong @param {import("./one_head.model.js").Step} step */
function listing(wrong, { moments }) {
  const [now, turn] = [moments.map(({ line }) => line), moments[0]?.turn ?? 0];
  const loop = [LINES.keys, LINES.values].find((head) => now.some((line) => line === head + 1 || line === head + 2));
  let i = -1;
  return html`<ol class="hb-live__code" aria-label="The kernel, step by step">${source(wrong).map((lines, number) => {
    const from = i + 1;
    const items = lines.map((line) => {
      i += 1;
      const code = codeOf(line, wrong && i === LINES.key, i === loop ? turn : -1);
      const look = now.includes(i) ? "now" : i === loop ? "head" : "";
      const indent = `--indent: ${line.search(/\S/)}`;
      return html`<li class=${look} aria-current=${now.includes(i) ? "step" : "false"} style=${indent}>${code}</li>`;
    });
    const open = now.length ? now[0] >= from && now[0] <= i : number === 0;
    return html`<li class=${open ? "open" : ""}><p># ${STEPS[number]}</p><ol>${items}</ol></li>`;
  })}</ol>`;
}

/**
 * The programs, each at the head of its bench. A click on one runs it to its end.
 * @param {State} state @param {(change: Partial<State>) => void} set @param {Frame} frame
 */
function programs(state, set, { step, second }) {
  const buttons = range(PROGRAMS).map((program) => {
    const [over, here] = [state.step >= end(program, state), program === step.program];
    const press = () => set({ step: end(program, state) });
    const status = here && (!over || second < 1) ? "running" : over ? "done" : "waiting";
    return html`<button type="button" class=${status} @click=${press}>
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
  const machine = stage(width, described(current.step), drawn, HEIGHTS, WIDEST);
  return html`<div class="hb-live__kernel">
    <div class="hb-live__machine">${machine}${programs(state, set, current)}</div>
    ${listing(state.wrong, current.step)}
  </div>`;
}

/** @param {State} state */
const next = ({ slowly, step }) => (slowly ? "Next line" : STEPS[step] ?? `Run program ${step - STEPS.length + 1}`);

/** @param {State} state */
function meanwhile(state) {
  const { program } = now(state);
  return program && !state.slowly ? `Program ${program} runs the same lines, with its own query.` : null;
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
function more(state, set) {
  const { wrong, slowly, step } = state;
  const walk = (/** @type {boolean} */ slowly) =>
    set({ slowly, step: ends({ ...state, slowly }).findLastIndex((i) => i <= ends(state)[step]) });
  return html`${checkbox("forget * HEAD_DIM in a key’s address", wrong, (wrong) => set({ wrong }))}
    ${checkbox("line by line", slowly, walk)}`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "A kernel at work", initial, picture, more, next, meanwhile,
  lastStep: last,
  duration: (state) => pace(state) * (ends(state)[state.step] - ends(state)[state.step - 1]),
  says: (state) => says(WORDS, state, now(state)),
  again: ({ wrong }) => [wrong ? "Fix the address" : "Forget * HEAD_DIM", { wrong: !wrong, step: 0 }],
  done: ({ wrong }) => !wrong,
};

// A kernel at work: memory, three programs that visit it, each at its bench, and the lines that they run.
import { html, nothing } from "lit-html";
import { launch, LINES, output, programStep, range, source, WORDS } from "./one_head.model.js";
import { draw, HEIGHTS, lookOf, needsTwoChanges, PROGRAMS, WIDEST } from "./one_head.machine.js";
import { says } from "./one_head.sentences.js";
import { checkbox, formatNumber, vector } from "./controls.js";
import { stage } from "./strokes.js";

const initial = { wrong: false, slowly: false, step: 0 };
const [BEAT, LINE] = [400, 70]; // milliseconds of a change, and of a line when a whole program runs

/** @typedef {typeof initial} State */
/** @typedef {import("./one_head.model.js").Step} Step */
/** @typedef {import("./one_head.machine.js").Frame} Frame */

const LAUNCH = "one_head_kernel[(3,)](q, k, v, out, 1.0, 3, HEAD_DIM=2, ROW=4)";

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

/** @param {Step} step */
function described(step) {
  const registers = Object.keys(step.held).map((name) => `${name} ${vector(step.held[name])}`);
  const out = output(WORDS, step).map((number) => (number === null ? "nothing" : formatNumber(number, 2)));
  return `Registers of program ${step.program}: ${registers.join(", ") || "empty"}. The output in memory: ${out.join(", ")}.`;
}

/** What each paragraph does; its first word is in the source, too. */
const STEPS = ["Load my query", "Score it against every key", "Normalize the row", "Blend the values", "Store my row"];
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
  const at = code.length > LONG ? code.indexOf(",") + 1 || code.lastIndexOf(" +") : code.length;
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
  const drawn = (/** @type {number} */ wide, /** @type {number} */ high, /** @type {boolean} */ paper) =>
    draw(paper ? done : now, wide, high, paper);
  const machine = stage(width, described(now.step), drawn, HEIGHTS, WIDEST);
  return html`<div class="hb-live__kernel">
    <div class="hb-live__machine">${machine}${programs(state, set, now)}</div>
    ${listing(state.wrong, now.step)}
  </div>`;
}

/** @param {State} state */
function duration(state) {
  const { moments, all: lines } = all(state)[state.step];
  if (lines) return LINE * lines.length;
  return needsTwoChanges(moments[0]) ? 2 * BEAT : BEAT;
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
  title: "A kernel at work, line by line", initial, picture, more, duration, next, meanwhile,
  lastStep: last,
  says: (state) => says(WORDS, state.wrong, all(state)[Math.min(state.step, last(state))]),
  again: ({ wrong }) => [wrong ? "Fix the address" : "Forget * HEAD_DIM", { wrong: !wrong, step: wrong ? 0 : 4 }],
  done: ({ wrong }) => !wrong,
};

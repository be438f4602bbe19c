// One step of decode: a token is appended to its page, programs share the blocks of the past, their parts are merged.
import { html, nothing, svg } from "lit-html";
import { merge, partOf, placeOf, shares } from "./decode.model.js";
import { Refused } from "./frame.js";
import {
  button,
  checkbox,
  choice,
  formatNumber,
  menu,
  parsePairs,
  requireInteger,
  slider,
  table,
  textField,
  vector,
} from "./controls.js";

const initial = {
  query: "1 1",
  keys: "0 0, 1 0, 1 1, 0 1",
  values: "9 0, 0 9",
  a: 4,
  b: 1,
  page: 2,
  block: 2,
  programs: 3,
  wrong: "none",
  board: true,
  step: 5,
};

/** @typedef {typeof initial} State */

const MAX = { a: 12, b: 8, programs: 6, block: 8 };
/** @type {[string, string][]} */
const WRONG = [
  ["none", "as it should be"],
  ["average", "average the parts"],
  ["causal", "is_causal, aligned top left"],
];
const PAGES = [
  [6, 1, 2, 9, 0, 11, 4, 7],
  [5, 3, 10, 8],
]; // which pages are free for A, and for B, in the order in which they are taken
const ROLES = ["key", "value"];
const DUTIES = [
  "Append the new key and value.",
  "Load the query. It stays.",
  "Let keys and values stream past.",
  "Take each block into maximum, sum and blend.",
  "Divide by the sum, write one row.",
];

/** Both sequences, whose tokens take the rows that are given in turn, and who reads what. @param {State} state */
function problem(state) {
  const [query] = parsePairs("Query", state.query, 1);
  const keys = parsePairs("Keys", state.keys, 16);
  const values = parsePairs("Values", state.values, 16);
  const lengths = [requireInteger("Tokens of A", state.a, 1, MAX.a), requireInteger("Tokens of B", state.b, 0, MAX.b)];
  if (![2, 4, 8].includes(state.page))
    throw new Refused(`A page has ${formatNumber(state.page)} tokens; 2, 4 or 8 are wanted.`);
  if (!WRONG.some(([value]) => value === state.wrong))
    throw new Refused(`There is no bug “${state.wrong}”; there are ${WRONG.map(([value]) => value).join(", ")}.`);
  const block = requireInteger("Keys a block", state.block, 1, MAX.block);
  const parts = shares(lengths, block, requireInteger("Programs", state.programs, 1, MAX.programs));
  const sequences = lengths.map((length) => ({
    keys: Array.from({ length }, (_, i) => keys[i % keys.length]),
    values: Array.from({ length }, (_, i) => values[i % values.length]),
  }));
  return { query, lengths, sequences, parts, scale: state.board ? Math.LN2 : Math.SQRT1_2 };
}

/** @param {{count: number}[]} parts */
const blocksOf = (parts) => parts.reduce((sum, { count }) => sum + count, 0);

/** The blocks of the program that has most. @param {State} state */
function longest(state) {
  const { parts } = problem(state);
  return Math.max(
    ...Array.from({ length: state.programs }, (_, program) =>
      blocksOf(parts.filter((part) => part.program === program)),
    ),
  );
}

/** Append, load, the blocks, write, merge. @param {State} state */
const lastStep = (state) => 2 + longest(state) + 2;

/** How many blocks each program has read by now. @param {State} state */
const blocksRead = (state) => Math.min(Math.max(state.step - 2, 0), longest(state));

/** Each part with what its program knows by now; `read`: how many of its blocks that is. @param {State} state */
function partsByNow(state) {
  const { query, sequences, parts, scale } = problem(state);
  return parts.map((part, i) => {
    const earlier = blocksOf(parts.slice(0, i).filter((other) => other.program === part.program));
    const read = Math.min(Math.max(blocksRead(state) - earlier, 0), part.count);
    const { keys, values } = sequences[part.sequence];
    return {
      ...part,
      earlier,
      read,
      ...partOf(keys, values, query, scale, state.block, part.begin, read, state.wrong === "causal"),
    };
  });
}

/** @param {number} sequence */
const letter = (sequence) => "AB"[sequence];

/** Pages in memory. @param {State} state */
function memory(state) {
  const { lengths } = problem(state);
  const owner = (/** @type {number} */ page) => PAGES.findIndex((pages) => pages.includes(page));
  const box = (/** @type {number} */ page) => {
    const [x, y, sequence] = [(page % 6) * 80 + 1, Math.floor(page / 6) * 58 + 2, owner(page)];
    const first = PAGES[sequence].indexOf(page) * state.page;
    const length = lengths[sequence] - (state.step < 1 ? 1 : 0);
    const width = 62 / state.page;
    const rowAt = (/** @type {number} */ row) => {
      const token = first + row;
      if (token >= length) return nothing;
      const fresh = state.step >= 1 && token === lengths[sequence] - 1;
      const place = [x + 5 + row * width, y + 26, width - 1.5, 18];
      return svg`<rect class="${fresh ? "accent" : ROLES[sequence]} fill ${fresh ? "" : "half"}" x=${place[0]} y=${place[1]} width=${place[2]} height=${place[3]} />`;
    };
    const taken = first < length;
    return svg`<rect class="${taken ? `${ROLES[sequence]} stroke` : "soft stroke thin dashes"}" x=${x} y=${y} width="72" height="50" />
      <text class="small soft" x=${x + 6} y=${y + 19}>${page}</text>
      ${taken ? svg`<text class="small end ${ROLES[sequence]}" x=${x + 66} y=${y + 19}>${letter(sequence)}</text>` : nothing}
      ${Array.from({ length: state.page }, (_, row) => rowAt(row))}`;
  };
  return html`<svg viewBox="0 0 480 114" role="img" aria-label="Twelve pages in memory with their numbers; a letter says whose a page is, and a mark stands for each token. ${tables(state).join(" ")}">
    ${Array.from({ length: 12 }, (_, page) => box(page))}
  </svg>`;
}

/** @param {State} state */
function tables(state) {
  return problem(state).lengths.map((length, sequence) => {
    const tokens = Math.max(0, length - (state.step < 1 ? 1 : 0));
    const pages = PAGES[sequence].slice(0, Math.ceil(tokens / state.page));
    return `Page table of ${letter(sequence)}, ${tokens} ${tokens === 1 ? "token" : "tokens"}: ${pages.length ? pages.join(", ") : "–"}.`;
  });
}

/** The line of blocks, cut into shares. @param {State} state */
function line(state) {
  const parts = partsByNow(state);
  const all = blocksOf(parts);
  const width = Math.min(64, 478 / all);
  let at = 0;
  const names = problem(state).lengths.flatMap((_, sequence) => {
    const before = blocksOf(parts.filter((part) => part.sequence < sequence));
    const count = blocksOf(parts.filter((part) => part.sequence === sequence));
    const [x, length] = [before * width, count * width];
    const look = ROLES[sequence];
    return count
      ? svg`<path class="${look} stroke thin" d="M${x + 4} 23 v-4 H${x + length - 3} v4" /><text class="small middle ${look}" x=${x + length / 2} y="14">${letter(sequence)}</text>`
      : nothing;
  });
  const blocks = parts.flatMap((part) => Array.from({ length: part.count }, (_, i) => {
    const now = state.step > 2 && state.step <= 2 + longest(state) && part.earlier + i === blocksRead(state) - 1;
    const look = now ? "accent stroke" : `${ROLES[part.sequence]} stroke thin`;
    const x = at++ * width + 1;
    return svg`${i < part.read ? svg`<rect class="${ROLES[part.sequence]} fill tint" x=${x + 2} y="28" width=${width - 4} height="30" />` : nothing}
      <rect class=${look} x=${x + 2} y="28" width=${width - 4} height="30" />
      <text class="small middle ink" x=${x + width / 2} y="48">${part.begin + i}</text>`;
  }));
  let from = 0;
  const programs = Array.from({ length: state.programs }, (_, program) => {
    const count = blocksOf(parts.filter((part) => part.program === program));
    if (!count) return nothing;
    const [x, length] = [from * width, count * width];
    from += count;
    return svg`<path class="soft stroke thin" d="M${x + 4} 66 v5 H${x + length - 3} v-5" /><text class="small middle soft" x=${x + length / 2} y="88">P${program}</text>`;
  });
  return html`<svg viewBox="0 0 480 94" role="img" aria-label="The blocks of both sequences in one line, a bracket above those of each, cut into shares for ${state.programs} programs.">${names} ${blocks} ${programs}</svg>`;
}

/** The rows as they are written. @param {State} state @param {number} sequence */
function rowWritten(state, sequence) {
  const own = partsByNow({ ...state, step: lastStep(state) }).filter((part) => part.sequence === sequence);
  const one = merge(own);
  if (state.wrong !== "average") return one;
  return {
    ...one,
    output: one.output.map((_, column) => own.reduce((sum, part) => sum + part.output[column] / own.length, 0)),
  };
}

/** @param {State} state */
function foundTable(state) {
  const { lengths } = problem(state);
  const base2 = (/** @type {number} */ x) => formatNumber(x / Math.LN2);
  const cells = partsByNow(state).map((part) => {
    const name = `P${part.program} ${letter(part.sequence)}`;
    const done = state.step >= lastStep(state) - 1;
    if (!part.read) return [name, "", "", "", "", ""];
    const left = done ? [vector(part.output), base2(part.lse)] : ["", ""];
    return [name, base2(part.max), formatNumber(part.sum), vector(part.accumulator), ...left];
  });
  lengths.forEach((length, sequence) => {
    if (!length) return;
    const merged = (/** @type {State} */ state) => {
      const row = rowWritten(state, sequence);
      return ["", "", "", ...(state.step >= lastStep(state) ? [vector(row.output), base2(row.lse)] : ["", ""])];
    };
    cells.push([letter(sequence), ...merged(state)]);
    if (state.wrong !== "none") cells.push([`${letter(sequence)} true`, ...merged({ ...state, wrong: "none" })]);
  });
  return table("What each program found", ["", "maximum", "sum", "blend", "output", "lse"], cells);
}

/** Which of the five duties is under way. @param {State} state */
const duties = (state) => (state.step < 1 ? [] : state.step === 1 ? [0] : state.step === 2 ? [1] : state.step <= 2 + longest(state) ? [2, 3] : [4]);

/** @param {State} state */
const picture = (state) => html`${memory(state)}
  <p class="soft small">${tables(state).map((each) => html`${each}<br>`)}Solid: the new token. Dashed: a free page.</p>${line(state)}`;

/** @param {State} state */
const numbers = (state) =>
  html`<ol>${DUTIES.map((duty, i) => html`<li>${duties(state).includes(i) ? html`<strong>${duty}</strong>` : duty}</li>`)}</ol> ${foundTable(state)}`;

/** @param {State} state @param {(change: Partial<State>) => void} set */
function more(state, set) {
  const atEnd = state.step >= lastStep(state);
  const again = (/** @type {Partial<State>} */ change) => set({ ...change, step: atEnd ? Infinity : 0 }); // whoever is at the end stays there
  const next = () => set({ step: 0, a: Math.min(state.a + 1, MAX.a), b: state.b ? Math.min(state.b + 1, MAX.b) : 0 });
  return html`
    ${button("The next token comes", next)}
    ${slider("Tokens of A", state.a, (a) => again({ a }), { min: 1, max: MAX.a })}
    ${slider("Tokens of B", state.b, (b) => again({ b }), { min: 0, max: MAX.b })}
    ${slider("Programs", state.programs, (programs) => again({ programs }), { min: 1, max: MAX.programs })}
    ${slider("Keys a block", state.block, (block) => again({ block }), { min: 1, max: MAX.block })}
    ${choice("Tokens a page", String(state.page), (page) => again({ page: Number(page) }), ["2", "4", "8"])}
    ${menu("What is done", state.wrong, (wrong) => again({ wrong }), WRONG)}
    ${textField("Query", state.query, (query) => again({ query }), 6)}
    ${textField("Keys, in turn", state.keys, (keys) => again({ keys }), 14)}
    ${textField("Values, in turn", state.values, (values) => again({ values }), 10)}
    ${checkbox("powers of 2, as by hand", state.board, (board) => set({ board }))}`;
}

/** Where the newest token of a sequence has gone. @param {State} state @param {number} sequence */
function sayAppended(state, sequence) {
  const token = problem(state).lengths[sequence] - 1;
  const { entry, row } = placeOf(token, state.page);
  const page = PAGES[sequence][entry];
  const found = `entry ${token} div ${state.page} = ${entry} of its table, ${row ? "" : "which takes a new one, "}page ${page}`;
  return `Token ${token} of ${letter(sequence)} goes to ${found}, row ${token} mod ${state.page} = ${row}.`;
}

/** @param {State} state */
function says(state) {
  const { lengths } = problem(state);
  const parts = partsByNow(state);
  const end = lastStep(state);
  if (state.step <= 0)
    return `A new token is about to be written. The past has ${lengths[0] - 1} in A${lengths[1] ? ` and ${lengths[1] - 1} in B` : ""}.`;
  if (state.step === 1)
    return lengths.flatMap((length, sequence) => (length ? sayAppended(state, sequence) : [])).join(" ");
  if (state.step === 2) {
    return `${blocksOf(parts)} blocks for ${state.programs} programs: nobody gets more than ${longest(state)}. Each loads the query of the sequence that its share begins in.`;
  }
  const [first] = parts;
  if (state.step < end - 1) {
    const reading = parts.find((part) => part.read > 0 && part.earlier + part.read === blocksRead(state)) ?? first;
    const read = `${reading.read} of its ${reading.count} ${reading.count === 1 ? "block" : "blocks"} of ${letter(reading.sequence)}`;
    return `Program ${reading.program} has read ${read}: maximum ${formatNumber(reading.max / Math.LN2)}, sum ${formatNumber(reading.sum)}, blend ${vector(reading.accumulator)}.`;
  }
  const split = lengths.findIndex((_, sequence) => parts.filter((part) => part.sequence === sequence).length > 1);
  if (state.step === end - 1) {
    if (split < 0) return "Nobody had to share a sequence, so each row is finished and written.";
    return `Each program divides as if its keys were all there are. Shared sequences leave an output and an lse for the merge.`;
  }
  if (state.wrong === "causal")
    return `Aligned top left, the query sees only key 0, so the row of A is value 0: ${vector(rowWritten(state, 0).output)}. Nothing crashes.`;
  if (split < 0) return `There’s nothing to merge. The row of A is ${vector(rowWritten(state, 0).output)}.`;
  const row = rowWritten(state, split);
  if (state.wrong === "average")
    return `Averaged, the parts of ${letter(split)} make ${vector(row.output)}. That’s wrong, because they didn’t find equally much.`;
  return `The parts of ${letter(split)} weigh ${row.weights.map((x) => `${formatNumber(100 * x, 1)} %`).join(", ")}, by what they found: together ${vector(row.output)}.`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "A step of decode, from the page to the merged row",
  initial,
  picture,
  numbers,
  more,
  says,
  lastStep,
};

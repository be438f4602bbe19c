// The grid of scores, tile by tile: what each program visits, masks and never reads, and what it keeps meanwhile.
import { html, nothing, svg } from "lit-html";
import { backward, forward, hidden, left, programs } from "./flash.model.js";
import { Refused } from "./frame.js";
import {
  checkbox,
  formatNumber,
  menu,
  parsePairs,
  requireInteger,
  slider,
  table,
  textField,
  vector,
} from "./controls.js";
import { output } from "./online_softmax.model.js";

const initial = {
  queries: "1 0, 1 1, 0 1",
  keys: "1 0, 0 1, 1 1",
  values: "10 0, 0 10, 5 5",
  douts: "1 0, 0 1, 1 1",
  blockQ: 2,
  blockK: 2,
  pass: "forward",
  causal: true,
  forget: false,
  board: true,
  step: 1,
};

/** @typedef {typeof initial} State */
/** @typedef {import("./flash.model.js").Problem & {dout: number[][]}} Problem */

const MAX = 12; // words

/** @param {State} state @returns {Problem} */
function problemOf(state) {
  const [q, k] = [parsePairs("Queries", state.queries, MAX), parsePairs("Keys", state.keys, MAX)];
  const [v, dout] = [parsePairs("Values", state.values, MAX), parsePairs("dO", state.douts, MAX)];
  if (v.length !== k.length) throw new Refused(`Values: ${v.length} rows for ${k.length} keys; each key has one.`);
  if (state.pass !== "forward" && dout.length !== q.length)
    throw new Refused(`dO: ${dout.length} rows for ${q.length} queries; each query has one.`);
  const [blockQ, blockK] = [
    requireInteger("Queries a block", state.blockQ, 1, MAX),
    requireInteger("Keys a block", state.blockK, 1, MAX),
  ];
  return {
    q,
    k,
    v,
    dout,
    blockQ,
    blockK,
    causal: state.causal,
    forget: state.forget,
    scale: state.board ? Math.LN2 : Math.SQRT1_2,
  };
}

/** @param {State} state */
function passOf({ pass }) {
  if (pass !== "forward" && pass !== "dq" && pass !== "dkdv")
    throw new Refused(`There is no pass “${pass}”; there are forward, dq and dkdv.`);
  return pass;
}

/** @param {State} state */
const lastStep = (state) => Math.max(...programs(passOf(state), problemOf(state)).map(({ tiles }) => tiles.length));

/** Tiles visited, tiles with a mask, and tiles of the whole grid. @param {State} state */
function countTiles(state) {
  const problem = problemOf(state);
  const all = programs(passOf(state), problem).flatMap(({ tiles }) =>
    tiles.map((tile, i) => ({ ...tile, when: i + 1 })),
  );
  const grid = Math.ceil(problem.q.length / state.blockQ) * Math.ceil(problem.k.length / state.blockK);
  return {
    visited: all.filter(({ when }) => when <= state.step).length,
    all: all.length,
    masked: all.filter(({ masked }) => masked).length,
    grid,
  };
}

/** @param {State} state */
function drawing(state) {
  const problem = problemOf(state);
  const { q, k, blockQ, blockK } = problem;
  const byKeys = state.pass === "dkdv";
  const [down, across] = [Math.ceil(q.length / blockQ) * blockQ, Math.ceil(k.length / blockK) * blockK];
  const [x0, y0] = [byKeys ? 34 : 68, byKeys ? 46 : 24];
  const cell = Math.min(64, (478 - x0) / across);
  const dashes = (/** @type {number} */ query, /** @type {number} */ key) =>
    svg`<rect class="soft stroke thin dashes" x=${x0 + key * cell + 3} y=${y0 + query * cell + 3} width=${blockK * cell - 6} height=${blockQ * cell - 6} />`;
  const visits = new Map();
  const starts = programs(passOf(state), problem).map(({ first, tiles }, i) => {
    tiles.forEach((tile, at) =>
      visits.set(byKeys ? `${tile.first} ${first}` : `${first} ${tile.first}`, { masked: tile.masked, when: at + 1 }),
    );
    return byKeys
      ? svg`<text class="middle query" x=${x0 + (first + blockK / 2) * cell} y="16">P${i + 1}</text>`
      : svg`<text class="query" x="0" y=${y0 + (first + blockQ / 2) * cell + 5}>P${i + 1}</text>`;
  });
  const inside = (
    /** @type {number} */ query,
    /** @type {number} */ key,
    /** @type {boolean} */ masked,
    /** @type {boolean} */ now,
  ) => {
    const [x, y] = [x0 + key * cell, y0 + query * cell];
    if (masked && !state.forget && hidden(problem, query, key)) {
      const [from, size] = [cell * 0.35, cell * 0.3];
      return svg`<path class="soft stroke thin" d=${`M${x + from} ${y + from} l${size} ${size} m0 ${-size} l${-size} ${size}`} />`;
    }
    if (!now || query >= q.length) return nothing;
    const product = key < k.length ? q[query][0] * k[key][0] + q[query][1] * k[key][1] : 0;
    return svg`<text class=${cell < 40 ? "middle small ink" : "middle ink"} x=${x + cell / 2} y=${y + cell / 2 + 5}>${formatNumber(product, 1)}</text>`;
  };
  const tile = (/** @type {number} */ query, /** @type {number} */ key) => {
    const visit = visits.get(`${query} ${key}`);
    if (!visit) return dashes(query, key);
    const now = visit.when === state.step;
    const cells = Array.from({ length: blockQ * blockK }, (_, i) =>
      inside(query + Math.floor(i / blockK), key + (i % blockK), visit.masked, now),
    );
    const place = [x0 + key * cell + 3, y0 + query * cell + 3, blockK * cell - 6, blockQ * cell - 6];
    const box = (/** @type {string} */ look) =>
      svg`<rect class=${look} x=${place[0]} y=${place[1]} width=${place[2]} height=${place[3]} />`;
    if (visit.when > state.step) return box("query stroke thin");
    return svg`${now ? nothing : box("query fill tint")}${box(now ? "accent stroke" : "query stroke thin")}${cells}
      ${now ? nothing : svg`<text class="middle query" x=${x0 + (key + 0.5) * cell} y=${y0 + (query + blockQ - 0.5) * cell + 5}>${visit.when}</text>`}`;
  };
  const each = (
    /** @type {number} */ stop,
    /** @type {number} */ block,
    /** @type {(first: number) => unknown} */ draw,
  ) => Array.from({ length: Math.ceil(stop / block) }, (_, i) => draw(i * block));
  return html`<svg viewBox="0 0 480 ${y0 + down * cell}" role="img" aria-label="The grid of scores in tiles, queries down and keys across. Each program visits its own tiles in order; ${describeTiles(state)}">
    ${starts}
    ${q.map((_, query) => svg`<text class="small end soft" x=${x0 - 6} y=${y0 + (query + 0.5) * cell + 5}>q${query + 1}</text>`)}
    ${k.map((_, key) => svg`<text class="small middle soft" x=${x0 + (key + 0.5) * cell} y=${y0 - 6}>k${key + 1}</text>`)}
    ${each(q.length, blockQ, (query) => each(k.length, blockK, (key) => tile(query, key)))}
  </svg>`;
}

/** @param {State} state */
function describeTiles(state) {
  const { visited, all, masked, grid } = countTiles(state);
  const never = grid - all ? `${grid - all} more ${grid - all === 1 ? "is" : "are"} never read` : "none is left out";
  return `${visited} of ${all} tiles are visited; ${masked || "none"} of the ${all} ${masked > 1 ? "need" : "needs"} a mask, and ${never}.`;
}

/** What the programs keep, a row for each query or key. @param {State} state */
function stateTable(state) {
  const problem = problemOf(state);
  const right = { ...problem, forget: false };
  const owned = state.pass === "dkdv" ? problem.k : problem.q;
  const name = (/** @type {number} */ row) => `${state.pass === "dkdv" ? "k" : "q"}${row + 1}`;
  const truth = (/** @type {number[]} */ row) => (state.forget ? [vector(row)] : []);
  const more = state.forget ? ["should become"] : [];
  if (state.pass === "forward") {
    const [states, ends] = [forward(problem, state.step), forward(right, Infinity)];
    const before = forward(problem, state.step - 1);
    const rescaled = states.map(({ seen, factor }, row) => (before[row].seen > 0 && seen > before[row].seen ? `× ${formatNumber(factor)}` : "–"));
    const cells = states.map((each, row) =>
      [name(row), formatNumber(each.max / Math.LN2), formatNumber(each.sum), vector(each.accumulator), vector(output(each)), ...truth(output(ends[row])), rescaled[row]]);
    return table("What each query has", ["", "maximum", "sum", "blend", "output", ...more, "rescaled by"], cells);
  }
  const pass = state.pass === "dq" ? "dq" : "dkdv";
  const [sums, ends] = [backward(pass, problem, state.step), backward(pass, right, Infinity)];
  const scaled = (/** @type {number[]} */ row) => row.map((x) => x * Math.SQRT1_2);
  if (state.pass === "dq") {
    const known = left(problem);
    const cells = owned.map((_, row) => [
      name(row),
      formatNumber(known[row].lse / Math.LN2),
      formatNumber(known[row].delta),
      vector(sums.dq[row]),
      vector(scaled(sums.dq[row])),
      ...truth(scaled(ends.dq[row])),
    ]);
    return table("What each query has", ["", "lse", "D", "dS K", "dQ", ...more], cells);
  }
  const cells = owned.map((_, row) => [
    name(row),
    vector(sums.dv[row]),
    vector(sums.dk[row]),
    vector(scaled(sums.dk[row])),
    ...truth(scaled(ends.dk[row])),
  ]);
  return table("What each key has", ["", "dV", "dSᵀ Q", "dK", ...more], cells);
}

/** @param {State} state */
const numbers = (state) => html`${stateTable(state)}
  <p class="soft">P1 starts first${state.pass === "forward" && state.causal ? ", because it has the most tiles" : ""}. Thick: the tile that a program has just made, with its dot products. Shaded: visited and forgotten, with the step. Thin: still to come. ×: masked. Dashed: never read.</p>`;

/**
 * A text of so many rows: the first as they are, the others at random.
 * @param {string} text @param {number} count @param {() => number[]} random
 */
function resize(text, count, random) {
  const old = parsePairs("Rows", text, MAX);
  return Array.from({ length: count }, (_, i) => (old[i] ?? random()).join(" ")).join(", ");
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
function more(state, set) {
  const small = () => Math.floor(Math.random() * 4) - 1;
  const row = () => [small(), small()];
  const count = parsePairs("Queries", state.queries, MAX).length;
  const words = (/** @type {number} */ count) => {
    const { queries, keys, values, douts } = state;
    const value = (first = Math.floor(Math.random() * 11)) => [first, 10 - first];
    set({
      queries: resize(queries, count, row),
      keys: resize(keys, count, row),
      values: resize(values, count, value),
      douts: resize(douts, count, row),
    });
  };
  const again = (/** @type {Partial<State>} */ change) => set({ ...change, step: 0 });
  return html`
    ${menu("Pass", state.pass, (pass) => again({ pass, douts: resize(state.douts, count, row) }), [
      ["forward", "forward"],
      ["dq", "backward: dQ"],
      ["dkdv", "backward: dK and dV"],
    ])}
    ${slider("Words", count, words, { min: 1, max: MAX })}
    ${slider("Queries a block", state.blockQ, (blockQ) => again({ blockQ }), { min: 1, max: 4 })}
    ${slider("Keys a block", state.blockK, (blockK) => again({ blockK }), { min: 1, max: 4 })}
    ${textField("Queries", state.queries, (queries) => set({ queries }), 13)}
    ${textField("Keys", state.keys, (keys) => set({ keys }), 13)}
    ${textField("Values", state.values, (values) => set({ values }), 13)}
    ${state.pass === "forward" ? nothing : textField("dO", state.douts, (douts) => set({ douts }), 13)}
    ${checkbox("causal", state.causal, (causal) => again({ causal }))}
    ${checkbox("forget the mask", state.forget, (forget) => set({ forget }))}
    ${checkbox("powers of 2, as by hand", state.board, (board) => set({ board }))}`;
}

/** @param {State} state */
function says(state) {
  const all = describeTiles(state);
  const sentence = all[0].toUpperCase() + all.slice(1);
  if (state.step <= 0) return `All programs are about to begin, side by side: ${all}`;
  if (state.pass !== "forward") {
    if (state.step < lastStep(state)) return `${sentence} Each sum belongs to one program, so two runs agree bit for bit.`;
    return `${sentence} Each sum is complete.`;
  }
  const problem = problemOf(state);
  const [now, before] = [forward(problem, state.step), forward(problem, state.step - 1)];
  const moved = now.findIndex((each, row) => each.max > before[row].max && before[row].seen > 0);
  if (state.step === 1) return `${sentence} It was the first tile of each query, so there was nothing to rescale.`;
  if (moved < 0) return `${sentence} No maximum moved, so nothing has to be rescaled.`;
  const [from, to] = [before[moved].max / Math.LN2, now[moved].max / Math.LN2];
  return `${sentence} The maximum of query ${moved + 1} moves from ${formatNumber(from)} to ${formatNumber(to)}: what it kept is now worth ${formatNumber(now[moved].factor)} of it.`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "Attention, tile by tile",
  initial,
  picture: drawing,
  numbers,
  more,
  says,
  lastStep,
  next: () => "Next tile",
};

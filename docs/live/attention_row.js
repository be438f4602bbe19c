// Attention of a few words: all shares as a spreadsheet, and the row of one word from its scores to its output.
import { html, nothing, svg } from "lit-html";
import { Refused } from "./frame.js";
import { checkbox, formatNumber, menu, parseNumbers, pluralize, slider, table, textField, vector } from "./controls.js";
import { dot, products, shares, sum, transposed, weightedSum } from "./attention_row.model.js";

const initial = {
  queries: "1 0; 1 1; 0 1",
  keys: "1 0; 0 1; 1 1",
  values: "10 0; 0 10; 5 5",
  word: 1,
  scores: "", // the dot products of that word, where the reader has moved them
  times: 1,
  divide: true,
  columns: false,
};

/** @typedef {typeof initial} State */

const MAX = 20; // a number of a query, key or value

/** A row of numbers a word. @param {string} name @param {string} text @param {number} [width] */
function rowsOf(name, text, width) {
  const texts = text.split(/[;/]/).filter((each) => each.trim());
  const rows = texts.map((each, i) =>
    parseNumbers(`${name}, row ${i + 1}`, each, { min: -MAX, max: MAX, count: [1, 3] }),
  );
  if (rows.length < 2 || rows.length > 4)
    throw new Refused(`${name}: ${pluralize(rows.length, "row")}; 2 to 4 are wanted, with a semicolon between them.`);
  const wanted = width ?? rows[0].length;
  const other = rows.findIndex((row) => row.length !== wanted);
  if (other >= 0)
    throw new Refused(
      `${name}, row ${other + 1}: ${pluralize(rows[other].length, "number")}; ${wanted} ${wanted === 1 ? "is" : "are"} wanted.`,
    );
  return rows;
}

/** All that is shown. @param {State} state */
function derive(state) {
  const queries = rowsOf("Queries", state.queries);
  const d = queries[0].length;
  const [keys, values] = [rowsOf("Keys", state.keys, d), rowsOf("Values", state.values)];
  for (const [name, rows] of /** @type {[string, number[][]][]} */ ([
    ["Keys", keys],
    ["Values", values],
  ])) {
    if (rows.length !== queries.length)
      throw new Refused(`${name}: ${rows.length} rows, but ${queries.length} words ask.`);
  }
  const word = state.word - 1;
  if (!queries[word]) throw new Refused(`Word ${state.word}: there are ${queries.length}.`);
  const raw = products(queries, keys);
  if (state.scores) raw[word] = parseNumbers("Scores", state.scores, { count: [keys.length, keys.length] });
  const factor = state.times / (state.divide ? Math.sqrt(d) : 1);
  const scores = raw.map((row) => row.map((score) => score * factor));
  const powers = scores.map((row) => row.map(Math.exp));
  const high = Math.max(...powers.flat());
  if (high === Infinity)
    throw new Refused(`e to the ${formatNumber(Math.max(...scores.flat()))} is more than 64 bits can hold.`);
  const all = shares(scores, state.columns);
  const divisors = state.columns ? transposed(powers).map(sum) : keys.map(() => sum(powers[word]));
  return {
    queries,
    keys,
    values,
    d,
    word,
    raw,
    scores,
    powers,
    divisors,
    all,
    row: all[word],
    output: weightedSum(all[word], values),
  };
}

/** @param {number} share */
const percent = (share) => `${formatNumber(100 * share, 1)} %`;

/** @param {number[]} row */
const upright = (row) => row.map((x) => html`<div>${formatNumber(x, 2)}</div>`);

/**
 * The shares as slices; what is missing from a whole stays open, what is too much goes round once more outside.
 * @param {number[]} row
 */
function pie(row) {
  const at = (/** @type {number} */ part, /** @type {number} */ r) => {
    const turn = 2 * Math.PI * Math.min(part, 0.99999);
    return `${100 + r * Math.sin(turn)} ${100 - r * Math.cos(turn)}`;
  };
  let seen = 0;
  const slices = row.map((share, i) => {
    const [from, to] = [seen, Math.min(1, (seen += share))];
    if (to - from < 0.001) return nothing;
    const middle = at((from + to) / 2, 48).split(" ");
    return svg`<path class="query fill" d="M100 100 L${at(from, 80)} A80 80 0 ${to - from > 0.5 ? 1 : 0} 1 ${at(to, 80)} Z" />
      <path class="paper stroke" d="M100 100 L${at(from, 80)}" />
      ${to - from > 0.06 ? svg`<text class="paper middle" x=${middle[0]} y=${Number(middle[1]) + 6}>${i + 1}</text>` : nothing}`;
  });
  const over = Math.min(1, seen - 1);
  return svg`<circle class="line stroke" cx="100" cy="100" r="80" />${slices}
    ${over > 1e-9 ? svg`<path class="accent stroke" d="M${at(0, 90)} A90 90 0 ${over > 0.5 ? 1 : 0} 1 ${at(over, 90)}" />` : nothing}`;
}

/** @param {ReturnType<typeof derive>} now */
function drawing({ row, word }) {
  const height = 160 / row.length;
  const whole = sum(row);
  const fault = whole > 1 + 1e-9 ? "arc: beyond 100 %" : whole < 1 - 1e-9 ? "gap: not handed out" : "";
  const bar = (/** @type {number} */ share, /** @type {number} */ i) => {
    const y = 20 + height * i;
    return svg`<text class="soft" x="216" y=${y + height / 2 + 5}>${i + 1}</text>
      <rect class="query fill moves" x="238" y=${y + 6} width=${Math.max(1, 160 * share)} height=${height - 12} />
      <text class="ink" x=${244 + 160 * share} y=${y + height / 2 + 5}>${percent(share)}</text>`;
  };
  return html`<svg viewBox="0 0 480 ${fault ? 222 : 200}" role="img" aria-label=${`How word ${word + 1} shares its attention, as a pie and as bars: ${row.map(percent).join(", ")}.`}>
    ${pie(row)} ${row.map(bar)}
    ${fault ? svg`<text class="accent middle" x="100" y="215">${fault}</text>` : nothing}
  </svg>`;
}

/** Every word's row, with the sum that should be 100 %. @param {ReturnType<typeof derive>} now */
function sheet({ queries, keys, scores, all, word }) {
  const name = (/** @type {number} */ i) => (i === word ? html`<strong>▸ query ${i + 1}</strong>` : `query ${i + 1}`);
  return table(
  "The shares of all words: the row asks, the column is looked at",
  ["", ...keys.map((key, i) => html`key ${i + 1}<br>${vector(key)}`), "sum"],
  all.map((row, i) => [
    html`${name(i)}<br>${vector(queries[i])}`,
    ...row.map((share, j) => html`<small>${formatNumber(scores[i][j], 2)}</small><br>${percent(share)}`),
    html`<br>${percent(sum(row))}`,
  ]),
  );
}

/** One word's row, a line a step. @param {State} state @param {ReturnType<typeof derive>} now */
function steps(state, { queries, keys, values, d, word, raw, scores, powers, divisors, row, output }) {
  const three = (/** @type {number[]} */ line) => line.map((x) => formatNumber(x));
  const lines = [
    ["q · k", ...three(raw[word]), ""],
    state.divide ? [`÷ √${d}`, ...three(raw[word].map((x) => x / Math.sqrt(d))), ""] : null,
    state.times === 1 ? null : [`× ${formatNumber(state.times)}`, ...three(scores[word]), ""],
    ["e to it", ...three(powers[word]), state.columns ? "" : formatNumber(sum(powers[word]))],
    [state.columns ? "÷ column" : "÷ sum", ...three(divisors), ""],
    ["share", ...row.map(percent), percent(sum(row))],
    ["value", ...values.map((value) => upright(value)), ""],
    [
      "share of it",
      ...values.map((value, i) => upright(value.map((x) => x * row[i]))),
      html`<strong>${upright(output)}</strong>`,
    ],
  ];
  const head = [`word ${word + 1}`, ...keys.map((_, i) => `key ${i + 1}`), "sum"];
  return table(`From the scores of word ${word + 1} to its output`, head, lines.filter((line) => line !== null));
}

/** @param {State} state */
const picture = (state) => drawing(derive(state));

/** @param {State} state */
const tables = (state) => html`${sheet(derive(state))} ${steps(state, derive(state))}`;

/**
 * One dot product of the word that asks.
 * @param {State} state @param {number} i @param {(change: Partial<State>) => void} set
 */
function score(state, i, set) {
  const { raw, word } = derive(state);
  const value = raw[word][i];
  const move = (/** @type {number} */ score) =>
    set({ scores: raw[word].map((old, j) => (i === j ? score : old)).join(" ") });
  return slider(`q · k, key ${i + 1}`, value, move, { min: Math.min(-5, value), max: Math.max(10, value), step: 0.5 });
}

const MOVED = 1; // the key whose dot product is the one to move first

/** @param {State} state @param {(change: Partial<State>) => void} set */
const primary = (state, set) => score(state, MOVED, set);

/** @param {State} state @param {(change: Partial<State>) => void} set */
function more(state, set) {
  const now = derive(state);
  return html`
    ${now.keys.map((_, i) => (i === MOVED ? nothing : score(state, i, set)))}
    ${slider("Scores multiplied by", state.times, (times) => set({ times }), { min: 0, max: 4, step: 0.25 })}
    ${menu("Softmax runs", String(state.columns), (columns) => set({ columns: columns === "true" }), [
      ["false", "along each row"],
      ["true", "down each column"],
    ])}
    ${menu(
      "Who asks",
      String(state.word),
      (word) => set({ word: Number(word), scores: "" }),
      now.queries.map((_, i) => [String(i + 1), `word ${i + 1}`]),
    )}
    ${checkbox(`divide by √d = √${now.d}`, state.divide, (divide) => set({ divide }))}
    ${textField("Queries, a row a word", state.queries, (queries) => set({ queries, scores: "" }), 15)}
    ${textField("Keys", state.keys, (keys) => set({ keys, scores: "" }), 15)}
    ${textField("Values", state.values, (values) => set({ values }), 15)}`;
}

/** @param {State} state @param {State} previous */
function says(state, previous) {
  const { row, output, scores, word } = derive(state);
  const all = sum(row);
  if (state.columns) {
    return `Softmax ran down the columns. Each of them adds up to 100 %, but word ${word + 1} hands out ${percent(all)} of its attention.`;
  }
  const best = Math.max(...row);
  const result = `Word ${word + 1} takes home ${vector(output)}.`;
  const before = state.word === previous.word ? Math.max(...derive(previous).row) : best;
  const spread = Math.max(...scores[word]) - Math.min(...scores[word]);
  if (spread === 0)
    return `All scores of word ${word + 1} are equal, so it takes ${percent(best)} from everyone. ${result}`;
  const ratio = `Its highest score is ${formatNumber(spread, 2)} above its lowest, so their shares are ${formatNumber(Math.exp(spread), 2)} to 1.`;
  if (Math.abs(best - before) < 1e-9) return `${ratio} ${result}`;
  return `The largest share ${best > before ? "rises" : "falls"} from ${percent(before)} to ${percent(best)}. ${ratio} ${result}`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "Three words, from scores to shares to a blend",
  initial,
  picture,
  numbers: tables,
  primary,
  more,
  says,
};

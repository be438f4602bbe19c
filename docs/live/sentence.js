// A sentence: choose a word and see whom it looks at.
import { html, nothing, svg } from "lit-html";
import { Refused } from "./frame.js";
import { checkbox, formatNumber, slider, table } from "./controls.js";
import { allPairs, KEYS, QUERIES } from "./sentence.model.js";

const initial = { word: 3, times: 1, causal: false };

/** @typedef {typeof initial} State */

const NAMES = ["the 1", "cat", "sat", "on", "the 2", "mat"];

/** @param {State} state */
function derive(state) {
  const word = state.word - 1;
  if (!NAMES[word]) throw new Refused(`Word ${state.word}: the sentence has ${NAMES.length}.`);
  const { scores, shares } = allPairs(state.times, state.causal);
  return { word, scores, shares, row: shares[word] };
}

/** @param {number} share */
const percent = (share) => `${formatNumber(100 * share, share > 0 && share < 0.01 ? 1 : 0)} %`;

/**
 * Arcs from the word that asks to those it looks at, as thick as their shares.
 * @param {State} state @param {ReturnType<typeof derive>} now
 */
function arcs({ causal }, { word, row }) {
  const x = (/** @type {number} */ i) => 80 * i + 40;
  const arc = (/** @type {number} */ share, /** @type {number} */ i) => {
    const from = x(word);
    const high = 85 - 22 * Math.abs(i - word); // of a curve that rises three quarters of the way there
    const path =
      i === word
        ? `M${from - 13} 112 C${from - 52} 48 ${from + 52} 48 ${from + 13} 112`
        : `M${from} 112 C${from} ${high} ${x(i)} ${high} ${x(i)} 112`;
    return share < 0.001
      ? nothing
      : svg`<path class="query stroke" style="stroke-width: ${1 + 18 * share}" d=${path} />`;
  };
  const label = (/** @type {number} */ share, /** @type {number} */ i) =>
    svg`<text class="middle ${share < 0.001 ? "soft" : "ink"}" x=${x(i)} y="134">${causal && i > word ? "hidden" : percent(share)}</text>`;
  const said = `Arcs from ${NAMES[word]} to the words that it looks at: ${NAMES.map((name, i) => `${name} ${percent(row[i])}`).join(", ")}.`;
  return html`<svg viewBox="0 0 480 140" role="img" aria-label=${said}>${row.map(arc)} ${row.map(label)}</svg>`;
}

/**
 * All pairs: each cell its dot product, the darker the larger its share of the row.
 * @param {State} state @param {ReturnType<typeof derive>} now
 */
function grid({ causal }, { word, scores, shares }) {
  const cell = (/** @type {number} */ score, /** @type {number} */ i, /** @type {number} */ j) =>
    html`<span class="hb-live__cell" style="--part: ${shares[i][j]}">${causal && j > i ? "−∞" : score}</span>`;
  const name = (/** @type {number} */ i) => (i === word ? html`<strong>▸ ${NAMES[i]}</strong>` : NAMES[i]);
  return table(
    "Dot products: the row asks, the column is looked at",
    ["asks", ...NAMES],
    scores.map((row, i) => [name(i), ...row.map((score, j) => cell(score, i, j))]),
  );
}

/**
 * What the chosen word asks for, against what each word offers.
 * @param {State} state @param {ReturnType<typeof derive>} now
 */
function detail({ causal, times }, { word, scores, row }) {
  const factor = html`${times === 1 ? "" : html`× ${formatNumber(times)}<br>`}÷ √4<br>= score`;
  const line = (/** @type {string} */ name, /** @type {number} */ i) => {
    const score = causal && i > word ? -Infinity : scores[word][i];
    return [name, ...KEYS[i], formatNumber(score), formatNumber(score === -Infinity ? score : (score * times) / 2), percent(row[i])];
  };
  return table(
    `${NAMES[word]} against each key`,
    ["offers", "thing", "action", "place", "link", "q · k", factor, "share"],
    [[html`<strong>▸ asks</strong>`, ...QUERIES[word], "", "", ""], ...NAMES.map(line)],
  );
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
function picture(state, set) {
  const now = derive(state);
  const button = (/** @type {string} */ name, /** @type {number} */ i) => html`<button type="button" aria-label=${name}
    aria-pressed=${String(i === now.word)} @click=${() => set({ word: i + 1 })}>${name.split(" ")[0]}</button>`;
  return html`${arcs(state, now)}<div class="hb-live__words" role="group" aria-label="Who asks">${NAMES.map(button)}</div>`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
const primary = (state, set) => checkbox("causal mask", state.causal, (causal) => set({ causal }));

/** @param {State} state @param {(change: Partial<State>) => void} set */
const more = (state, set) =>
  slider("Scores multiplied by", state.times, (times) => set({ times }), { min: 0, max: 4, step: 0.25 });

/** @param {State} state */
const tables = (state) => html`${grid(state, derive(state))} ${detail(state, derive(state))}`;

/** @param {string[]} names */
const listed = (names) => (names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}` : names[0]);

/** @param {State} state */
function says(state) {
  const { word, row } = derive(state);
  const name = NAMES[word];
  const best = Math.max(...row);
  const most = NAMES.filter((_, i) => Math.abs(row[i] - best) < 1e-9);
  const each = most.length > 1 ? `${percent(best)} each` : percent(best);
  const later = NAMES.slice(word + 1);
  const hidden =
    state.causal && later.length ? ` Later words are hidden before softmax, so the others still add up to 100 %.` : "";
  if (state.causal && word === 0)
    return `“${name}” is the first word, so it sees only itself: 100 %. The second “the” asks the same and sees more.`;
  if (most.length > 1 && most.length === row.filter((share) => share > 0).length)
    return `“${name}” looks at everything it sees alike: ${each}.${hidden}`;
  return `“${name}” asks for (${QUERIES[word].join(", ")}) and looks most at ${listed(most)}: ${each}.${hidden}`;
}

/** @type {import("./frame.js").Piece<State>} */
export default { title: "Who looks at whom in a sentence", initial, picture, numbers: tables, primary, more, says };

// One row of scores in a type of number: the formula as it stands beside the one that subtracts the maximum.
import { html, svg } from "lit-html";
import { Refused } from "./frame.js";
import { button, choice, numbers, shown, slider, table, textField } from "./parts.js";
import { TYPES, softmaxIn } from "./overflow.model.js";

const start = { scores: "11 10 9", type: "FP16" };

/** @typedef {typeof start} S */
/** @typedef {ReturnType<typeof softmaxIn>} Softmax */

/** @param {S} state */
function worked({ scores, type }) {
  const typed = numbers("Scores", scores, { most: 1e6, least: -Infinity, count: [1, 4] });
  if (!(type in TYPES)) throw new Refused(`There is no ${type}; there is ${Object.keys(TYPES).join(", ")}.`);
  return { typed, naive: softmaxIn(type, typed, false), safe: softmaxIn(type, typed, true) };
}

/** @param {number} value */
const percent = (value) => (Number.isNaN(value) ? "NaN" : `${shown(100 * value, 1)} %`);

/** Bars of both forms, one pair a score; where there is no number, a word. @param {Softmax} naive @param {Softmax} safe */
function drawing(naive, safe) {
  const height = 52;
  const bar = (/** @type {number} */ share, /** @type {number} */ y, /** @type {string} */ colour) => svg`
    <rect class="${colour} fill moves" x="128" y=${y} width=${Math.max(1, 275 * (share || 0))} height="17" />
    <text class="${colour} small" x=${135 + 275 * (share || 0)} y=${y + 14}>${percent(share)}</text>`;
  const pair = (/** @type {number} */ score, /** @type {number} */ i) => svg`
    <text class="ink" x="0" y=${height * i + 32}>${shown(score)}</text>
    <text class="accent small end" x="120" y=${height * i + 22}>naive</text>${bar(naive.shares[i], height * i + 8, "accent")}
    <text class="query small end" x="120" y=${height * i + 42}>safe</text>${bar(safe.shares[i], height * i + 28, "query")}`;
  const said = `Two shares for each score. Naive: ${naive.shares.map(percent).join(", ")}. Safe: ${safe.shares.map(percent).join(", ")}.`;
  return html`<svg viewBox="0 0 480 ${height * naive.stored.length + 6}" role="img" aria-label=${said}>${naive.stored.map(pair)}</svg>`;
}

/** @param {S} state */
function lines(state) {
  const { type } = state;
  const { naive, safe } = worked(state);
  const line = (/** @type {string} */ name, /** @type {number[]} */ row, /** @type {number | string} */ sum = "") => [
    name, ...row.map((x) => shown(x)), typeof sum === "number" ? shown(sum) : sum,
  ];
  return table(`Both forms of softmax in ${type}`, [type, ...naive.stored.map((_, i) => `score ${i + 1}`), "sum"], [
    line("score", naive.stored),
    line("e to it", naive.powers, naive.sum),
    ["naive share", ...naive.shares.map(percent), ""],
    line("− maximum", safe.lowered),
    line("e to it", safe.powers, safe.sum),
    ["safe share", ...safe.shares.map(percent), ""],
  ]);
}

/** @param {S} state */
function picture(state) {
  const { naive, safe } = worked(state);
  return drawing(naive, safe);
}

/** @param {S} state @param {number} i @param {(change: Partial<S>) => void} set */
function score(state, i, set) {
  const { typed } = worked(state);
  const finite = typed[i] === -Infinity ? -20 : typed[i];
  return slider(`Score ${i + 1}`, finite, (to) => set(moved(state, i, to)), { min: Math.min(-20, finite), max: Math.max(100, finite), step: 0.5, told: shown(typed[i]) });
}

/** @param {S} state @param {number} i @param {number} to */
const moved = (state, i, to) => ({ scores: worked(state).typed.map((old, j) => (i === j ? to : old)).join(" ") });

/** @param {S} state @param {(change: Partial<S>) => void} set */
const primary = (state, set) => score(state, 0, set);

/** @param {S} state @param {(change: Partial<S>) => void} set */
const more = (state, set) => html`
  ${choice("Type", state.type, (type) => set({ type }), Object.keys(TYPES))}
  ${button("Set score 1 to 100", () => set(moved(state, 0, 100)))}
  ${textField("Scores", state.scores, (scores) => set({ scores }), 16)}
  ${worked(state).typed.slice(1).map((_, i) => score(state, i + 1, set))}`;

/** What the subtraction gained, and which shares are too small for the type all the same. @param {S} state @param {Softmax} safe @param {string} [gained] */
function lost(state, { stored, shares }, gained = "nothing overflows") {
  const gone = shares.filter((share, i) => share === 0 && stored[i] > -Infinity).length;
  const small = Math.min(...shares.filter((share) => share > 0));
  if (gone) return `With the maximum subtracted ${gained}, but ${gone === 1 ? "one share is" : `${gone} shares are`} too small for ${state.type}.`;
  return `With the maximum subtracted ${gained}${small < 1e-4 ? `, and the smallest share is ${shown(small, 2)}` : `, and the shares are right as far as ${state.type} rounds`}.`;
}

/** @param {S} state */
function told(state) {
  const { naive, safe } = worked(state);
  const [high, first] = [Math.max(...naive.stored), state.type];
  if (high === -Infinity) return "Every score is −∞, so there’s nothing to share. Naively 0/0 is NaN, and in the safe form −∞ minus the maximum −∞ is NaN already. Our kernels give 0.";
  if (high === Infinity) return `${first} can’t hold the score itself: it’s ∞ before softmax begins, and no form of softmax can fix that.`;
  if (naive.powers.includes(Infinity)) return `e to the ${shown(high)} doesn’t fit into ${first}. It’s ∞, ∞/∞ is NaN, and anything else divided by ∞ is 0. ${lost(state, safe)}`;
  if (naive.sum === Infinity) return `Each exponential fits into ${first}, but their sum doesn’t: it’s ∞, and every share is 0. No NaN, no warning.`;
  if (naive.sum === 0) return `Every exponential is too small for ${first} and becomes 0, and 0/0 is NaN. ${lost(state, safe, "the largest is 1")}`;
  const apart = Math.max(...naive.shares.map((share, i) => Math.abs(share - safe.shares[i])));
  return `Everything fits. The sum is ${shown(naive.sum)}, and the two forms ${apart === 0 ? "agree" : `differ by at most ${shown(100 * apart, 2)} percentage points, which is rounding`}.`;
}

/** @type {import("./frame.js").Piece<S>} */
export default { title: "A softmax that overflows, and one that doesn’t", start, picture, numbers: lines, primary, more, told };

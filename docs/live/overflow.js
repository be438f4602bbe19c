// One row of scores in a type of number: the formula as it stands beside the one that subtracts the maximum.
import { html, svg } from "lit-html";
import { Refused } from "./frame.js";
import { button, menu, numbers, shown, slider, table, textField } from "./parts.js";
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

/** @param {string} type @param {Softmax} naive @param {Softmax} safe */
function steps(type, naive, safe) {
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

/** @param {S} state @param {(change: Partial<S>) => void} set */
function view(state, set) {
  const { typed, naive, safe } = worked(state);
  const move = (/** @type {number} */ i, /** @type {number} */ to) => set({ scores: typed.map((old, j) => (i === j ? to : old)).join(" ") });
  const score = (/** @type {number} */ value, /** @type {number} */ i) => {
    const finite = value === -Infinity ? -20 : value;
    return slider(`Score ${i + 1}`, finite, (to) => move(i, to), { min: Math.min(-20, finite), max: Math.max(100, finite), step: 0.5, told: shown(value) });
  };
  return html`
    <div class="hb-live__row">
      ${textField("Scores", state.scores, (scores) => set({ scores }), 16)}
      ${menu("Type", state.type, (type) => set({ type }), Object.keys(TYPES).map((type) => [type, type]))}
      ${button("Set score 1 to 100", () => move(0, 100))}
    </div>
    <div class="hb-live__row">${typed.map(score)}</div>
    ${drawing(naive, safe)} ${steps(state.type, naive, safe)}`;
}

/** What the subtraction gained, and which shares are too small for the type all the same. @param {S} state @param {Softmax} safe @param {string} [gained] */
function lost(state, { stored, shares }, gained = "nothing overflows") {
  const gone = shares.filter((share, i) => share === 0 && stored[i] > -Infinity).length;
  const small = Math.min(...shares.filter((share) => share > 0));
  if (gone) return `With the maximum subtracted ${gained}; ${gone === 1 ? "one share is" : `${gone} shares are`} too small for ${state.type} and stored as 0.`;
  return `With the maximum subtracted ${gained}${small < 1e-4 ? `, and the smallest share is ${shown(small, 2)}` : `, and the shares are right as far as ${state.type} rounds`}.`;
}

/** @param {S} state */
function told(state) {
  const { naive, safe } = worked(state);
  const [high, first] = [Math.max(...naive.stored), state.type];
  if (high === -Infinity) return "Every score is −∞: there is nothing to share. Naive, 0/0 is NaN; safe, −∞ minus the maximum −∞ is NaN already. The kernel of this chapter gives 0.";
  if (high === Infinity) return `${first} has no room for the score itself: it is ∞ before softmax begins, and no form of softmax can mend that.`;
  if (naive.powers.includes(Infinity)) return `e to the ${shown(high)} does not fit ${first}: it is ∞, ∞/∞ is NaN, and all else divided by ∞ is 0. ${lost(state, safe)}`;
  if (naive.sum === Infinity) return `Each exponential fits ${first}, but their sum does not: it is ∞, and every share is 0. No NaN, no warning. ${lost(state, safe)}`;
  if (naive.sum === 0) return `Every exponential is too small for ${first} and stored as 0, and 0/0 is NaN. ${lost(state, safe, "the largest is 1")}`;
  const apart = Math.max(...naive.shares.map((share, i) => Math.abs(share - safe.shares[i])));
  return `Everything fits: the sum is ${shown(naive.sum)}, and the two forms differ by ${apart === 0 ? "nothing" : `at most ${shown(100 * apart, 2)} percentage points, which is rounding`}.`;
}

/** @type {import("./frame.js").Piece<S>} */
export default { title: "A softmax that overflows, and one that does not", start, view, told };

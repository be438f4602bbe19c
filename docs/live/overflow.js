// One row of scores in a type of number: each exponential, and their sum, and the largest number that the type has.
// Drag a score, and the formula as it stands runs over that edge; with the maximum subtracted, nothing does.
import { html, nothing, svg } from "lit-html";
import { Refused } from "./frame.js";
import { end, softmaxIn, TYPES } from "./overflow.model.js";
import { button, choice, formatNumber, grip, parseNumbers, table, textField } from "./controls.js";
import { stage } from "./strokes.js";

const initial = { scores: "9.75 10 10", type: "FP16" };

/** @typedef {typeof initial} State */
/** @typedef {ReturnType<typeof softmaxIn>} Softmax */

const [NAME, SHARE] = [64, 76]; // the room beside a track, for the exponential and for its share
const [TOP, HEAD] = [24, 44]; // the label of the edge, the title of a panel

/** @param {State} state */
function derive({ scores, type }) {
  const typed = parseNumbers("Scores", scores, { max: 1e6, min: -Infinity, count: [1, 4] });
  if (!(type in TYPES)) throw new Refused(`There is no ${type}; there is ${Object.keys(TYPES).join(", ")}.`);
  return { typed, naive: softmaxIn(type, typed, false), safe: softmaxIn(type, typed, true) };
}

/** @param {number} value */
const percent = (value) => (Number.isNaN(value) ? "NaN" : `${formatNumber(100 * value, 1)} %`);
/** @param {number} value */
const grouped = (value) => (value >= 1000 && value < 1e6 ? String(Math.round(value)).replace(/\B(?=\d{3}$)|\B(?=\d{6}$)/g, ",") : formatNumber(value, value < 10 ? 3 : 1));

/**
 * A panel: where e to the x is on its track, whose places are as far apart as the logarithms.
 * @param {string} type @param {number} x @param {number} top @param {number} width @param {number} line
 */
function panelAt(type, x, top, width, line) {
  const high = end(type);
  const [from, to] = [Math.ceil(-0.8 * high), Math.floor(1.25 * high)];
  const [left, right] = [x + NAME, x + width - SHARE];
  const clamp = (/** @type {number} */ exponent) => Math.min(to, Math.max(from, exponent));
  return {
    high, from, to, x, top, left, right, line,
    end: x + width,
    at: (/** @type {number} */ exponent) => left + ((right - left) * (clamp(exponent) - from)) / (to - from),
    row: (/** @type {number} */ i) => top + HEAD + line * (i + 0.5),
  };
}

/** @typedef {ReturnType<typeof panelAt>} Panel */

/**
 * A bar from 1 to where a number is; what the type can't hold is a ring, beyond the edge or at the end of the track.
 * @param {Panel} panel @param {number} y @param {number} exact its logarithm, before the type rounds it
 * @param {number} held as the type holds it @param {string} colour
 */
function bar(panel, y, exact, held, colour) {
  if (Number.isNaN(exact)) return svg`<text class="small soft" x=${panel.at(0) + 8} y=${y}>NaN</text>`;
  const fits = held > 0 && held < Infinity;
  const [x, one] = [
    held === Infinity ? Math.max(panel.at(exact), panel.at(panel.high) + 16) : panel.at(exact),
    panel.at(0),
  ];
  const ring = svg`<circle class="${colour} ${fits ? "fill" : "stroke ring"} moves" cx=${x} cy=${y} r="6" />`;
  const words = held === Infinity ? "∞" : grouped(held);
  return svg`<rect class="${colour} fill moves ${fits ? "" : "faint"}" x=${Math.min(x, one)} y=${y - 3} width=${Math.abs(x - one)} height="6" />${ring}
    <text class="small ${colour === "ink" ? "ink strong" : "soft"} ${exact > 0 ? "end" : ""}" x=${x + (exact > 0 ? (fits ? -2 : 4) : -6)} y=${y - 13}>${words}</text>`;
}

const power = (/** @type {number} */ exponent) =>
  svg`<tspan class="e">e</tspan><tspan class="sup" dy="-.5em">${formatNumber(exponent, 2)}</tspan>`;
/** The logarithm of a sum of exponentials, as exact as a drawing needs it. @param {number[]} row */
const logSum = (row) => {
  const max = Math.max(...row);
  return Number.isFinite(max) ? max + Math.log(row.reduce((sum, x) => sum + Math.exp(x - max), 0)) : max;
};

/**
 * One of the two forms: its exponentials, their sum, and the shares.
 * @param {Panel} panel @param {Softmax} form @param {unknown} title
 * @param {number[]} right the shares as they should be
 * @param {boolean} named whether the edge goes up to its name
 */
function drawPanel(panel, form, title, right, named) {
  const { x, top, left, line } = panel;
  const lines = form.lowered.map((score, i) => {
    const y = panel.row(i);
    const share = form.shares[i];
    const wrong = !(Math.abs(share - right[i]) <= 0.02 * right[i] + 1e-4);
    return svg`<text x=${x} y=${y + 6}>${power(score)}</text>${bar(panel, y, score, form.powers[i], "rose-fill")}
      <text class="end ${wrong ? "strong" : "soft"}" x=${panel.end} y=${y + 6}>${percent(share)}</text>`;
  });
  const [y, edge, foot] = [panel.row(form.lowered.length), panel.at(panel.high), panel.row(form.lowered.length + 0.5)];
  return svg`<rect class="track fill" x=${left} y=${top + HEAD - 12} width=${edge - left} height=${foot - top - HEAD + 12} />
    <path class="line stroke" d="M${panel.at(0)} ${top + HEAD - 12}V${foot}" /><path class="ink stroke" d="M${edge} ${named ? 2 : top + HEAD - 12}V${foot}" />
    <text class="strong" x=${x} y=${top + 16}>${title}</text><text class="small soft end" x=${panel.end} y=${top + 16}>share</text>
    ${lines}<text x=${x} y=${y + 6}>sum</text>${bar(panel, y, logSum(form.lowered), form.sum, "ink")}`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width }) {
  const { typed, naive, safe } = derive(state);
  const max = Math.max(...naive.stored);
  const panel = (/** @type {number} */ wide) => (wide < 600 ? panelAt(state.type, 0, TOP, wide, 36) : panelAt(state.type, 0, TOP, (wide - 64) / 2, 44));
  const draw = (/** @type {number} */ wide, /** @type {number} */ _, /** @type {boolean} */ paper) => {
    const beside = wide >= 600; // two panels beside each other, or one below the other
    const first = panel(wide);
    const { line, end: across } = first;
    const second = panelAt(
      state.type,
      beside ? across + 64 : 0,
      beside ? TOP : TOP + HEAD + line * (typed.length + 1) + 16,
      across,
      line,
    );
    const largest = state.type === "FP16" ? "65,504" : formatNumber(Math.exp(first.high), 2);
    const edges = (beside ? [first, second] : [first]).map((panel) => svg`
      <text class="small end" x=${panel.at(panel.high) - 8} y="14">${state.type} ends at ${largest}</text>
      <text class="small middle soft" x=${panel.at(0)} y=${TOP + 16}>1</text><text class="small middle soft" x=${(panel.at(panel.high) + panel.right) / 2 + 8} y=${TOP + 16}>∞</text>`,
    );
    return svg`${edges}${drawPanel(first, naive, "As it stands", safe.shares, true)}
      ${drawPanel(second, safe, Number.isFinite(max) ? `Minus ${formatNumber(max, 2)}` : "Minus the maximum", safe.shares, beside)}
      ${typed.map((score, i) => (paper || Number.isNaN(score) ? nothing : svg`<circle class="fill ink" cx=${first.at(score)} cy=${first.row(i)} r="10" />
        <path class="stroke paper" d="M${first.at(score) - 2} ${first.row(i) - 3}l-3 3l3 3m4 0l3 -3l-3 -3" />`))}`;
  };
  const said = `As it stands: ${naive.shares.map(percent).join(", ")}. With the maximum subtracted: ${safe.shares.map(percent).join(", ")}.`;
  const tall = (/** @type {number} */ line, /** @type {number} */ panels) =>
    TOP + panels * (HEAD + line * (typed.length + 1)) + 16 * (panels - 1) + 4;
  const held = panel(width);
  const hold = (/** @type {number} */ score, /** @type {number} */ i) =>
    grip(
      `Score ${i + 1}`,
      Math.max(held.from, Math.min(held.to, score)),
      (to) => set(moveScore(state, i, to)),
      { min: held.from, max: held.to, step: 0.25, inWords: formatNumber(score) },
      { from: held.at(held.from), to: held.at(held.to), y: held.row(i) },
    );
  return html`<div class="hb-live__grips">${stage(width, said, draw, [tall(36, 2), tall(44, 1)])}${width ? typed.map(hold) : nothing}</div>`;
}

/** @param {State} state */
function lines(state) {
  const { type } = state;
  const { naive, safe } = derive(state);
  const line = (/** @type {string} */ name, /** @type {number[]} */ row, /** @type {number | string} */ sum = "") => [
    name, ...row.map((x) => formatNumber(x)), typeof sum === "number" ? formatNumber(sum) : sum,
  ];
  return table(`Both forms of softmax in ${type}`, [type, ...naive.stored.map((_, i) => `score ${i + 1}`), "sum"], [
    line("score", naive.stored),
    line("e to it", naive.powers, naive.sum),
    ["share", ...naive.shares.map(percent), ""],
    line("− maximum", safe.lowered),
    line("e to it", safe.powers, safe.sum),
    ["share", ...safe.shares.map(percent), ""],
  ]);
}

/** @param {State} state @param {number} i @param {number} to */
const moveScore = (state, i, to) => ({ scores: derive(state).typed.map((old, j) => (i === j ? to : old)).join(" ") });

/** @param {State} state @param {(change: Partial<State>) => void} set */
const more = (state, set) => html`
  ${choice("Type", state.type, (type) => set({ type }), Object.keys(TYPES))}
  ${button("Set score 1 to 100", () => set(moveScore(state, 0, 100)))}
  ${textField("Scores", state.scores, (scores) => set({ scores }), 16)}
  ${lines(state)}`;

/**
 * What the subtraction gained, and which shares are too small for the type all the same.
 * @param {State} state @param {Softmax} safe @param {string} [gained]
 */
function sayLost(state, { stored, shares }, gained = "nothing overflows") {
  const gone = shares.filter((share, i) => share === 0 && stored[i] > -Infinity).length;
  const small = Math.min(...shares.filter((share) => share > 0));
  if (gone)
    return `Minus the maximum ${gained}, but ${gone === 1 ? "one share is" : `${gone} shares are`} too small for ${state.type}.`;
  return `Minus the maximum ${gained}${small < 1e-4 ? `, and the smallest share is ${formatNumber(small, 2)}` : ""}.`;
}

/** @param {State} state */
function says(state) {
  const { naive, safe } = derive(state);
  const [high, first] = [Math.max(...naive.stored), state.type];
  if (high === -Infinity)
    return "Every score is −∞, so there’s nothing to share. As it stands 0/0 is NaN, and −∞ minus the maximum −∞ is NaN already. Our kernels give 0.";
  if (high === Infinity)
    return `${first} can’t hold the score itself: it’s ∞ before softmax begins, and no form of softmax can fix that.`;
  if (naive.powers.includes(Infinity))
    return `e^{${formatNumber(high)}} doesn’t fit into ${first}: ∞/∞ is NaN, and all else over ∞ is 0. ${sayLost(state, safe)}`;
  if (naive.sum === Infinity)
    return `Each exponential fits, but their sum doesn’t. Every share is 0: no NaN, no warning.`;
  if (naive.sum === 0)
    return `Every exponential is too small for ${first} and becomes 0, and 0/0 is NaN. ${sayLost(state, safe, "the largest is 1")}`;
  const apart = Math.max(...naive.shares.map((share, i) => Math.abs(share - safe.shares[i])));
  return `The sum is ${grouped(naive.sum)}, as ${first} rounds it. It fits${naive.powers.includes(0) ? ", what’s too small is 0" : ""}, and both forms ${apart < 0.01 ? "agree" : "differ by rounding"}.`;
}

/** @type {import("./frame.js").Piece<State>} */
export default { title: "A softmax that overflows, and one that doesn’t", initial, picture, more, says };

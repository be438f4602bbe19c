// A row of scores that arrives in blocks, as bars, with a line that rests on the tallest so far, and what else the pieces
// about online softmax draw alike.
import { nothing, svg } from "lit-html";
import { formatNumber } from "./controls.js";
import { plain } from "./online_softmax.model.js";
import { clamp, group, path, rect, text } from "./strokes.js";

/** @typedef {import("./online_softmax.model.js").Run} Run */
/** @typedef {ReturnType<typeof import("./online_softmax.model.js").frame>} Frame */
/** @typedef {ReturnType<typeof barsAt>} BarsAt */

/**
 * Where the bars go, between two heights.
 * @param {Run} run @param {number} bars how wide all are @param {boolean} small @param {number} top
 * @param {number} floor
 */
export function barsAt({ scores, block, steps }, bars, small, top, floor) {
  const [n, blocks] = [scores.length, steps.length - 1];
  const gap = Math.min(small ? 6 : 16, (0.2 * bars) / n);
  const blockGap = Math.min(small ? 14 : 48, (0.4 * bars) / blocks);
  const bar = (bars - (blocks - 1) * blockGap - (n - blocks) * gap) / n;
  const finite = scores.filter(Number.isFinite);
  const low = Math.min(0, ...finite);
  const high = Math.max(low + 1, ...finite);
  const score = (/** @type {number} */ s) => floor - ((Math.max(low, s) - low) * (floor - top)) / (high - low);
  return {
    bars, bar, gap, blockGap, floor, score,
    x: (/** @type {number} */ i) => i * (bar + gap) + Math.floor(i / block) * (blockGap - gap),
    zero: score(0),
    row: floor + (small ? 26 : 32), // the scores' baseline
    bracket: floor + (small ? 40 : 48), // their brackets, each with a word below
  };
}

/**
 * The bars of the scores, the words below them, and the line that rests on the tallest so far.
 * @param {Run} run @param {Frame} now @param {BarsAt} at
 */
export function drawBars(run, now, at) {
  const { max } = run.steps[now.k];
  const card = at.floor - at.score(Math.max(...run.scores)); // what hasn't arrived lies face down, all alike
  const bars = now.bars.map(({ score, lit, gone, when }, i) => {
    const [x, y] = [at.x(i), score === -Infinity ? at.zero : at.score(score)];
    const middle = x + at.bar / 2;
    const below = y - at.score(max); // how far the bar stays below the line is the exponent
    const exponent = when === "now" && below > 24 && score > -Infinity;
    return [
      group(
        1 - lit,
        rect(x, at.floor - card, at.bar, card, "track"),
        text(middle, at.floor - 20, "middle soft hidden", "?"),
      ),
      rect(x, Math.min(y, at.zero - 3), at.bar, Math.max(3, Math.abs(y - at.zero)), "rose-fill", lit * (1 - gone)),
      text(middle, at.row, `under middle ${when === "now" ? "ink strong" : "soft"}`, plain(score), lit * (1 - gone)),
      group(
        gone * (1 - now.checked / 2),
        path(`M${x} ${at.floor}V${Math.min(y, at.zero - 3)}h${at.bar}V${at.floor}`, "line thin dashes"),
      ),
      exponent
        ? group(
            now.moved * (1 - now.fused),
            path(`M${middle} ${y - below + 4}V${y - 4}`, "rose thin dots"),
            text(middle, y - below / 2 + 5, "small middle rose halo", plain(score - max)),
          )
        : nothing,
    ];
  });
  const brackets = Array.from({ length: run.steps.length - 1 }, (_, block) => {
    const [first, last] = [block * run.block, Math.min((block + 1) * run.block, run.scores.length) - 1];
    return bracket(at.x(first), at.x(last) + at.bar, at.bracket, now.bars[last].when, at.blockGap);
  });
  const y = now.asked ? at.floor + (at.score(now.line) - at.floor) * now.asked : at.floor;
  const name = svg`max <tspan class="big">${plain(now.max)}</tspan>`;
  return [
    path(`M0 ${at.zero}H${at.bars}`, "line thin"),
    bars,
    brackets,
    rect(0, y - 4, at.bars, 4, "ink"),
    group(now.asked, text(0, y - 14, "soft halo", name)),
    group(
      now.checked,
      at.bars < 240
        ? [
            text(at.bars / 2, (at.floor + y) / 2 - 6, "middle hidden halo", "The scores"),
            text(at.bars / 2, (at.floor + y) / 2 + 22, "middle hidden halo", "are gone."),
          ]
        : text(at.bars / 2, (at.floor + y) / 2 + 8, "middle hidden halo", "The scores are gone."),
    ),
  ];
}

export const power = (/** @type {number} */ exponent) =>
  svg`<tspan class="e">e</tspan><tspan class="sup" dy="-.5em">${formatNumber(Math.round(10 * exponent) / 10)}</tspan>`;
/** How far a change is that waits for half of another one. @param {number} part */
export const secondHalf = (part) => clamp(0, 2 * part - 1, 1);

/**
 * A word below a line that spans what it names.
 * @param {number} x @param {number} right @param {number} y @param {string} name
 * @param {number} [overhang] how far the word may stick out
 */
export function bracket(x, right, y, name, overhang = 0) {
  const look = name === "now" ? "ink strong" : "soft";
  const fits = right - x + overhang > 8 * name.length + 4;
  return [
    path(`M${x} ${y}H${right}`, look === "soft" ? "line thin" : "ink"),
    fits ? text((x + right) / 2, y + 18, `small middle ${look}`, name) : nothing,
  ];
}

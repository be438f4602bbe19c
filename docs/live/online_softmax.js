// A softmax of scores that arrive in blocks: a line on the tallest so far, and one column that is the running sum.
import { html, nothing, svg } from "lit-html";
import { barsAt, bracket, drawBars, power, secondHalf } from "./bars.js";
import { typeset } from "./frame.js";
import { checkbox, parseNumbers, requireInteger, slider, textField } from "./controls.js";
import { blocks, chain, fixed, frame, numberWord, plain, readInBlocks, says, schedule } from "./online_softmax.model.js";
import { clamp, group, hundredths, path, rect, stage, text } from "./strokes.js";

const initial = { scores: "1 0 2 1 0 2", block: 2, forget: false, step: 0 };

/** @typedef {typeof initial} State */
/** @typedef {import("./online_softmax.model.js").Run} Run */
/** @typedef {ReturnType<typeof frame>} Frame */
/** @typedef {ReturnType<typeof layout>} Layout */

const MAX = 8; // scores

/** @param {State} state */
const runOf = (state) =>
  readInBlocks(
    parseNumbers("Scores", state.scores, { max: 999, count: [2, MAX] }),
    requireInteger("Scores a block", state.block, 1, MAX),
    state.forget,
  );

/** @param {State} state */
const lastStep = (state) => blocks(runOf(state)) + 1;

/**
 * Where things go: bars on the left, the column with its entries on the right, room for the factor between.
 * @param {Run} run @param {number} width @param {number} height
 */
function layout(run, width, height) {
  const small = width < 560;
  const share = (/** @type {number} */ low, /** @type {number} */ part, /** @type {number} */ high) =>
    2 * Math.round(clamp(low, part * width, high) / 2);
  const [entries, thick, room] = [share(72, 0.18, 184), share(52, 0.11, 112), share(68, 0.14, 144)];
  const space = small ? 12 : 16;
  const column = width - entries - space - thick;
  const [top, floor] = small ? [38, height - 64] : [42, height - 72];
  const sums = [run, readInBlocks(run.scores, run.block, true)].flatMap(({ steps }) => steps.map(({ sum }) => sum));
  const max = Math.max(run.atOnce.sum, ...sums) || 1; // one scale, whether somebody forgets or not
  return {
    ...barsAt(run, column - room, small, top, floor),
    small, width, column, thick, room,
    name: column + thick + space,
    full: floor - top,
    tall: (/** @type {number} */ sum) => (sum * (floor - top)) / max,
    outset: small ? 4 : 6, // how far the ghost stands out on each side of the column
  };
}

/**
 * A piece of the column: its middle, its height, and what stands beside it.
 * @typedef {{y: number, h: number, name: unknown, value: number, opacity?: number, look?: string}} Entry
 */

/**
 * The entries beside the column, the upper ones first: each at its piece, or as far below as the line of the sum and
 * the entry above want; where that's too far from its piece there is none.
 * @param {Entry[]} entries @param {number} lid @param {Layout} at
 */
function drawEntries(entries, lid, at) {
  let next = lid + 17;
  return entries
    .sort((a, b) => a.y - b.y)
    .map(({ y: middle, h, name, value, opacity = 1, look = "" }) => {
      const y = Math.max(middle, next);
      if (h < 3 || y - middle > h / 2 + 16 || y > at.floor - 6) return nothing;
      next = y + 22;
      return group(
        opacity,
        text(at.name, y + 6, look || "ink", name),
        text(at.width, y + 6, `end amount ${look || "soft"}`, fixed(value)),
      );
    });
}

/**
 * The column: what we had in ink, the block's pieces in rose on top of it, the entries beside it, the sum as its lid.
 * @param {Run} run @param {Frame} now @param {Layout} at
 */
function drawColumn(run, now, at) {
  const kept = at.tall(now.kept);
  let y = at.floor;
  const opacity = secondHalf(now.moved) * (1 - now.fused);
  /** @type {Entry[]} */
  const entries = [
    { y: at.floor - kept / 2, h: kept, name: at.small ? "old" : "old sum", value: now.kept, opacity },
  ];
  const pieces = now.stack.map(({ height, ink, grown, power: exponent }) => {
    const h = at.tall(height) * grown;
    y -= h;
    if (ink === 1 || Number.isNaN(exponent)) return nothing;
    entries.push({
      y: y + h / 2,
      h,
      name: power(exponent),
      value: height,
      opacity: grown * (1 - secondHalf(ink + 0.5)),
    });
    return rect(at.column, y, at.thick, h, "rose-fill piece", 1 - ink);
  });
  return [
    rect(at.column, at.floor - at.full, at.thick, at.full, "track"),
    path(`M${at.column} ${at.floor}H${at.width}`, "line thin"),
    bracket(at.column, at.width, at.bracket, "running sum"),
    rect(at.column, at.floor - at.tall(now.ink), at.thick, at.tall(now.ink), "ink"),
    pieces,
    drawEntries(
      entries.filter(({ opacity }) => opacity),
      y,
      at,
    ),
    rect(at.column, y - 4, at.width - at.column, 4, "ink"),
    text(at.width, y - 14, "soft end halo", svg`sum <tspan class="big">${now.k ? fixed(now.sum) : "0"}</tspan>`),
  ];
}

/** From the scores to the column: not a height carried over, but its exponential. @param {Layout} at */
function drawMap(at) {
  const [from, to] = at.small ? [at.bars + 10, at.column - 10] : [at.bars + 20, at.column - 20];
  const exponent = svg`<tspan class="sup" dy="-.5em">${at.small ? "x" : "score − max"}</tspan>`;
  return [
    path(`M${from} ${at.bracket}H${to}m-6 -5l6 5l-6 5`, "soft thin"),
    text((from + to) / 2, at.row, "middle soft", svg`<tspan class="e">e</tspan>${exponent}`),
  ];
}

/**
 * What happened to the old sum: an arrow from its old height to its new one, and the factor beside it.
 * @param {Run} run @param {Frame} now @param {Layout} at
 */
function drawFactor(run, now, at) {
  const { before, max, kept } = run.steps[now.k];
  if (!before.sum) return nothing;
  const exponent = before.max - max;
  const x = at.column - (at.small ? 12 : 20);
  const end = x - (at.small ? 10 : 14);
  const [from, to] = [at.floor - at.tall(before.sum), at.floor - at.tall(before.sum * now.scale)];
  const middle = (from + at.floor - at.tall(kept)) / 2 + 8;
  const factor = Math.max(secondHalf(now.moved), Math.min(1, 4 * now.shrunk)); // the factor is there before the sum shrinks
  if (run.forget && exponent)
    return group(
      factor,
      text(end + 10, from - 16, "small end soft", "forgotten"),
      text(end + 10, from + 10, "end factor soft", svg`× ${power(exponent)}`),
    );
  if (!exponent) return group(factor * (1 - now.checked), text(end + 10, from + 8, "end factor violet", "× 1"));
  const head = to - from > 12 ? `M${x} ${from}V${to - 1}m-5 -7l5 7l5 -7` : "";
  const crowded = Math.abs(from + 24 - at.floor + at.tall(run.atOnce.sum)) < 64; // the ghost's label needs this place
  return group(
    factor * (crowded ? 1 - now.checked : 1),
    path(`M${x - 5} ${from}h10${head}`, "violet"),
    text(end, from + 5, "end amount soft", fixed(before.sum)),
    text(end, Math.max(from + 36, middle), "end factor violet", svg`× ${power(exponent)}`),
  );
}

/**
 * The column that never was, all scores at once, slides over from the bars.
 * @param {Run} run @param {Frame} now @param {Layout} at
 */
function drawCheck(run, now, at) {
  const { sum, terms } = run.atOnce;
  const y = at.floor - at.tall(sum);
  const end = at.column - (at.small ? 10 : 20);
  const outline = path(
    `M${at.column - at.outset} ${at.floor}V${y}h${at.thick + 2 * at.outset}V${at.floor}`,
    "soft thin dashes",
  );
  const all = `all ${numberWord(run.scores.length)}`;
  const lines = at.room < 128 ? [all, "at once"] : [`${all} at once`];
  const label = lines.map((line, i) => text(end, y + 4 - 18 * (lines.length - 1 - i), "small end soft", line));
  const extra = now.sum - sum;
  let level = at.floor;
  const seams = terms.map((term) => path(`M${at.column} ${(level -= at.tall(term))}h${at.thick}`, "soft thin dashes"));
  const away = (1 - now.checked) * (at.bars / 2 - at.column - at.thick / 2);
  const tall = at.tall(extra);
  const name = at.small ? "+" : "too much";
  /** @type {Entry} */
  const entry = { y: level - tall / 2, h: tall, name, value: extra, look: "violet strong" };
  return [
    group(Math.min(1, 4 * now.checked), svg`<g transform="translate(${hundredths(away)} 0)">${outline}${seams}</g>`),
    group(
      secondHalf(secondHalf(now.checked)),
      label,
      text(end, y + 26, "end strong", fixed(sum)),
      drawEntries([entry], level - tall, at),
    ),
    group(secondHalf(now.checked), rect(at.column, level - tall, at.thick, tall, "violet")),
  ];
}

/** @param {State} state @param {unknown} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width, elapsed }) {
  const run = runOf(state);
  const step = run.steps[Math.min(state.step, blocks(run))];
  const label = `${says(run, state.step).replace(/e\^\{(.+?)\}/g, "e to the $1")} Maximum ${step.seen ? plain(step.max) : "none yet"}, sum ${fixed(step.sum)}.`;
  const [now, last] = [frame(run, state.step, elapsed), frame(run, blocks(run) + 1)];
  const draw = (/** @type {number} */ wide, /** @type {number} */ high, /** @type {boolean} */ paper) => {
    const [at, drawn] = [layout(run, wide, high), paper ? last : now];
    return [
      drawBars(run, drawn, at),
      drawMap(at),
      drawColumn(run, drawn, at),
      drawFactor(run, drawn, at),
      drawn.checked ? drawCheck(run, drawn, at) : nothing,
    ];
  };
  return html`${stage(width, label, draw, [376, 432])}<p class="hb-live__log">${typeset(chain(run))}</p>`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
const more = (state, set) => html`
  ${textField("Your scores", state.scores, (scores) => set({ scores, step: 1 }), 16)}
  ${slider("Scores a block", state.block, (block) => set({ block, step: 1 }), { min: 1, max: 4 })}
  ${checkbox("forget to rescale", state.forget, (forget) => set({ forget }))}`;

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "A softmax while its row is still arriving",
  initial, lastStep, picture, more,
  says: (state) => says(runOf(state), state.step),
  next: (state) => (state.step === lastStep(state) - 1 ? "Check the sum" : state.block === 2 ? "Next pair" : "Next block"),
  again: ({ forget }) => [forget ? "Rescale again" : "Forget to rescale", { forget: !forget, step: 1 }],
  duration: (state) => schedule(runOf(state), state.step).end,
  done: ({ forget }) => !forget,
};

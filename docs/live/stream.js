// A softmax of scores that arrive in blocks: a line on the tallest so far, and one column that is the running sum.
import { html, nothing, svg } from "lit-html";
import { worded } from "./frame.js";
import { numbers, slider, textField, tick, whole } from "./parts.js";
import { blocks, chain, fixed, frame, plain, read, times, told, word } from "./stream.model.js";

const start = { scores: "1 0 2 1 0 2", block: 2, forget: false, step: 0 };

/** @typedef {typeof start} S */
/** @typedef {import("./stream.model.js").Run} Run */
/** @typedef {ReturnType<typeof frame>} Frame */
/** @typedef {ReturnType<typeof layout>} Layout */

const MOST = 8; // scores
const [NARROW, WIDE, PAPER] = [350, 1040, 640]; // the widths that the build draws, in pixels

/** @param {S} state */
const runOf = (state) => read(numbers("Scores", state.scores, { most: 999, count: [2, MOST] }), whole("Scores a block", state.block, 1, MOST), state.forget);

/** @param {S} state */
const steps = (state) => blocks(runOf(state)) + 1;

/* The drawing is in pixels, so letters keep their size at any width. */

const short = (/** @type {number} */ x) => Math.round(100 * x) / 100;
const clamp = (/** @type {number} */ low, /** @type {number} */ x, /** @type {number} */ high) => Math.min(high, Math.max(low, x));
const group = (/** @type {number} */ opacity, /** @type {unknown[]} */ ...content) => (opacity > 0 ? svg`<g opacity=${short(opacity)}>${content}</g>` : nothing);
const text = (/** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ look, /** @type {unknown} */ content, opacity = 1) =>
  svg`<text class=${look} x=${short(x)} y=${short(y)} opacity=${short(opacity)}>${content}</text>`;
const rect = (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ width, /** @type {number} */ height, /** @type {string} */ look, opacity = 1) =>
  height > 0 ? svg`<rect class="fill ${look}" x=${short(x)} y=${short(y)} width=${short(width)} height=${short(height)} opacity=${short(opacity)} />` : nothing;
const path = (/** @type {string} */ d, /** @type {string} */ look, opacity = 1) =>
  svg`<path class="stroke ${look}" d=${d.replace(/\d+\.\d+/g, (n) => String(short(Number(n))))} opacity=${short(opacity)} />`;
const power = (/** @type {number} */ exponent) => svg`<tspan class="e">e</tspan><tspan class="sup" dy="-.5em">${plain(exponent)}</tspan>`;
/** How far a change is that waits for half of another one. @param {number} part */
const late = (part) => clamp(0, 2 * part - 1, 1);

/** Where things go: bars on the left, the column with its entries on the right, room for the factor between. @param {Run} run @param {number} width @param {number} height */
function layout(run, width, height) {
  const small = width < 560;
  const share = (/** @type {number} */ low, /** @type {number} */ part, /** @type {number} */ high) => 2 * Math.round(clamp(low, part * width, high) / 2);
  const [entries, thick, room] = [share(72, 0.18, 184), share(52, 0.11, 112), share(68, 0.14, 144)];
  const space = small ? 12 : 16;
  const column = width - entries - space - thick;
  const bars = column - room;
  const [top, floor] = small ? [48, height - 64] : [56, height - 72];
  const [n, blocks] = [run.scores.length, run.steps.length - 1];
  const [gap, apart] = [Math.min(small ? 6 : 16, (0.2 * bars) / n), Math.min(small ? 14 : 48, (0.4 * bars) / blocks)];
  const bar = (bars - (blocks - 1) * apart - (n - blocks) * gap) / n;
  const finite = run.scores.filter(Number.isFinite);
  const low = Math.min(0, ...finite);
  const high = Math.max(low + 1, ...finite);
  const sums = [run, read(run.scores, run.block, true)].flatMap(({ steps }) => steps.map(({ sum }) => sum));
  const most = Math.max(run.atOnce.sum, ...sums) || 1; // one scale, whether somebody forgets or not
  const score = (/** @type {number} */ s) => floor - ((Math.max(low, s) - low) * (floor - top)) / (high - low);
  return {
    small, width, column, thick, bars, bar, floor, score, room, apart,
    name: column + thick + space,
    x: (/** @type {number} */ i) => i * (bar + gap) + Math.floor(i / run.block) * (apart - gap),
    zero: score(0),
    tall: (/** @type {number} */ sum) => (sum * (floor - top)) / most,
    outset: small ? 4 : 6, // how far the ghost stands out on each side of the column
    row: floor + (small ? 26 : 32), // the scores' baseline
    bracket: floor + (small ? 40 : 48), // their brackets, each with a word below
  };
}

/** @param {Layout} at @param {number} x @param {number} right @param {string} when */
function bracket(at, x, right, when) {
  const look = when === "now" || when === "kept" ? "ink strong" : "soft";
  const fits = right - x + at.apart > 8 * when.length + 4;
  return [path(`M${x} ${at.bracket}H${right}`, look === "soft" ? "line thin" : "ink"), fits ? text((x + right) / 2, at.bracket + 18, `small middle ${look}`, when) : nothing];
}

/** The bars of the scores, the words below them, and the line that rests on the tallest so far. @param {Run} run @param {Frame} f @param {Layout} at */
function drawBars(run, f, at) {
  const { max } = run.steps[f.k];
  const card = (at.floor - at.score(Math.max(...run.scores))) / 3; // what hasn't arrived lies face down, all alike
  const bars = f.bars.map(({ score, lit, gone, when }, i) => {
    const [x, y] = [at.x(i), score === -Infinity ? at.zero : at.score(score)];
    const middle = x + at.bar / 2;
    const below = y - at.score(max); // how far the bar stays below the line is the exponent
    const exponent = when === "now" && below > 24 && score > -Infinity;
    return [
      group(1 - lit, rect(x, at.floor - card, at.bar, card, "track"), text(middle, at.floor - card / 2 + 8, "middle soft hidden", "?")),
      rect(x, Math.min(y, at.zero - 3), at.bar, Math.max(3, Math.abs(y - at.zero)), "rose-fill", lit * (1 - gone)),
      path(`M${x} ${at.zero}V${y}h${at.bar}V${at.zero}`, "rose thin dashes", 0.4 * gone),
      text(middle, at.row, `under middle ${when === "now" ? "ink strong" : "soft"}`, plain(score), lit * (1 - gone)),
      exponent ? group(f.moved * (1 - f.fused), path(`M${middle} ${y - below + 4}V${y - 4}`, "rose thin dots"), text(middle, y - below / 2 + 5, "small middle rose halo", plain(score - max))) : nothing,
    ];
  });
  const brackets = Array.from({ length: run.steps.length - 1 }, (_, block) => {
    const [first, last] = [block * run.block, Math.min((block + 1) * run.block, run.scores.length) - 1];
    return bracket(at, at.x(first), at.x(last) + at.bar, f.bars[last].when);
  });
  const y = f.asked ? at.floor + (at.score(f.line) - at.floor) * f.asked : at.floor;
  const name = svg`max <tspan class="big">${plain(f.max)}</tspan>`;
  return [path(`M0 ${at.zero}H${at.bars}`, "line thin"), bars, brackets, rect(0, y - 4, at.bars, 4, "ink"), group(f.asked, text(0, y - 14, "soft halo", name))];
}

/** Makes entries beside the column, a name and a number each, where a piece is tall enough for one. @param {Layout} at */
function entriesOf(at) {
  let last = Infinity;
  return (/** @type {number} */ y, /** @type {number} */ h, /** @type {string} */ look, /** @type {unknown} */ name, /** @type {number} */ value, opacity = 1) => {
    if (h < (look ? 9 : 11) || Math.abs(last - y) < 17) return nothing;
    last = y;
    return group(opacity, text(at.name, y + 6, look || "ink", name), text(at.width, y + 6, `end amount ${look || "soft"}`, fixed(value)));
  };
}

/** The column: what we had in ink, the block's pieces in rose on top of it, the entries beside it, the sum as its lid. @param {Run} run @param {Frame} f @param {Layout} at */
function drawColumn(run, f, at) {
  const [entry, kept] = [entriesOf(at), at.tall(f.kept)];
  let y = at.floor;
  const old = kept ? entry(at.floor - kept / 2, kept, "", at.small ? "old" : "old sum", f.kept, late(f.moved) * (1 - f.fused)) : nothing;
  const pieces = f.stack.map(({ height, ink, grown, power: exponent }) => {
    const h = at.tall(height) * grown;
    const shown = ink < 1 && !Number.isNaN(exponent) ? [
      rect(at.column, y - h, at.thick, h, "rose-fill piece", 1 - ink),
      entry(y - h / 2, h, "", power(exponent), height, grown * (1 - late(ink + 0.5))),
    ] : nothing;
    y -= h;
    return shown;
  });
  return [
    path(`M${at.column} ${at.floor}H${at.width}`, "line thin"),
    bracket(at, at.column, at.width, "kept"),
    rect(at.column, at.floor - at.tall(f.ink), at.thick, at.tall(f.ink), "ink"),
    old, pieces,
    rect(at.column, y - 4, at.width - at.column, 4, "ink"),
    text(at.width, y - 14, "soft end halo", svg`sum <tspan class="big">${f.k ? fixed(f.sum) : "0"}</tspan>`),
  ];
}

/** What happened to the old sum: an arrow from its old height to its new one, and the factor beside it. @param {Run} run @param {Frame} f @param {Layout} at */
function drawFactor(run, f, at) {
  const { before, max, kept } = run.steps[f.k];
  if (!before.sum) return nothing;
  const exponent = before.max - max;
  const x = at.column - (at.small ? 12 : 20);
  const end = x - (at.small ? 10 : 14);
  const [from, to] = [at.floor - at.tall(before.sum), at.floor - at.tall(before.sum * f.scale)];
  const middle = (from + at.floor - at.tall(kept)) / 2 + 8;
  if (!exponent) return group(Math.min(1, 4 * f.shrunk) * (1 - f.checked), text(end + 10, from + 8, "end factor violet", "× 1"));
  const head = to - from > 12 ? `M${x} ${from}V${to - 1}m-5 -7l5 7l5 -7` : "";
  const crowded = Math.abs(from + 24 - at.floor + at.tall(run.atOnce.sum)) < 64; // the ghost's label needs this place
  return group(
    Math.min(1, 4 * f.shrunk) * (crowded ? 1 - f.checked : 1),
    path(`M${x - 5} ${from}h10${head}`, "violet"),
    text(end, from + 5, "end amount soft", fixed(before.sum)),
    text(end, Math.max(from + 36, middle), `end factor violet ${run.forget ? "forgot" : ""}`, svg`× ${power(exponent)}`),
  );
}

/** The column that never was, all scores at once: first a question, and in the end it slides over from the bars. @param {Run} run @param {Frame} f @param {Layout} at */
function drawCheck(run, f, at) {
  const { sum, max, terms } = run.atOnce;
  const y = at.floor - at.tall(sum);
  const end = at.column - (at.small ? 10 : 20);
  const [out, foot] = f.checked ? [at.outset, at.floor] : [0, at.floor - 4];
  const outline = path(`M${at.column - out} ${foot}V${y}h${at.thick + 2 * out}V${foot}`, "rose thin dashes");
  const all = `all ${word(run.scores.length)}`;
  const lines = at.room < 128 ? [all, "at once"] : [`${all} at once`];
  const label = lines.map((line, i) => text(end, y + 4 - 18 * (lines.length - 1 - i), "small end rose", line));
  const near = Math.abs(at.floor - at.tall(run.steps[f.k].before.sum) + 24 - y) < 64; // the factor needs this place
  if (!f.checked) return [outline, near && f.asked ? nothing : label, group(1 - f.asked, text(at.column + at.thick / 2, (y + at.floor) / 2 + 12, "middle rose ask", "?"))];
  const [entry, extra] = [entriesOf(at), f.sum - sum];
  let level = at.floor;
  const rows = terms.map((term, i) => {
    const h = at.tall(term);
    const named = entry(level - h / 2, h, "small rose", power(run.scores[i] - max), term);
    level -= h;
    return { named, seam: path(`M${at.column} ${level}h${at.thick}`, "rose-fill thin dashes") };
  });
  const away = (1 - f.checked) * (at.bars / 2 - at.column - at.thick / 2);
  return [
    group(Math.min(1, 4 * f.checked), svg`<g transform="translate(${short(away)} 0)">${outline}${rows.map(({ seam }) => seam)}</g>`),
    group(late(late(f.checked)), label, text(end, y + 26, "end rose strong", fixed(sum)), rows.map(({ named }) => named),
      entry(level - at.tall(extra) / 2, at.tall(extra), "violet strong", at.small ? "extra" : "too much", extra)),
    group(late(f.checked), rect(at.column, level - at.tall(extra), at.thick, at.tall(extra), "violet")),
  ];
}

/** @param {S} state @param {unknown} set @param {import("./frame.js").At} at */
function picture(state, set, { width, t }) {
  const run = runOf(state);
  const step = run.steps[Math.min(state.step, blocks(run))];
  const label = `${told(run, state.step).replace(/e\^\{(.+?)\}/g, "e to the $1")} Maximum ${step.seen ? plain(step.max) : "none yet"}, sum ${fixed(step.sum)}.`;
  const draw = (/** @type {string} */ name, /** @type {number} */ wide, /** @type {number} */ high, /** @type {Frame} */ f) => {
    const at = layout(run, wide, high);
    return html`<svg class="stage ${name}" viewBox="0 0 ${wide} ${high}" role="img" aria-label=${label}>${drawBars(run, f, at)}${f.checked ? nothing : drawCheck(run, f, at)}${drawColumn(run, f, at)}${drawFactor(run, f, at)}${f.checked ? drawCheck(run, f, at) : nothing}</svg>`;
  };
  const now = frame(run, state.step, t);
  const drawn = (/** @type {number} */ wide, name = "") => draw(name, wide, wide < 600 ? 376 : 432, now);
  return html`${width ? drawn(width) : [drawn(NARROW, "narrow"), drawn(WIDE, "wide")]}
    ${draw("printed", PAPER, 400, frame(run, blocks(run) + 1))}<p class="hb-live__log">${worded(chain(run))}</p>`;
}

/** @param {S} state @param {(change: Partial<S>) => void} set */
const more = (state, set) => html`
  ${textField("Your scores", state.scores, (scores) => set({ scores, step: 0 }), 16)}
  ${slider("Scores a block", state.block, (block) => set({ block, step: 0 }), { min: 1, max: 4 })}
  ${tick("forget to rescale", state.forget, (forget) => set({ forget }))}`;

/** @type {import("./frame.js").Piece<S>} */
export default {
  title: "A softmax while its row is still arriving",
  start, steps, picture, more,
  told: (state) => told(runOf(state), state.step),
  next: (state) => (state.step === steps(state) - 1 ? "Check the sum" : state.block === 2 ? "Next pair" : "Next block"),
  lasts: (state) => times(runOf(state), state.step).end,
  done: ({ forget }) => !forget,
};

// A pair with fewer warps or more, as a race: how long the LSU and the ALU work, and the time that we bet on.
import { html, nothing, svg } from "lit-html";
import { aluClocks, instructions, lsuClocks, WARPS } from "./load_store_unit.model.js";
import { grip, oneOf, pluralize } from "./controls.js";
import { clamp, hundredths, path, rect, stage, text } from "./strokes.js";

// In clocks: the guess, 0 as long as there's none, and the measured, in the order of WARPS. runs: before this one.
const initial = { warps: 1, step: 0, guess: 0, runs: "4", measured: "56 78 124 236" };
const [MOST, NEAR] = [250, 3]; // clocks: of the scale, and by which a guess may miss and still be right on
const [ROW, TRACK, LANE, BAR] = [76, 50, 18, 14]; // pixels: to the next row, of its track, to the next lane, of a bar
const [NAMES, LABELS] = [68, 76]; // pixels: left of the tracks, and behind the longest bar
const HEIGHT = WARPS.length * ROW + 22;
const [KNOB, START] = [10, 124]; // its radius, and where it waits, in clocks: at the time of four warps

/** @typedef {typeof initial} State */
/** @typedef {(clocks: number) => number} Axis from clocks to pixels */

/** @param {string} asked */
const number = (asked) => Number(oneOf("Warps", asked, WARPS.map(String)));
/** @param {State} state */
const read = ({ warps }) => number(String(warps));
/** What ran before. @param {State} state */
const past = ({ runs }) => runs.split(",").filter(Boolean).map(number);
/** Nobody guesses what's known. @param {State} state */
const isBet = (state) => !past(state).includes(read(state));
/** What has run, with what runs now. @param {State} state */
const kept = (state) => [...new Set([...past(state), ...(state.step ? [read(state)] : [])])];

/** One that has run shows at once what came of it. @param {State} state @param {number} warps */
function choose(state, warps) {
  const ran = kept(state);
  return { warps, step: Number(ran.includes(warps)), guess: initial.guess, runs: ran.join(",") };
}

/** What a GPU took for a pair. @param {State} state @param {number} warps */
const measured = (state, warps) => Number(state.measured.split(" ")[WARPS.indexOf(warps)]);

/** The milliseconds of a run. @param {State} state */
const lasts = (state) => 1300 + 4 * measured(state, read(state));

/**
 * A number of warps after so many clocks: its three bars start at once, and each has its number once it stops.
 * @param {number} warps @param {number} time @param {number} passed @param {number} guess 0 where there is none
 * @param {Axis} x
 */
function drawRow(warps, time, passed, guess, x) {
  /** @type {[string, string, number][]} its name, its look, its clocks */
  const bars = [["LSU", "ink", lsuClocks(warps)], ["ALU", "ink", aluClocks(warps)], ["time", "violet", time]];
  return bars.map(([name, look, all], lane) => {
    const y = WARPS.indexOf(warps) * ROW + lane * LANE;
    const [left, right] = [x(0), x(Math.min(all, passed))];
    const outline = `M${left + 1} ${y + 1}H${right}v${BAR - 2}H${left + 1}Z`;
    const drawn = look === "violet" ? rect(left, y, right - left, BAR, look) : passed ? path(outline, `${look} outline`) : nothing;
    const [end, mark] = [x(Math.min(all, passed)) + 8, x(guess)];
    const inTheWay = guess && name === "time" && mark > end - 12 && mark < end + LABELS;
    const words = svg`${name} <tspan class="strong">${passed < all ? "" : all}</tspan>`;
    return [drawn, text(inTheWay ? mark + 14 : end, y + BAR - 2, `label ${passed ? look : "soft"}`, words)];
  });
}

/**
 * A dashed bar in the place of the time, with a knob as long as it can change, and in the end how far off it was.
 * @param {State} state @param {boolean} ended @param {Axis} x @param {number} width
 */
function drawGuess(state, ended, x, width) {
  const { guess, step } = state;
  const [time, y] = [measured(state, read(state)), WARPS.indexOf(read(state)) * ROW];
  const [end, top, foot, off] = [x(guess || START), y + 2 * LANE - 2, y + TRACK + 2, Math.abs(guess - time)];
  if (step && !guess) return nothing;
  const verdict = off > NEAR ? `${off} off` : "right on";
  const [name, told] = ended ? ["your guess:", verdict] : guess ? ["your guess of the time:", guess] : ["drag: your guess of the time", ""];
  const half = 3.4 * `${name} ${told}`.length; // of the words' width, roughly
  const middle = clamp(NAMES + half, ended ? (end + x(time)) / 2 : end, width - half);
  return [
    path(`M${end} ${top}H${x(0)}V${foot}H${end}`, "ink dashes thin"),
    path(`M${end} ${top - 1}V${ended ? foot + 5 : foot + 1}`, "ink"),
    ended && off > NEAR ? path(`M${end} ${foot + 4}H${x(time)}V${foot}`, "ink thin") : nothing,
    step ? nothing : svg`<circle class="ink knob" cx=${hundredths(end)} cy=${(top + foot) / 2} r=${KNOB} />`,
    text(middle, foot + 18, "label ink middle", svg`${name} <tspan class="strong">${told}</tspan>`),
  ];
}

/**
 * A track for each row, with its name, and the clocks below them.
 * @param {number} chosen @param {Axis} x @param {number} width
 */
function drawTracks(chosen, x, width) {
  const ticks = Array.from({ length: MOST / 50 + 1 }, (_, i) => 50 * i);
  return [
    WARPS.map((warps, row) => [
      rect(NAMES, row * ROW, width - NAMES, TRACK, "track"),
      text(0, row * ROW + TRACK / 2 + 5, `label ${warps === chosen ? "ink strong" : "soft"}`, pluralize(warps, "warp")),
      path(ticks.map((n) => `M${x(n)} ${row * ROW}v${TRACK}`).join(""), "paper thin"),
    ]),
    text(0, HEIGHT - 4, "label soft", "clocks"),
    ticks.map((n) => text(x(n), HEIGHT - 4, `label soft ${n ? "middle" : ""}`, n)),
  ];
}

/** The scale, as wide as the picture. @param {number} width @returns {Axis} */
const axis = (width) => (clocks) => NAMES + (clocks * (width - NAMES - LABELS)) / MOST;

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width, elapsed }) {
  const [warps, ran, bet] = [read(state), kept(state), isBet(state)];
  const now = state.step ? (elapsed / lasts(state)) * measured(state, warps) : 0; // clocks of the run
  const draw = (/** @type {number} */ wide, /** @type {number} */ _, /** @type {boolean} */ paper) => {
    const x = axis(wide);
    const rows = WARPS.filter((each) => paper || each === warps || ran.includes(each)).map((each) => {
      const chosen = !paper && each === warps;
      return drawRow(each, measured(state, each), chosen ? now : Infinity, chosen && bet ? state.guess : 0, x);
    });
    const guess = bet && !paper ? drawGuess(state, now === Infinity, x, wide) : nothing;
    return [drawTracks(paper ? 0 : warps, x, wide), rows, guess];
  };
  const place = { from: axis(width)(1), to: axis(width)(MOST), y: WARPS.indexOf(warps) * ROW + 2 * LANE + BAR / 2 };
  const guessed = (/** @type {number} */ guess) => set({ guess });
  const hold = grip("Your guess of the time, in clocks", state.guess || START, guessed, { min: 1, max: MOST }, place);
  const button = (/** @type {number} */ each) =>
    html`<button type="button" aria-label=${pluralize(each, "warp")} aria-pressed=${String(each === warps)}
      @click=${() => set(choose(state, each))}></button>`;
  return html`<div class="hb-live__grips">${stage(width, says(state), draw, [HEIGHT, HEIGHT])}
    <div class="hb-live__warps" role="group" aria-label="Warps">${WARPS.map(button)}</div>
    ${width && bet && !state.step ? hold : nothing}</div>`;
}

/** @type {Record<number, string>} */
const ASKED = {
  1: "One warp leaves the LSU an eighth of its work. And the time?",
  2: "Two warps have two results to add up. And the time?",
  4: "Four warps wait for the LSU, which starts one instruction in a clock.",
  8: "A key fills four warps, the row all eight: one shuffle more. And the time?",
};

/** @param {State} state */
function says(state) {
  const warps = read(state);
  if (!state.step) return ASKED[warps] + (isBet(state) ? " Guess, then run." : "");
  const [, score, , row] = instructions(warps);
  const lsu = `LSU: ${warps} · (${score} + ${row} + 2) = ${lsuClocks(warps)} clocks.`;
  const counted = `${lsu} ALU:\u00a048 + ${5 * warps} = ${aluClocks(warps)}.`;
  const unbroken = counted.replace(/ ([·+=]) /g, "\u00a0$1\u00a0"); // no line ends in a product
  return `${unbroken} Time: ${measured(state, warps)}.`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "One query meets one key at the load-store unit",
  initial, picture, says,
  lastStep: () => 1,
  next: ({ warps }) => `Run ${pluralize(warps, "warp")}`,
  again: (state) => {
    const other = [1, 8, 2, 4].find((warps) => !kept(state).includes(warps));
    if (!other) return ["Again", { step: 0, guess: initial.guess }];
    return [`With ${pluralize(other, "warp")}`, choose(state, other)];
  },
  done: ({ warps }) => [4, 1, 2, 8].indexOf(warps), // in this order the caption tells of them
  meanwhile: () => "All three start at once. Which one does the time follow?",
  duration: lasts,
};

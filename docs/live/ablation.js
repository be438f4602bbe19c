// The kernel with parts of its two loops left out: the reader guesses how long it then takes, and sees what was measured.
import { html, nothing, svg } from "lit-html";
import { grip, parseNumbers } from "./controls.js";
import { path, rect, stage, text } from "./strokes.js";

// In milliseconds: the guesses of all rows but the first, 0 where there's none, and what was measured without a part.
const initial = { step: 0, guesses: "0 0 0", whole: 64, passes: 64, sums: 35, both: 10 };
const ROWS = ["nothing", "the passes", "the sums", "both"]; // what's left out
const LAST = ROWS.length - 1;
const [MOST, NEAR] = [80, 2]; // milliseconds: of the scale, and by which a guess may miss and still be close
const [ROW, WORDS, TOP, BAR] = [66, 16, 26, 26]; // pixels: to the next row, in it to the words, to the bar, of the bar
const START = 45; // milliseconds: where a guess waits to be dragged, at none of the times
const [KNOB, EDGE, OUT] = [10, 22, 3]; // pixels: its radius, right of the scale, and of the guess around the bar
const NARROW = 340; // pixels, below which the words are small
const HEIGHT = LAST * ROW + TOP + BAR + OUT + 1;
const PACE = 14; // the piece takes so many times as long

/** @typedef {typeof initial} State */
/** @typedef {(time: number) => number} Axis from milliseconds to pixels */

/** @param {State} state */
const measured = ({ whole, passes, sums, both }) => [whole, passes, sums, both];
/** @param {State} state */
const guesses = (state) =>
  parseNumbers("Guesses", state.guesses, { min: 0, max: MOST, integer: true, count: [LAST, LAST] });

/** How long a run lasts. @param {State} state */
const lasts = (state) => PACE * measured(state)[state.step];

/** The scale, as wide as the picture. @param {number} width @returns {Axis} */
const axis = (width) => (time) => (time * (width - EDGE)) / MOST;

/**
 * What is measured, after so many milliseconds; it has its number once it stops, where no guess ends.
 * @param {number} row @param {number} time @param {number} passed @param {number} guess @param {Axis} x
 */
function drawBar(row, time, passed, guess, x) {
  const [y, end, mark] = [row * ROW + TOP, x(Math.min(time, passed)), x(guess)];
  const number = svg`<tspan class="strong">${time}</tspan>${row ? "" : " ms"}`;
  const inTheWay = guess && mark > end - 44 && mark < end - 2;
  const colour = row ? "soft" : "violet"; // as in the chapter’s other pictures
  const [place, look] = inTheWay ? [end + 8, "ink"] : [end - 8, "paper end"];
  return [rect(0, y, end, BAR, colour), passed < time ? nothing : text(place, y + BAR - 7, `label ${look}`, number)];
}

/**
 * A hollow bar around the other, with a knob as long as it can be dragged.
 * @param {number} row @param {number} end @param {boolean} held @param {boolean} inside whether it ends in the other
 */
function drawGuess(row, end, held, inside) {
  const [top, foot] = [row * ROW + TOP - OUT, row * ROW + TOP + BAR + OUT];
  return [
    path(`M${end} ${top}H1V${foot}H${end}`, "ink thin guess"),
    path(`M${end} ${top - 1}V${foot + 1}`, "ink"),
    inside ? path(`M${end} ${top + OUT + 3}V${foot - OUT - 3}`, "paper") : nothing,
    held ? svg`<circle class="ink knob" cx=${end} cy=${(top + foot) / 2} r=${KNOB} />` : nothing,
  ];
}

/** The guess beside the knob, left of it if there's room. @param {number} guess @param {Axis} x @param {number} y @param {string} look */
function drawHeld(guess, x, y, look) {
  if (!guess) return text(x(START) - 2 * KNOB, y, `${look} end`, "drag: your guess");
  const [away, side] = x(guess) > 60 ? [-2 * KNOB, "end"] : [2 * KNOB, ""];
  return text(x(guess) + away, y, `${look} strong ${side}`, guess);
}

/** @param {number} guess @param {number} time 0 before it's known */
function verdict(guess, time) {
  if (!guess) return "";
  const off = Math.abs(guess - time);
  const words = off > NEAR ? `${off} off` : off ? "close" : "right on";
  const told = time ? svg`, <tspan class="strong">${words}</tspan>` : "";
  return svg`your guess: <tspan class="strong">${guess}</tspan>${told}`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width, elapsed }) {
  const [times, guessed, { step }] = [measured(state), [0, ...guesses(state)], state];
  const rests = !step || elapsed === Infinity;
  const waits = rests && step < LAST ? step + 1 : 0; // the row that waits for a guess
  const draw = (/** @type {number} */ wide, /** @type {number} */ _, /** @type {boolean} */ paper) => {
    const [x, look] = [axis(wide), `${wide < NARROW ? "small" : "label"} ink`];
    const rows = times.map((time, row) => {
      const seen = paper || row <= step;
      const [held, guess] = paper ? [false, 0] : [!seen && row === waits, guessed[row]];
      const there = seen || held;
      const now = paper || row < step || rests ? Infinity : elapsed / PACE;
      const told = row && seen ? verdict(guess, now === Infinity ? time : 0) : "";
      return [
        text(0, row * ROW + WORDS, there ? look : look.replace("ink", "soft"), row ? `without ${ROWS[row]}` : "the kernel"),
        seen ? drawBar(row, time, now, guess, x) : nothing,
        row && there && (held || guess)
          ? drawGuess(row, x(guess || START), held, seen && guess < Math.min(time, now))
          : nothing,
        held ? drawHeld(guess, x, row * ROW + TOP + BAR - 8, look) : nothing,
        told ? text(wide, row * ROW + WORDS, `${look} halo end`, told) : nothing,
      ];
    });
    const tracks = times.map((_, row) => {
      const begun = paper || row <= Math.max(step, waits);
      return begun ? rect(0, row * ROW + TOP, wide, BAR, "track") : nothing;
    });
    return [tracks, path(`M${x(times[0])} ${TOP}V${HEIGHT}`, "ink thin"), rows];
  };
  const place = { from: axis(width)(1), to: axis(width)(MOST), y: waits * ROW + TOP + BAR / 2 };
  const change = (/** @type {number} */ guess) => set({ guesses: guessed.with(waits, guess).slice(1).join(" ") });
  const name = `Your guess, in milliseconds, with ${ROWS[waits]} left out`;
  const hold = grip(name, guessed[waits] || START, change, { min: 1, max: MOST }, place);
  const known = times.slice(0, rests ? step + 1 : step).map((time, row) => `${time} with ${ROWS[row]} left out`);
  const label = `Milliseconds of the kernel: ${known.join(", ")}.`;
  return html`<div class="hb-live__grips">${stage(width, label, draw, [HEIGHT, HEIGHT])}
    ${width && waits ? hold : nothing}</div>`;
}

/** @param {State} state */
function says(state) {
  const [all, passes, sums, both] = measured(state);
  return [
    `The kernel takes ${all} ms. How long without the passes? Guess, then run.`,
    `${passes} ms: the passes seem to cost nothing. And without the sums? Guess, then run.`,
    `${sums} ms: without the sums, ${all - sums} less. And without both? Guess, then run.`,
    `${both} ms: together they cost ${all - both}. But one by one, it was ${all - passes} and ${all - sums}. Where’s the rest?`,
  ][state.step];
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "The kernel with parts left out",
  initial, picture, says,
  lastStep: () => LAST,
  next: ({ step }) => `Without ${ROWS[step + 1]}`,
  again: () => ["Again", { step: 0, guesses: initial.guesses }],
  meanwhile: () => "It runs …",
  duration: lasts,
};

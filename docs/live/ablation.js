// The kernel with parts left out: the reader guesses how long it then takes, and sees what was measured.
import { html, nothing, svg } from "lit-html";
import { grip, parseNumbers } from "./controls.js";
import { path, rect, stage, text } from "./strokes.js";

// In clocks of a pair: the guesses of all rows but the first, 0 where there's none, and what was measured without a part;
// and the time of the whole kernel, in milliseconds.
const initial = { step: 0, guesses: "0 0 0", whole: 124, passes: 124, sums: 67, both: 20, time: 64 };
const ROWS = ["nothing", "the passes", "the sums", "both"]; // what's left out
const LAST = ROWS.length - 1;
const [MOST, NEAR] = [150, 4]; // clocks: of the scale, and by which a guess may miss and still be close
const [ROW, WORDS, TOP, BAR] = [58, 16, 24, 26]; // pixels: to the next row, in it to the words, to the bar, of the bar
const START = 80; // clocks: where a guess waits to be dragged, at none of the times
const [KNOB, EDGE, OUT] = [10, 22, 3]; // pixels: its radius, right of the scale, and of the guess around the bar
const NARROW = 340; // pixels, below which the words are small
const HEIGHT = LAST * ROW + TOP + BAR + OUT + 1;
const PACE = 8; // milliseconds that a clock takes in the picture

/** @typedef {typeof initial} State */
/** @typedef {(clocks: number) => number} Axis from clocks to pixels */

/** @param {State} state */
const measured = ({ whole, passes, sums, both }) => [whole, passes, sums, both];
/** @param {State} state */
const guesses = (state) =>
  parseNumbers("Guesses", state.guesses, { min: 0, max: MOST, integer: true, count: [LAST, LAST] });

/** How long a run lasts. @param {State} state */
const lasts = (state) => PACE * measured(state)[state.step];
/** The top of a row's bar. @param {number} row */
const barTop = (row) => row * ROW + TOP;

/** The scale, as wide as the picture. @param {number} width @returns {Axis} */
const axis = (width) => (clocks) => (clocks * (width - EDGE)) / MOST;

/**
 * What is measured, after so many clocks; it has its number once it stops, where no guess ends.
 * @param {number} row @param {number} time @param {number} passed @param {number} guess @param {Axis} x
 */
function drawBar(row, time, passed, guess, x) {
  const [y, end, mark] = [barTop(row), x(Math.min(time, passed)), x(guess)];
  const number = svg`<tspan class="strong">${time}</tspan>${row ? "" : " clocks"}`;
  const inTheWay = end < 7 * EDGE || (guess && mark > end - 44 && mark < end - 2);
  const colour = row ? "soft" : "violet"; // as in the chapter’s other pictures
  const [place, look] = inTheWay ? [end + 8, "ink"] : [end - 8, "paper end"];
  return [rect(0, y, end, BAR, colour), passed < time ? nothing : text(place, y + BAR - 7, `label ${look}`, number)];
}

/**
 * A hollow bar around the other, with a knob as long as it can be dragged.
 * @param {number} row @param {number} end @param {boolean} held @param {boolean} inside whether it ends in the other
 */
function drawGuess(row, end, held, inside) {
  const [top, foot] = [barTop(row) - OUT, barTop(row) + BAR + OUT];
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
        text(0, barTop(row) - TOP + WORDS, there ? look : look.replace("ink", "soft"), row ? `without ${ROWS[row]}` : `measured: our ${state.time} ms`),
        seen ? drawBar(row, time, now, guess, x) : nothing,
        row && there && (held || guess)
          ? drawGuess(row, x(guess || START), held, seen && guess < Math.min(time, now))
          : nothing,
        held ? drawHeld(guess, x, barTop(row) + BAR - 8, look) : nothing,
        told ? text(wide, barTop(row) - TOP + WORDS, `${look} end`, told) : nothing,
      ];
    });
    const tracks = times.map((_, row) => rect(0, barTop(row), wide, BAR, "track"));
    const whole = times.map((_, row) => path(`M${x(times[0])} ${barTop(row) - OUT}v${BAR + 2 * OUT}`, "ink thin"));
    return [tracks, whole, rows];
  };
  const place = { from: axis(width)(1), to: axis(width)(MOST), y: barTop(waits) + BAR / 2 };
  const change = (/** @type {number} */ guess) => set({ guesses: guessed.with(waits, guess).slice(1).join(" ") });
  const name = `Your guess, in clocks, with ${ROWS[waits]} left out`;
  const hold = grip(name, guessed[waits] || START, change, { min: 1, max: MOST }, place);
  const known = times.slice(0, rests ? step + 1 : step).map((time, row) => `${time} with ${ROWS[row]} left out`);
  const label = `Clocks of a pair, measured: ${known.join(", ")}.`;
  return html`<div class="hb-live__grips">${stage(width, label, draw, [HEIGHT, HEIGHT])}
    ${width && waits ? hold : nothing}</div>`;
}

/** @param {State} state */
function says(state) {
  const [all, passes, sums, both] = measured(state);
  return [
    `A pair takes ${all} clocks. How many without the passes? Guess, then run.`,
    `${passes}: nothing’s won, because the sums take as long as before. And without the sums? Guess, then run.`,
    `${sums}: now the passes are the longest, and we see them. And without both? Guess, then run.`,
    `${both}: loads and loops are left. So the sums are the rice, and the passes the sauce.`,
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

// An SM and its units, each a vessel that's as full as the unit is busy: the reader guesses which is the fullest, then drags
// the warps, and it's another.
import { html, nothing, svg } from "lit-html";
import { grip, oneOf, parseNumbers, pluralize } from "./controls.js";
import { path, rect, stage, text } from "./strokes.js";

// Of a pair with 1, 2, 4 and 8 warps: its clocks, and in how many per cent of them each unit is busy; guess: a unit, or none yet.
const initial = {
  warps: 4, guess: "", clocks: "56 78 124 236",
  schedulers: "75 77 73 67", fp32: "19 19 19 20", alu: "93 75 55 39", lsu: "21 57 78 85", path: "25 71 87 90",
};
const WARPS = [1, 2, 4, 8];
/** A unit’s name and what it does, in one line and in two words. @typedef {"schedulers" | "fp32" | "alu" | "lsu" | "path"} Unit */
/** @type {Record<Unit, [string, string, string]>} */
const UNITS = {
  schedulers: ["schedulers", "start instructions", "start all"],
  fp32: ["FP32 units", "multiply and add", "multiply, add"],
  alu: ["ALU", "compares and selects", "compares"],
  lsu: ["LSU", "loads and shuffles", "loads, shuffles"],
  path: ["data path", "carries the numbers", "carries them"],
};
const ALL = /** @type {Unit[]} */ (Object.keys(UNITS));
const [HEAD, INSIDE, GAP, NAME] = [52, 16, 16, 52]; // pixels: of the rail’s row, around and between the vessels, and two names above each
const [WIDE, TALL, BAR] = [600, [86, 150], 34]; // from which width they’re in one row; a vessel, in two rows and in one; the clocks’ bar
const ROOM = 150; // that what a unit does takes in one line
const [RAIL, STOP, KNOB, EDGE] = [156, 64, 10, 22]; // where the warps’ rail begins, to its next stop, its knob, half a finger

/** @typedef {typeof initial} State */

/** @param {State} state */
function read(state) {
  const column = WARPS.indexOf(Number(oneOf("Warps", String(state.warps), WARPS.map(String))));
  const numbers = (/** @type {string} */ name, /** @type {string} */ list) =>
    parseNumbers(name, list, { min: 0, count: [WARPS.length, WARPS.length] });
  const clocks = numbers("Clocks", state.clocks);
  const busy = /** @type {Record<Unit, number>} */ (Object.fromEntries(ALL.map((unit) => [unit, numbers(UNITS[unit][0], state[unit])[column]])));
  const fullest = ALL.reduce((most, unit) => (busy[unit] > busy[most] ? unit : most));
  const guess = /** @type {Unit | ""} */ (oneOf("Guess", state.guess, ["", ...ALL]));
  return { column, clocks, busy, fullest, guess, shown: guess !== "" || state.warps !== initial.warps };
}

/** Where each vessel stands: on a phone three, and two below them. @param {number} width */
function places(width) {
  const [columns, high] = width < WIDE ? [3, TALL[0]] : [ALL.length, TALL[1]];
  const wide = (width - 2 * INSIDE - (columns - 1) * GAP) / columns;
  return ALL.map((unit, i) => {
    const [row, column] = [Math.floor(i / columns), i % columns];
    return { unit, x: INSIDE + column * (wide + GAP), y: HEAD + NAME + row * (high + NAME), wide, high };
  });
}
/** The SM’s foot, on a phone and elsewhere. */
const FEET = [HEAD + 2 * (NAME + TALL[0]) + INSIDE, HEAD + NAME + TALL[1] + INSIDE];
const HEIGHTS = /** @type {[number, number]} */ (FEET.map((foot) => foot + 20 + BAR));

const stop = (/** @type {number} */ width, /** @type {number} */ i) => RAIL + (i * Math.min(3 * STOP, width - EDGE - RAIL)) / (WARPS.length - 1);

/** How many warps, as a rail with four stops. @param {number} width @param {number} column @param {boolean} paper */
function drawRail(width, column, paper) {
  const y = HEAD / 2;
  const words = text(0, y + 5, "label ink", svg`<tspan class="strong">${WARPS[column]}</tspan> ${column ? "warps" : "warp"} a program`);
  if (paper) return words;
  return [
    words,
    path(`M${stop(width, 0)} ${y}H${stop(width, 3)}`, "line"),
    path(`M${stop(width, 0)} ${y}H${stop(width, column)}`, "ink"),
    WARPS.map((_, i) => svg`<circle class="fill ${i <= column ? "ink" : "grey"}" cx=${stop(width, i)} cy=${y} r="3" />`),
    svg`<circle class="ink knob moves" cx=${stop(width, column)} cy=${y} r=${KNOB} />`,
  ];
}

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width }) {
  const { column, clocks, busy, fullest, guess, shown } = read(state);
  const draw = (/** @type {number} */ wide, /** @type {number} */ _, /** @type {boolean} */ paper) => {
    const narrow = wide < WIDE;
    const vessels = places(wide).map(({ unit, x, y, wide: across, high }) => {
      const [name, does, briefly] = UNITS[unit];
      const level = shown || paper ? (high * busy[unit]) / 100 : 0.01; // so that it can rise
      const [at, look] = level > 30 ? [23, "paper"] : [-8, "ink"];
      const [colour, called] = unit === fullest && (shown || paper) ? ["violet", "violet"] : ["soft", "ink"];
      return [
        text(x, y - 27, `label strong ${called}`, name),
        across < ROOM ? text(x, y - 9, "small soft", briefly) : text(x, y - 9, "label soft", does),
        rect(x, y, across, high, "track"),
        rect(x, y + high - level, across, level, `${colour} moves`),
        path(`M${x} ${y}V${y + high}H${x + across}V${y}`, "ink thin"),
        shown || paper
          ? text(x + 12, y + high - level + at, `label strong moves ${look}`, `${Math.round(busy[unit])} %`)
          : text(x + across / 2, y + high / 2 + 12, "riddle violet middle", "?"),
      ];
    });
    const [foot, time, most] = [FEET[Number(!narrow)], clocks[column], Math.max(...clocks)];
    const [end, y] = [(wide * time) / most, foot + 20];
    const words = svg`a pair takes <tspan class="strong">${Math.round(time)}</tspan> clocks`;
    return [
      drawRail(wide, column, paper),
      path(`M1 ${HEAD}H${wide - 1}V${foot}H1Z`, "ink"),
      text(wide - INSIDE, narrow ? foot - INSIDE : HEAD - 10, "label soft end", "an SM"),
      vessels,
      rect(0, y, wide, BAR, "track"),
      rect(0, y, end, BAR, "ink moves"),
      end > 180 ? text(12, y + BAR - 12, "label paper", words) : text(end + 12, y + BAR - 12, "label ink moves", words),
    ];
  };
  const place = { from: stop(width, 0), to: stop(width, WARPS.length - 1), y: HEAD / 2 };
  const change = (/** @type {number} */ i) => set({ warps: WARPS[i] });
  const hold = grip("Warps of a program", column, change, { min: 0, max: WARPS.length - 1, inWords: String(state.warps) }, place);
  const known = ALL.map((unit) => (shown ? `${UNITS[unit][0]} busy ${Math.round(busy[unit])} %` : UNITS[unit][0])).join(", ");
  const label = `An SM with five units, and programs of ${state.warps} warps: a pair takes ${Math.round(clocks[column])} clocks, ${known}.`;
  const guesses = places(width).map(({ unit, x, y, wide, high }) => html`<button type="button" class="hb-live__vessel"
    aria-label=${`My guess: the ${UNITS[unit][0]}`} aria-pressed=${String(guess === unit)} @click=${() => set({ guess: unit })}
    style="left: ${x - GAP / 2}px; top: ${y - NAME + 6}px; width: ${wide + GAP}px; height: ${high + NAME}px"></button>`);
  return html`<div class="hb-live__grips">${stage(width, label, draw, HEIGHTS)}
    ${width && state.warps === initial.warps ? guesses : nothing}${width ? hold : nothing}</div>`;
}

/** @param {State} state */
function says(state) {
  const { column, clocks, busy, fullest, guess, shown } = read(state);
  const [now, before] = [clocks[column], clocks[WARPS.indexOf(initial.warps)]].map(Math.round);
  const found = `the ${UNITS[fullest][0]}, busy for ${Math.round(busy[fullest])} % of the time`;
  if (!shown) return "Which of the five is busy all that time? Tap the one that you think is the fullest.";
  if (state.warps === initial.warps) return `${guess === fullest ? "Yes:" : "No:"} it’s ${found}. Drag to one warp: is it still?`;
  return `With ${pluralize(state.warps, "warp")}, it’s ${found}. A pair takes ${now} clocks; with four it’s ${before}.`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "Which unit is busy", initial, picture, says,
};

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
  path: ["data path", "carries the numbers", "carries numbers"],
};
const ALL = /** @type {Unit[]} */ (Object.keys(UNITS));
const [WIDE, HEAD, INSIDE, GAP] = [600, 10, 16, 16]; // from which width they stand, in pixels; above the SM, around and between the vessels
const [NAME, TALL] = [52, 150]; // two names above a vessel that stands, and its height
const [NAMES, LOW, LINE] = [108, 36, 48]; // the names beside one that lies, its height, and from one to the next
const [ROOM, LONG] = [150, 180]; // that what a unit does takes in one line, and so do a pair’s clocks
const [BAR, RAIL, STOP, KNOB, EDGE] = [34, 156, 64, 10, 22]; // the clocks’ bar; where the warps’ rail begins, to its next stop, its knob, half a finger

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

/** Each vessel, and what a finger finds of it: they stand in a row, and on a phone they lie below one another. @param {number} width */
function places(width) {
  const wide = (width - 2 * INSIDE - (ALL.length - 1) * GAP) / ALL.length;
  return ALL.map((unit, i) => {
    if (width < WIDE) {
      const y = HEAD + INSIDE + i * LINE;
      return { unit, x: INSIDE + NAMES, y, across: width - 2 * INSIDE - NAMES, high: LOW, finger: [INSIDE / 2, y - 6, width - INSIDE, LINE] };
    }
    const [x, y] = [INSIDE + i * (wide + GAP), HEAD + NAME + 6];
    return { unit, x, y, across: wide, high: TALL, finger: [x - GAP / 2, HEAD + 10, wide + GAP, NAME + TALL + 4] };
  });
}
/** The SM’s foot. @param {number} width */
const footOf = (width) => (width < WIDE ? HEAD + 2 * INSIDE + ALL.length * LINE - (LINE - LOW) : HEAD + 6 + NAME + TALL + INSIDE);
/** The middle of the rail, below the SM and its clocks. @param {number} width */
const railOf = (width) => footOf(width) + 20 + BAR + 8 + EDGE;
const HEIGHTS = /** @type {[number, number]} */ ([0, WIDE].map((width) => railOf(width) + EDGE - 8));

const stop = (/** @type {number} */ width, /** @type {number} */ i) => RAIL + (i * Math.min(3 * STOP, width - EDGE - RAIL)) / (WARPS.length - 1);

/** How many warps, as a rail with four stops; before the guess there’s nothing to hold. @param {number} width @param {number} column @param {boolean} shown @param {boolean} paper */
function drawRail(width, column, shown, paper) {
  const y = railOf(width);
  const words = text(0, y + 5, `label ${shown ? "ink" : "soft"}`, svg`<tspan class="strong">${WARPS[column]}</tspan> ${column ? "warps" : "warp"} a program`);
  if (paper || !shown) return words;
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
    const lies = wide < WIDE;
    const known = shown || paper;
    const vessels = places(wide).map(({ unit, x, y, across, high }) => {
      const [name, does, briefly] = UNITS[unit];
      const part = known ? busy[unit] / 100 : 0.0001; // so that it can rise
      const [long, level] = lies ? [across * part, high] : [across, high * part];
      const [colour, called] = known && unit === fullest ? ["violet", "violet"] : ["soft", "ink"];
      const percent = `${Math.round(busy[unit])} %`;
      const [left, line] = lies ? [INSIDE, y + 32] : [x, y - 9];
      return [
        text(left, line - 18, `label strong ${called}`, name),
        lies || across < ROOM ? text(left, line, "small soft", briefly) : text(left, line, "label soft", does),
        rect(x, y, across, high, "track"),
        rect(x, y + high - level, long, level, `${colour} moves`),
        path(lies ? `M${x + across} ${y}H${x}V${y + high}H${x + across}` : `M${x} ${y}V${y + high}H${x + across}V${y}`, "ink thin"),
        !known
          ? text(x + across / 2, y + high / 2 + (lies ? 8 : 12), "riddle soft middle", "?")
          : lies
            ? text(x + long + (long > 60 ? -10 : 8), y + 24, `label strong ${long > 60 ? "paper end" : "ink"}`, percent)
            : text(x + 12, y + high - level + (level > 30 ? 23 : -8), `label strong ${level > 30 ? "paper" : "ink"}`, percent),
      ];
    });
    const [foot, time, most] = [footOf(wide), clocks[column], Math.max(...clocks)];
    const [end, y] = [(wide * time) / most, foot + 20];
    const room = Math.max(end, wide - end) > LONG; // in the bar, or behind it
    const words = svg`${room ? "a pair takes " : ""}<tspan class="strong">${Math.round(time)}</tspan> clocks`;
    return [
      path(`M${INSIDE + 48} ${HEAD}H${wide - 1}V${foot}H1V${HEAD}H${INSIDE - 6}`, "ink"), // its name is in the gap
      text(INSIDE, HEAD + 5, "label soft", "an SM"),
      vessels,
      rect(0, y, wide, BAR, "track"),
      rect(0, y, end, BAR, "ink moves"),
      end > LONG ? text(12, y + BAR - 12, "label paper", words) : text(end + 12, y + BAR - 12, "label ink moves", words),
      drawRail(wide, column, shown, paper),
    ];
  };
  const place = { from: stop(width, 0), to: stop(width, WARPS.length - 1), y: railOf(width) };
  const change = (/** @type {number} */ i) => set({ warps: WARPS[i] });
  const hold = () => grip("Warps of a program", column, change, { min: 0, max: WARPS.length - 1, inWords: String(state.warps) }, place);
  const known = ALL.map((unit) => (shown ? `${UNITS[unit][0]} busy ${Math.round(busy[unit])} %` : UNITS[unit][0])).join(", ");
  const label = `An SM with five units, and programs of ${state.warps} warps: a pair takes ${Math.round(clocks[column])} clocks, ${known}.`;
  const guesses = places(width).map(({ unit, finger: [left, top, wide, high] }) => html`<button type="button" class="hb-live__vessel"
    aria-label=${`My guess: the ${UNITS[unit][0]}`} aria-pressed=${String(guess === unit)} @click=${() => set({ guess: unit })}
    style="left: ${left}px; top: ${top}px; width: ${wide}px; height: ${high}px"></button>`);
  return html`<div class="hb-live__grips">${stage(width, label, draw, HEIGHTS)}
    ${width && state.warps === initial.warps ? guesses : nothing}${width && shown ? hold() : nothing}</div>`;
}

/** @param {State} state */
function says(state) {
  const { column, clocks, busy, fullest, guess, shown } = read(state);
  const [now, before] = [clocks[column], clocks[WARPS.indexOf(initial.warps)]].map(Math.round);
  const [name, percent] = [`the ${UNITS[fullest][0]}`, `${Math.round(busy[fullest])} %`];
  if (!shown) return "Which of the five is the busiest? Tap the one that you think is the fullest.";
  if (state.warps === initial.warps) return `${guess === fullest ? "Yes:" : guess === "lsu" ? "Nearly:" : "No:"} it’s ${name}, busy for ${percent} of the time. Drag to one warp: is it still?`;
  return `With ${pluralize(state.warps, "warp")}, the fullest: ${name}, ${percent} busy. A pair takes ${now} clocks; with four it’s ${before}.`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "Which unit is busy", initial, picture, says,
};

// Rice and sauce on two burners, as arcs on a kitchen clock: each takes as long as the reader drags it, and dinner is ready
// when the longer one is.
import { html, nothing, svg } from "lit-html";
import { pluralize, requireInteger } from "./controls.js";
import { clamp, hundredths, path, stage, text } from "./strokes.js";

const initial = { rice: 30, sauce: 16 }; // minutes
const DISHES = /** @type {("rice" | "sauce")[]} */ (["rice", "sauce"]);
const COLOURS = ["ink", "soft"];
const [HOUR, MOST] = [60, 55]; // minutes: once around, and of a dish
const [FACE, RIM, KNOB] = [122, 100, 10]; // pixels: half the clock with its numbers, its ring, and a knob’s radius
const [RINGS, HALF] = [[86, 42], 12]; // where each dish has its arc, a finger apart, and half of how thick it is
const HAND = 26; // how long it is, so it meets no knob
const [WORDS, POT_YS] = [12, [14, 114]]; // right of the clock: the dishes and their minutes
/** A pot with its lid on, and a pan with a handle and some steam. */
const POTS = {
  rice: "M8 15H40V31Q40 35 36 35H12Q8 35 8 31ZM5 15H43M11 15Q11 8 24 8Q37 8 37 15M24 8V4M8 21H2M40 21H46",
  sauce: "M4 18H34V31Q34 35 30 35H8Q4 35 4 31ZM34 22L50 17M13 12Q9 9 13 6T13 0M25 12Q21 9 25 6T25 0",
};

/** @typedef {typeof initial} State */

/** @param {State} state */
const minutes = (state) => DISHES.map((dish) => requireInteger(dish, state[dish], 1, MOST));
/** How large the clock is, where there's less room than it wants. @param {number} width */
const scaleAt = (width) => Math.min(1, (width - 100) / (2 * FACE));

/** Where the hand of so many minutes is, so far from the middle. @param {number} minutes @param {number} radius @param {number} scale */
function at(minutes, radius, scale) {
  const angle = (2 * Math.PI * minutes) / HOUR;
  return [scale * (FACE + radius * Math.sin(angle)), scale * (FACE - radius * Math.cos(angle))].map(hundredths);
}

/** An arc from 0 to so many minutes. @param {number} minutes @param {number} ring @param {string} look @param {number} scale */
function arc(minutes, ring, look, scale) {
  const end = (/** @type {number} */ radius, sweep = 1) =>
    `A${scale * radius} ${scale * radius} 0 ${Number(minutes > HOUR / 2)} ${sweep} ${at(sweep && minutes, radius, scale).join(" ")}`;
  const [out, inside] = [ring + HALF, ring - HALF];
  const d = `M${at(0, out, scale).join(" ")}${end(out)}L${at(minutes, inside, scale).join(" ")}${end(inside, 0)}Z`;
  return svg`<path class="fill ${look}" d=${d} />`;
}

/** The clock without its dishes. @param {number} scale */
function drawFace(scale) {
  const ticks = Array.from({ length: 12 }, (_, i) =>
    `M${at(5 * i, RIM, scale).join(" ")}L${at(5 * i, RIM + (i % 3 ? 4 : 7), scale).join(" ")}`);
  return [
    RINGS.map((ring) => arc(HOUR - 1e-3, ring, "track", scale)),
    path(ticks.join(""), "soft thin"),
    [0, 15, 30, 45].map((minutes) => {
      const [x, y] = at(minutes, RIM + 14, scale);
      return text(x, y + 5, "small soft middle", minutes);
    }),
  ];
}

/** Where a pointer is on the clock, unless it went on past the top. @param {PointerEvent} event @param {number} before */
function minutesAt(event, before) {
  const box = /** @type {Element} */ (/** @type {Element} */ (event.target).parentElement).getBoundingClientRect();
  const angle = Math.atan2(event.clientX - box.left - box.width / 2, box.top + box.height / 2 - event.clientY);
  const now = Math.round(((angle / (2 * Math.PI) + 1) % 1) * HOUR);
  if (Math.abs(now - before) > HOUR / 2) return before > HOUR / 2 ? MOST : 1;
  return clamp(1, now, MOST);
}

/** What's held: the end of each arc, by mouse and finger, and the keyboard has a slider for each. @param {State} state @param {(change: Partial<State>) => void} set @param {number} scale */
function pad(state, set, scale) {
  const all = minutes(state);
  const holds = DISHES.map((dish, row) => {
    const [x, y] = at(all[row], RINGS[row], scale);
    const hold = (/** @type {PointerEvent} */ event) => /** @type {Element} */ (event.target).setPointerCapture(event.pointerId);
    const drag = (/** @type {PointerEvent} */ event) =>
      /** @type {Element} */ (event.target).hasPointerCapture(event.pointerId) && set({ [dish]: minutesAt(event, all[row]) });
    const change = (/** @type {Event} */ event) => set({ [dish]: Number(/** @type {HTMLInputElement} */ (event.target).value) });
    return html`<input type="range" class="hb-live__grip" aria-label=${`Minutes of the ${dish}`} min="1" max=${MOST} .value=${String(all[row])} @input=${change}>
      <span class="hold" style="left: ${x}px; bottom: ${2 * FACE * scale - y}px" @pointerdown=${hold} @pointermove=${drag}></span>`;
  });
  const size = `${2 * FACE * scale}px`;
  return html`<div class="hb-live__pad" style="left: 0; top: 0; width: ${size}; height: ${size}">${holds}</div>`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width }) {
  const all = minutes(state);
  const longer = Math.max(...all);
  const draw = (/** @type {number} */ wide, /** @type {number} */ _, /** @type {boolean} */ paper) => {
    const scale = scaleAt(wide);
    const [left, middle] = [2 * FACE * scale + WORDS, at(0, 0, scale)];
    return [
      drawFace(scale),
      DISHES.map((dish, row) => {
        const [x, y] = at(all[row], RINGS[row], scale);
        const top = POT_YS[row];
        return [
          arc(all[row], RINGS[row], COLOURS[row], scale),
          paper ? nothing : svg`<circle class="ink knob" cx=${x} cy=${y} r=${KNOB} />`,
          svg`<g transform="translate(${left} ${top})">${path(POTS[dish], "ink thin")}</g>`,
          text(left, top + 58, `label ${COLOURS[row]}`, svg`${dish} <tspan class="strong">${all[row]}</tspan>`),
        ];
      }),
      path(`M${middle.join(" ")}L${at(longer, HAND, scale).join(" ")}M${at(longer, RIM, scale).join(" ")}L${at(longer, RIM + 6, scale).join(" ")}`, "ink"),
      svg`<circle class="fill ink" cx=${middle[0]} cy=${middle[1]} r="4" />`,
      text(left, POT_YS[1] + 98, "label ink", svg`dinner <tspan class="strong">${longer}</tspan>`),
    ];
  };
  const drawn = stage(width, says(state), draw, [2 * FACE, 2 * FACE]);
  return html`<div class="hb-live__grips">${drawn}${width ? pad(state, set, scaleAt(width)) : nothing}</div>`;
}

/** @param {State} state */
function says(state) {
  const [rice, sauce] = minutes(state);
  const dinner = `Dinner after ${pluralize(Math.max(rice, sauce), "minute")}`;
  if (rice === sauce) return `${dinner}: both are ready at once.`;
  if (rice === initial.rice && sauce === initial.sauce) return `${dinner}. Drag an end: which one has to be shorter?`;
  const [longer, hidden] = rice > sauce ? DISHES : [...DISHES].reverse();
  return `${dinner}, with the ${longer}. The ${hidden} hides behind it.`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "Rice and sauce", initial, picture, says,
};

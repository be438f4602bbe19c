// Rice and sauce on two burners: each takes as long as the reader drags it, and dinner is ready when the longer one is.
import { html, nothing, svg } from "lit-html";
import { grip, pluralize, requireInteger } from "./controls.js";
import { path, rect, stage, text } from "./strokes.js";

const initial = { rice: 30, sauce: 16 }; // minutes
const DISHES = /** @type {("rice" | "sauce")[]} */ (["rice", "sauce"]);
const MOST = 40; // minutes, of the scale
const [BAR, ROW, KNOB] = [36, 56, 10]; // pixels: of a bar, to the next one, and a knob's radius
const [LEFT, EDGE] = [60, 22]; // pixels: of the scale, for a pot, and right of it, half a finger
const HEIGHT = ROW + BAR + 36; // with dinner’s words
/** A pot with its lid on, and a pan with a handle and some steam, each as high as a bar. */
const POTS = {
  rice: "M8 15H40V31Q40 35 36 35H12Q8 35 8 31ZM5 15H43M11 15Q11 8 24 8Q37 8 37 15M24 8V4M8 21H2M40 21H46",
  sauce: "M4 18H34V31Q34 35 30 35H8Q4 35 4 31ZM34 22L50 17M13 12Q9 9 13 6T13 0M25 12Q21 9 25 6T25 0",
};

/** @typedef {typeof initial} State */

/** @param {State} state */
const minutes = (state) => DISHES.map((dish) => requireInteger(dish, state[dish], 1, MOST));
/** @param {number} width */
const axis = (width) => (/** @type {number} */ minutes) => LEFT + (minutes * (width - LEFT - EDGE)) / MOST;

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width }) {
  const all = minutes(state);
  const longer = Math.max(...all);
  const draw = (/** @type {number} */ wide, /** @type {number} */ _, /** @type {boolean} */ paper) => {
    const [x, end] = [axis(wide), axis(wide)(longer)];
    const bars = DISHES.map((dish, row) => {
      const [y, to, half] = [row * ROW, x(all[row]), row * ROW + BAR / 2];
      const inside = to > LEFT + 110;
      const words = svg`${dish} <tspan class="strong">${all[row]}</tspan>`;
      return [
        svg`<g transform="translate(0 ${y})">${path(POTS[dish], "ink thin")}</g>`,
        rect(LEFT, y, to - LEFT, BAR, all[row] === longer ? "violet" : "soft"),
        text(inside ? LEFT + 12 : to + 18, half + 5, inside ? "label paper" : "label ink halo", words),
        paper ? nothing : svg`<circle class="ink knob" cx=${to} cy=${half} r=${KNOB} />`,
      ];
    });
    const [near, ready] = [end < wide / 2, svg`dinner <tspan class="strong">${longer}</tspan>`];
    return [
      DISHES.map((_, row) => rect(LEFT, row * ROW, wide - LEFT, BAR, "track")),
      path(`M${end} 0V${HEIGHT - 8}`, "ink"),
      bars,
      text(near ? end + 8 : end - 8, HEIGHT - 12, `label ink ${near ? "" : "end"}`, ready),
    ];
  };
  const holds = DISHES.map((dish, row) => {
    const place = { from: axis(width)(1), to: axis(width)(MOST), y: row * ROW + BAR / 2 };
    const change = (/** @type {number} */ minutes) => set({ [dish]: minutes });
    return grip(`Minutes of the ${dish}`, all[row], change, { min: 1, max: MOST }, place);
  });
  const drawn = stage(width, says(state), draw, [HEIGHT, HEIGHT]);
  return html`<div class="hb-live__grips">${drawn}${width ? holds : nothing}</div>`;
}

/** @param {State} state */
function says(state) {
  const [rice, sauce] = minutes(state);
  const dinner = `Dinner after ${pluralize(Math.max(rice, sauce), "minute")}`;
  if (rice === sauce) return `${dinner}: both are ready at once.`;
  if (rice === initial.rice && sauce === initial.sauce) return `${dinner}. Drag a bar: which one has to be shorter?`;
  const [longer, hidden] = rice > sauce ? DISHES : [...DISHES].reverse();
  return `${dinner}, with the ${longer}. The ${hidden} hides behind it.`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "Rice and sauce", initial, picture, says,
};

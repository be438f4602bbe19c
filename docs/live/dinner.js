// Rice and sauce on two burners: each takes as long as the reader drags it, and dinner is ready when the longer one is.
import { html, nothing, svg } from "lit-html";
import { grip, pluralize, requireInteger } from "./controls.js";
import { path, rect, stage, text } from "./strokes.js";

const initial = { rice: 30, sauce: 12 }; // minutes
const DISHES = /** @type {("rice" | "sauce")[]} */ (["rice", "sauce"]);
const MOST = 40; // minutes, of the scale
const [BAR, ROW, KNOB] = [36, 56, 10]; // pixels: of a bar, to the next one, and a knob's radius
const [HEIGHT, EDGE] = [ROW + BAR + 36, 22]; // pixels: with dinner’s words, and right of the scale, half a finger

/** @typedef {typeof initial} State */

/** @param {State} state */
const minutes = (state) => DISHES.map((dish) => requireInteger(dish, state[dish], 1, MOST));
/** @param {number} width */
const axis = (width) => (/** @type {number} */ minutes) => (minutes * (width - EDGE)) / MOST;

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width }) {
  const all = minutes(state);
  const longer = Math.max(...all);
  const draw = (/** @type {number} */ wide, /** @type {number} */ _, /** @type {boolean} */ paper) => {
    const [x, end] = [axis(wide), axis(wide)(longer)];
    const bars = DISHES.map((dish, row) => {
      const [y, to, half] = [row * ROW, x(all[row]), row * ROW + BAR / 2];
      const inside = to > 110;
      const words = svg`${dish} <tspan class="strong">${all[row]}</tspan>`;
      return [
        rect(0, y, to, BAR, all[row] === longer ? "ink" : "soft"),
        text(inside ? 12 : to + 18, half + 5, inside ? "label paper" : "label ink halo", words),
        paper ? nothing : svg`<circle class="ink knob" cx=${to} cy=${half} r=${KNOB} />`,
      ];
    });
    const [near, ready] = [end < wide / 2, svg`dinner <tspan class="strong">${longer}</tspan>`];
    return [
      DISHES.map((_, row) => rect(0, row * ROW, wide, BAR, "track")),
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
  done: (state) => DISHES.some((dish) => state[dish] !== initial[dish]),
};

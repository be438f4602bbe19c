// The bar from the chapter's first picture: what was worked out is dashed, and the reader fills it with what was measured.
import { html, svg } from "lit-html";
import { NAMES, cuts, times } from "./where_time_goes.model.js";
import { oneOf } from "./controls.js";
import { path, rect, stage, text } from "./strokes.js";

// In milliseconds and TB/s; passes and sums: of the kernel without the other, in FP16; tried: which of these, the newest last.
const initial = { kernel: 64.1, pytorch: 0.545, l2: 8.47, passes: 34.7, sums: 63.7, tried: "" };
const PARTS = /** @type {("passes" | "sums")[]} */ (["passes", "sums"]);
const [NAME, LANE, GAP, EDGE] = [28, 34, 8, 1.5]; // pixels: above the bar, of a lane, around it, and half the bar's line
const HIGH = 4 * (LANE + GAP) + GAP + 4 * EDGE;

/** @typedef {typeof initial} State */

/** @param {State} state */
const tried = ({ tried }) => tried.split(",").filter(Boolean).map((name) => oneOf("Tried", name, PARTS));
const ms = (/** @type {number} */ time) => `${Math.round(time)} ms`;

/** @param {State} state @param {string[]} tried @param {number} width */
function draw(state, tried, width) {
  const scale = (width - 4 * EDGE) / state.kernel;
  const [from, inside] = [2 * EDGE, HIGH - 4 * EDGE];
  const lane = (/** @type {number} */ i) => NAME + from + GAP + i * (LANE + GAP);
  const worked = Object.entries(times(state.l2));
  const [passes, sums] = PARTS.map((part) => (tried.includes(part) ? state[part] * scale : 0));
  const known = Math.max(...worked.map(([, time]) => time * scale), passes, sums);
  const open = Number(!sums);
  const name = (/** @type {string} */ part, /** @type {number} */ time) => svg`${NAMES[part] ?? part} <tspan class="strong">${ms(time)}</tspan>`;
  return [
    text(0, NAME - 12, "ink", svg`this kernel <tspan class="soft">${ms(state.kernel)}</tspan>`),
    rect(EDGE, NAME + EDGE, width - 2 * EDGE, HIGH - 2 * EDGE, "violet empty"),
    path(cuts(state.pytorch, state.kernel, width, NAME + from, NAME + from + inside, width < 600), "violet thin moves", 0.5 * open),
    rect(from, NAME + from, known, inside, "known moves"),
    text(width - 20, NAME + HIGH / 2 - 12, "riddle violet tinted halo moves end", "What else?", open),
    worked.map(([part, time], i) => {
      const y = lane(i);
      return [
        rect(from, y, time * scale, LANE, "ink hollow moves"),
        text(from + time * scale + 10, y + LANE / 2 + 6, "ink tinted halo moves", name(part, time)),
      ];
    }),
    [passes, sums].map((end, i) => [
      rect(from, lane(2 + i), end, LANE, i ? "violet moves" : "soft moves"),
      text(from + 12, lane(2 + i) + LANE / 2 + 6, "paper moves", name(`loads + ${PARTS[i]}`, state[PARTS[i]]), Number(end > 0)),
    ]),
  ];
}

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width }) {
  const { memory, multiplying } = times(state.l2);
  const measured = tried(state).map((part) => `; measured: loads and ${part} ${ms(state[/** @type {"passes" | "sums"} */ (part)])}`);
  const label = `A bar, this kernel’s ${ms(state.kernel)}. In it, worked out: ${NAMES.memory} ${ms(memory)}, multiplying ${ms(multiplying)}${measured.join("")}.`;
  const drawn = (/** @type {number} */ wide, /** @type {number} */ _, /** @type {boolean} */ paper) =>
    draw(state, paper ? PARTS : tried(state), wide);
  return stage(width, label, drawn, [NAME + HIGH, NAME + HIGH]);
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
function primary(state, set) {
  const now = tried(state);
  const buttons = PARTS.map((part) => {
    const press = () => set({ tried: [...now.filter((other) => other !== part), part].join(",") });
    return html`<button type="button" class="hb-live__main" @click=${press}>${part === "sums" ? "Sums" : "Passes"}</button>`;
  });
  return html`<div class="hb-live__suspects" role="group" aria-label="What fills it?">${buttons}</div>`;
}

/** @param {State} state */
function says(state) {
  const [whole, now] = [ms(state.kernel), tried(state)];
  switch (now.at(-1)) {
    case "passes":
      return `Loads and passes alone: ${ms(state.passes)} of ${whole}.${now.length > 1 ? " They hide behind the sums." : ""}`;
    case "sums":
      return `Loads and sums alone: ${ms(state.sums)} of ${whole}. They fill it.`;
    default:
      return "Two are left. Which one fills it?";
  }
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "What fills the bar", initial, picture, primary, says,
  done: (state) => tried(state).length === PARTS.length,
};

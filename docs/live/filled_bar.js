// The bar from the chapter's first picture: what was worked out is dashed, and the reader fills it with what was measured.
import { html, svg } from "lit-html";
import { times } from "./where_time_goes.model.js";
import { oneOf } from "./controls.js";
import { hatch, path, rect, stage, text } from "./strokes.js";

// In milliseconds and TB/s; passes and sums: of the kernel without the other, in FP16; tried: which of these, the newest last.
const initial = { kernel: 64.1, l2: 8.47, passes: 34.7, sums: 63.7, tried: "" };
const PARTS = /** @type {("passes" | "sums")[]} */ (["passes", "sums"]);
const LOOKS = { passes: "soft", sums: "ink" };
const [NAME, LANE, GAP, EDGE] = [28, 34, 8, 1.5]; // pixels: above the bar, of a lane, around it, and half the bar's line
const HIGH = 4 * (LANE + GAP) + GAP + 4 * EDGE;
const INSIDE = 150; // pixels that a name needs

/** @typedef {typeof initial} State */

/** @param {State} state */
const tried = ({ tried }) => tried.split(",").filter(Boolean).map((name) => oneOf("Tried", name, PARTS));
const ms = (/** @type {number} */ time) => `${Math.round(time)} ms`;

/** @param {State} state @param {string[]} tried @param {number} width */
function draw(state, tried, width) {
  const scale = (width - 4 * EDGE) / state.kernel;
  const lanes = [
    ...Object.entries(times(state.l2)).map(([name, time]) => ({ name, time, look: "ink hollow", there: true })),
    ...PARTS.map((part) => ({ name: width < 600 ? part : `loads and ${part}`, time: state[part], look: LOOKS[part], there: tried.includes(part) })),
  ];
  const known = Math.max(...lanes.map(({ time, there }) => (there ? time * scale : 0)));
  const open = tried.includes("sums") ? 0 : 1;
  const drawn = lanes.map(({ name, time, look, there }, lane) => {
    const [y, wide] = [NAME + 2 * EDGE + GAP + lane * (LANE + GAP), time * scale];
    const [x, colour] = wide > INSIDE ? [2 * EDGE + 10, "paper"] : [2 * EDGE + wide + 10, "ink tinted halo"];
    const words = svg`${name} <tspan class="strong">${ms(time)}</tspan>`;
    return [
      rect(2 * EDGE, y, there ? wide : 0, LANE, `${look} moves`),
      text(x, y + LANE / 2 + 6, `${colour} moves`, words, Number(there)),
    ];
  });
  const inside = HIGH - 4 * EDGE;
  return [
    text(0, NAME - 12, "ink", svg`this kernel, in FP16 <tspan class="soft">${ms(state.kernel)}</tspan>`),
    rect(EDGE, NAME + EDGE, width - 2 * EDGE, HIGH - 2 * EDGE, "violet empty"),
    path(hatch(2 * EDGE, width - 2 * EDGE, NAME + 2 * EDGE, inside), "violet thin moves", 0.4 * open),
    rect(2 * EDGE, NAME + 2 * EDGE, known, inside, "known moves"),
    text(width - 20, NAME + HIGH / 2 - 12, "riddle violet tinted halo moves end", "What else?", open),
    drawn,
  ];
}

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width }) {
  const { memory, multiplying } = times(state.l2);
  const label = `A bar, this kernel’s ${ms(state.kernel)} in FP16. In it, worked out: memory ${ms(memory)}, multiplying ${ms(multiplying)}. Measured: loads and passes ${ms(state.passes)}, loads and sums ${ms(state.sums)}.`;
  const drawn = (/** @type {number} */ wide, /** @type {number} */ _, /** @type {boolean} */ paper) =>
    draw(state, paper ? PARTS : tried(state), wide);
  return stage(width, label, drawn, [NAME + HIGH, NAME + HIGH]);
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
function primary(state, set) {
  const now = tried(state);
  const buttons = PARTS.map((part) => {
    const press = () => set({ tried: [...now.filter((other) => other !== part), part].join(",") });
    const look = part === "passes" && now.includes(part) ? "quiet" : "";
    return html`<button type="button" class="hb-live__main ${look}" @click=${press}>${part === "sums" ? "Sums" : "Passes"}</button>`;
  });
  return html`<div class="hb-live__suspects" role="group" aria-label="What fills it?">${buttons}</div>`;
}

/** @param {State} state */
function says(state) {
  const whole = ms(state.kernel);
  switch (tried(state).at(-1)) {
    case "passes":
      return `Loads and passes alone: ${ms(state.passes)} of ${whole}.`;
    case "sums":
      return `Loads and sums alone: ${ms(state.sums)} of ${whole}. They fill it.`;
    default:
      return "Two are left. Which one fills it?";
  }
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "What fills the bar", initial, picture, primary,
  says: (state) => says(state).replace(/ ms\b/g, "\u00a0ms"),
  done: (state) => tried(state).includes("sums"),
};

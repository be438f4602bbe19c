// The time of a kernel as an empty bar: the reader guesses what fills it. Two suspects are dashed, since they're worked out.
import { html, nothing, svg } from "lit-html";
import { NAMES, billions, gigabytes, times } from "./where_time_goes.model.js";
import { formatNumber, oneOf } from "./controls.js";
import { path, rect, stage, text } from "./strokes.js";

// In milliseconds and TB/s, as measured; tried: which suspects, the newest last.
const initial = { kernel: 63.9, pytorch: 0.545, l2: 8.47, tried: "" };
const [LANE, GAP] = [28, 8]; // the kernel's bar has two lanes, and this around them
const HIGH = 2 * LANE + 3 * GAP; // of both bars
const NAME = 28; // above each bar
const TOP = NAME + HIGH + 20 + NAME; // of the kernel's
const EDGE = 1.5; // half the line around what is empty, in pixels

/** @typedef {typeof initial} State */
const SUSPECTS = ["memory", "multiplying"];
/** The reader's guesses. @type {Record<string, string>} */
const GUESSES = { memory: "Memory", multiplying: "Multiplying", neither: "Something else" };

/** @param {State} state */
const tried = ({ tried }) => tried.split(",").filter(Boolean).map((name) => oneOf("Tried", name, Object.keys(GUESSES)));
/** @param {string[]} tried */
const isSolved = (tried) => SUSPECTS.every((name) => tried.includes(name));
const ms = (/** @type {number} */ time) => `${time.toFixed(time < 1 ? 3 : 1)} ms`;
const ratio = (/** @type {State} */ { kernel, pytorch }) => `${Math.round(kernel / pytorch)} times as long`;

/** The kernel’s bar, cut into pieces as long as PyTorch’s. @param {number} one @param {number} width */
const cuts = (one, width) =>
  Array.from({ length: Math.floor(width / one) }, (_, i) => `M${((i + 1) * one).toFixed(1)} ${TOP + 2 * EDGE}V${TOP + HIGH - 2 * EDGE}`).join("");

/** @param {State} state @param {string[]} tried @param {number} width */
function draw(state, tried, width) {
  const { kernel, pytorch, l2 } = state;
  const [scale, begun, open] = [width / kernel, tried.length > 0, isSolved(tried)];
  const filled = Object.entries(times(l2)).map(([name, time]) => ({ name, time, there: tried.includes(name) }));
  const known = Math.max(...filled.map(({ time, there }) => (there ? time * scale : 0)));
  const lanes = filled.map(({ name, time, there }, lane) => {
    const y = TOP + GAP + lane * (LANE + GAP);
    const words = svg`${NAMES[name]} <tspan class="strong">${ms(time)}</tspan>`;
    return [
      rect(3 * EDGE, y, Math.max(0, (there ? time * scale : 0) - 3 * EDGE), LANE, "ink hollow moves", Number(there)),
      text(time * scale + 10, y + 20, "ink tinted halo moves", words, Number(there)),
    ];
  });
  const [x, anchor] = width < 600 && known ? [width - 8, "end"] : [width / 2, "middle"]; // beside the lanes' names
  const named = (/** @type {string} */ name, /** @type {number} */ time) =>
    svg`${name} <tspan class="soft">${begun ? ms(time) : ""}</tspan>`;
  return [
    text(0, NAME - 12, "ink", named("three lines of PyTorch", pytorch)),
    rect(0, NAME, pytorch * scale, HIGH, "ink"),
    text(0, TOP - 12, "ink", named("this kernel", kernel)),
    text(width, TOP - 12, "violet factor end", ratio(state)),
    rect(EDGE, TOP + EDGE, width - 2 * EDGE, HIGH - 2 * EDGE, "violet empty"),
    path(cuts(pytorch * scale, width), "violet thin", width < 600 ? 0.35 : 0.5),
    rect(2 * EDGE, TOP + 2 * EDGE, Math.max(0, known - 2 * EDGE), HIGH - 4 * EDGE, "known moves"),
    text(x, TOP + HIGH / 2 + 7, `question ink tinted halo moves ${anchor}`, "What fills it?", Number(!open)),
    text(x, TOP + HIGH / 2 + (width < 600 ? 10 : 16), `riddle violet tinted halo moves ${anchor}`, "What else?", Number(open)),
    lanes,
  ];
}

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width }) {
  const known = Object.entries(times(state.l2)).filter(([name]) => tried(state).includes(name));
  const filled = known.map(([name, time]) => ` Of these, ${name} fills ${ms(time)}.`).join("");
  const label = `Two bars on one scale: three lines of PyTorch take ${ms(state.pytorch)}, this kernel ${ms(state.kernel)}, ${ratio(state)}.${filled}`;
  const drawn = (/** @type {number} */ wide, /** @type {number} */ _, /** @type {boolean} */ paper) =>
    draw(state, paper ? SUSPECTS : tried(state), wide);
  return stage(width, label, drawn, [TOP + HIGH, TOP + HIGH]);
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
function primary(state, set) {
  const now = tried(state);
  const buttons = Object.entries(GUESSES).map(([name, title]) => {
    const cleared = SUSPECTS.includes(name);
    const press = () => set({ tried: [...(cleared ? now.filter((other) => other !== name) : SUSPECTS), name].join(",") });
    const look = cleared && now.includes(name) ? "quiet" : "";
    return html`<button type="button" class="hb-live__main ${look}" @click=${press}>${title}</button>`;
  });
  return html`<div class="hb-live__suspects" role="group" aria-label="What fills it?">${buttons}</div>`;
}

/** @param {State} state */
function says(state) {
  const [{ memory, multiplying }, whole] = [times(state.l2), Math.round(state.kernel)];
  const neither = isSolved(tried(state)) ? " So it’s neither." : "";
  switch (tried(state).at(-1)) {
    case "memory":
      return `It loads ${formatNumber(gigabytes, 1)} GB in all. At the full speed of L2, the chip’s large cache, that’s ${Math.round(memory)} ms of ${whole}.${neither}`;
    case "multiplying":
      return `That’s ${formatNumber(billions, 1)} billion operations. At full speed they take ${Math.round(multiplying)} ms of ${whole}, while memory works.${neither}`;
    case "neither":
      return `Right. Memory fills ${Math.round(memory)} ms of ${whole}, and multiplying ${Math.round(multiplying)}, both at once. But what is it?`;
    default:
      return "Press your guess.";
  }
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "Where the time goes", initial, picture, primary, says,
  done: (state) => isSolved(tried(state)),
};

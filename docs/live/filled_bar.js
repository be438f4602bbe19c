// The bar from the chapter’s first picture: what was worked out is hollow, and the reader pulls in what was measured.
import { html, nothing, svg } from "lit-html";
import { NAMES, times } from "./where_time_goes.model.js";
import { grip, requireInteger } from "./controls.js";
import { rect, stage, text } from "./strokes.js";

// In milliseconds and TB/s; passes and sums: of the kernel without the other, in FP16; and how far each is pulled in.
const initial = { kernel: 64.1, l2: 8.47, passes: 34.7, sums: 63.7, passesTo: 0, sumsTo: 0 };
const PARTS = /** @type {("passes" | "sums")[]} */ (["passes", "sums"]);
const [NAME, LANE, GAP, EDGE, KNOB] = [28, 42, 6, 1, 10]; // pixels: above the bar, of a lane, around it, half the bar's line, a knob's radius
const HIGH = 4 * (LANE + GAP) + GAP + 4 * EDGE;
const FROM = 2 * EDGE; // the inside of the bar
const FINGER = 22; // half of one: where a knob waits

/** @typedef {typeof initial} State */

const ms = (/** @type {number} */ time) => `${Math.round(time)} ms`;
const lane = (/** @type {number} */ i) => NAME + FROM + GAP + i * (LANE + GAP);
const middle = (/** @type {number} */ i) => lane(i) + LANE / 2;
/** How far both are pulled in, and how far they go. @param {State} state */
const pulled = (state) => PARTS.map((part) => {
  const most = Math.round(state[part]);
  return { part, to: requireInteger(part, state[`${part}To`], 0, most), most, time: state[part] };
});

/** @param {State} state @param {number} width @param {boolean} paper */
function draw(state, width, paper) {
  const scale = (width - 4 * EDGE) / state.kernel;
  const worked = Object.entries(times(state.l2)).map(([part, time]) => ({ part, time, end: FROM + time * scale }));
  const pulls = pulled(state).map(({ part, to, most, time }) => {
    const whole = paper || to === most;
    const full = whole && most === Math.round(state.kernel);
    const end = full ? width - FROM : whole ? FROM + time * scale : to * scale;
    const name = width < 340 ? part : `loads + ${part}`;
    const words = whole ? svg`${name} <tspan class="strong">${ms(time)}</tspan>` : to ? svg`${name} ${ms(to)}` : `drag: ${name}`;
    const room = 8.2 * name.length + 62; // that the words take
    return { end: whole || to ? end : 0, full, whole, words, room, knob: Math.max(FINGER, whole ? end - KNOB : end) };
  });
  const clear = Math.max(...worked.map(({ end }) => end)) + 10; // of what’s worked out
  const known = Math.max(clear - 10, ...pulls.map(({ end, full }) => (full ? width : end)));
  // Words are left or right of where the unknown begins, and never on both sides: it pushes them.
  const write = (/** @type {number} */ i, /** @type {number} */ x, /** @type {number} */ room, /** @type {unknown} */ words, look = "ink") => {
    const at = x < known && x + room > known ? known + 10 : x;
    return text(at, middle(i) + 6, at < known ? look : "paper", words);
  };
  return [
    text(0, NAME - 12, "ink", svg`this kernel <tspan class="soft">${ms(state.kernel)}</tspan>`),
    rect(EDGE, NAME + EDGE, width - 2 * EDGE, HIGH - 2 * EDGE, "ink empty"),
    rect(known, NAME, width - known, HIGH, "violet"),
    text(width - 20, middle(1), "riddle paper end", "What else?", Number(known < (width < 600 ? clear : 0.6 * width))),
    worked.map(({ part, time, end }, i) => [
      rect(FROM, lane(i), end - FROM, LANE, "ink hollow"),
      write(i, clear, 130, svg`${NAMES[part]} <tspan class="strong">${ms(time)}</tspan>`),
    ]),
    pulls.map(({ end, whole, words, room, knob }, part) => {
      const [i, beside] = [worked.length + part, Math.max(knob + 2 * KNOB, end + 2 * KNOB, clear)];
      return [ // what was measured is filled, and a pull isn't
        rect(FROM, lane(i), Math.max(0, end - FROM), LANE, whole ? ["soft", "violet"][part] : "ink hollow"),
        end > room ? write(i, FROM + 12, 0, words, whole ? "paper" : "ink") : write(i, beside, room, words),
        paper || whole ? nothing : svg`<circle class="ink knob" cx=${knob} cy=${middle(i)} r=${KNOB} />`,
      ];
    }),
  ];
}

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width }) {
  const { memory, multiplying } = times(state.l2);
  const measured = pulled(state).filter(({ to, most }) => to === most).map(({ part, time }) => `; measured: loads and ${part} ${ms(time)}`);
  const label = `A bar, this kernel’s ${ms(state.kernel)}. In it, worked out: ${NAMES.memory} ${ms(memory)}, multiplying ${ms(multiplying)}${measured.join("")}.`;
  const scale = (width - 4 * EDGE) / state.kernel;
  const holds = pulled(state).map(({ part, to, most, time }, i) => {
    const place = { from: FINGER, to: Math.min(FROM + time * scale - KNOB, width - FINGER), y: middle(i + 2) };
    return grip(`How far the ${part} go`, to, (to) => set({ [`${part}To`]: to }), { min: 0, max: most, inWords: ms(to) }, place);
  });
  const drawn = (/** @type {number} */ wide, /** @type {number} */ _, /** @type {boolean} */ paper) => draw(state, wide, paper);
  return html`<div class="hb-live__grips">${stage(width, label, drawn, [NAME + HIGH, NAME + HIGH])}${width ? holds : nothing}</div>`;
}

/** @param {{ part: string, to: number }} pull */
const soFar = ({ part, to }) => `Loads and ${part}, so far: ${ms(to)}.`;

/** @param {State} state @param {State} previous */
function says(state, previous) {
  const [passes, sums] = pulled(state).map(({ to, most }) => to === most);
  const whole = ms(state.kernel);
  const some = pulled(state).filter(({ to, most }) => to > 0 && to < most);
  const held = some.find(({ part, to }) => previous[`${part}To`] !== to);
  if (held) return soFar(held);
  if (passes && sums) return "All at once, and the sums take the longest. They’re the rice.";
  if (passes) return `Loads and passes: ${ms(state.passes)} of ${whole}, and no further. And the sums?`;
  if (sums) return `Loads and sums: ${ms(state.sums)} of ${whole}. They fill it. And the passes?`;
  return some.length ? soFar(some[0]) : "Two are left, each measured without the other. Pull them in.";
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "What fills the bar", initial, picture, says,
};

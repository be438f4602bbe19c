// A kernel under the roof of a chip: its FLOP and bytes say how fast it could be, its time how fast it is.
import { html, nothing, svg } from "lit-html";
import { CHIPS } from "./cost.model.js";
import { choice, keepPageStill, menu, oneOf, parseNumber, slider, table, textField } from "./controls.js";
import { examples, place } from "./roofline.model.js";
import { brief, metric, time } from "./units.model.js";

const initial = { kernel: "QKᵀ", flops: "17.18", moved: "138.4", time: "", gpu: "H100" };

/** @typedef {typeof initial} State */

const [LEFT, RIGHT, TOP, BOTTOM] = [44, 452, 16, 250];
const [MIN_X, MAX_X, MIN_Y, MAX_Y] = [-1, 4, -1, 3.5]; // powers of ten: FLOP per byte, TFLOP/s

/** @param {number} intensity */
const xOf = (intensity) => LEFT + ((RIGHT - LEFT) * (Math.log10(intensity) - MIN_X)) / (MAX_X - MIN_X);
/** @param {number} speed FLOP/s */
const yOf = (speed) => BOTTOM - ((BOTTOM - TOP) * (Math.log10(speed / 1e12) - MIN_Y)) / (MAX_Y - MIN_Y);
/** @param {number} x @param {number} low @param {number} high */
const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

/** The digits that a field shows. @param {number} value */
const asText = (value) => String(Number(value.toPrecision(4)));

/** What the two fields show: the numbers of an example, or the reader's own. @param {State} state */
function fields({ kernel, flops, moved }) {
  const example = examples()[kernel];
  return example ? { flops: asText(example.flops / 1e9), moved: asText(example.moved / 1e6) } : { flops, moved };
}

/** @param {State} state */
function derive(state) {
  const { gpu, kernel } = state;
  oneOf("Kernel", kernel, [...Object.keys(examples()), "own"]);
  oneOf("GPU", gpu, Object.keys(CHIPS));
  const bounds = { min: 1e-9, max: 1e12 };
  const { flops, moved } = fields(state);
  const work = examples()[kernel] ?? {
    flops: 1e9 * parseNumber("GFLOP", flops, bounds),
    moved: 1e6 * parseNumber("MB moved", moved, bounds),
  };
  const seconds = state.time.trim() ? 1e-6 * parseNumber("Measured µs", state.time, bounds) : 0;
  return { work, chip: CHIPS[gpu], ...place(work, CHIPS[gpu], seconds) };
}

/** @param {State} state @param {(change: import("./frame.js").Change<State>) => void} set */
function drawing(state, set) {
  const { work, chip, intensity, ridge, limit, reached } = derive(state);
  const slope = chip.bandwidth * 10 ** MIN_X;
  const [x, roof] = [clamp(xOf(intensity), LEFT, RIGHT), clamp(yOf(limit), TOP, BOTTOM)];
  const height = yOf(reached || limit);
  const y = clamp(height, TOP, BOTTOM);
  const inside = x === xOf(intensity) && y === height;
  const powers = (/** @type {number} */ low, /** @type {number} */ high) =>
    Array.from({ length: Math.floor(high) - low + 1 }, (_, i) => low + i);
  const name = (/** @type {number} */ power) => (power < 0 ? "0.1" : brief(10 ** power));
  const drag = (/** @type {PointerEvent} */ event) => {
    const point = /** @type {SVGElement} */ (event.currentTarget);
    if (event.type === "pointerdown") point.setPointerCapture(event.pointerId);
    if (!point.hasPointerCapture(event.pointerId)) return;
    const { left, width } = /** @type {SVGElement} */ (point.ownerSVGElement).getBoundingClientRect();
    const at = clamp(((event.clientX - left) * 480) / width, LEFT, RIGHT);
    const moved = asText(work.flops / 1e6 / 10 ** (MIN_X + ((MAX_X - MIN_X) * (at - LEFT)) / (RIGHT - LEFT)));
    set((state) => ({ ...fields(state), kernel: "own", moved }));
  };
  const label = `A roofline: the roof rises with the FLOP per byte up to the ridge at ${brief(ridge)} and is flat from there. The kernel stands at ${brief(intensity)}, ${reached ? `${brief((100 * reached) / limit)} % of the way up to it` : "on the roof"}.`;
  return html`<svg viewBox="0 0 480 290" role="img" aria-label=${label}>
    ${powers(MIN_X, MAX_X).map((power) => svg`
      <path class="line stroke thin" d="M${xOf(10 ** power)} ${TOP} V${BOTTOM}" />
      <text class="small middle soft" x=${xOf(10 ** power)} y="268">${name(power)}</text>`)}
    ${powers(MIN_Y, MAX_Y).map((power) => svg`
      <path class="line stroke thin" d="M${LEFT} ${yOf(1e12 * 10 ** power)} H${RIGHT}" />
      <text class="small end soft" x="38" y=${yOf(1e12 * 10 ** power) + 4}>${name(power)}</text>`)}
    <text class="small end soft" x=${RIGHT} y="286">FLOP per byte</text><text class="small soft" x="2" y="12">TFLOP/s</text>
    <path class="ink stroke" d="M${LEFT} ${yOf(slope)} L${xOf(ridge)} ${yOf(chip.peak)} H${RIGHT}" />
    <path class="soft stroke thin" stroke-dasharray="4 4" d="M${xOf(ridge)} ${yOf(chip.peak)} V${BOTTOM}" />
    <text class="small" x=${xOf(ridge) + 5} y=${BOTTOM - 6}>ridge ${brief(ridge)}</text>
    <text class="small end" x=${RIGHT} y=${yOf(chip.peak) - 13}>tensor cores, 16 bits: ${metric(chip.peak, "FLOP/s")}</text>
    <text class="small end" x=${xOf(5)} y=${yOf(5 * chip.bandwidth) - 8}>${metric(chip.bandwidth, "B/s")}</text>
    ${inside ? nothing : svg`<text class="small accent end" x=${RIGHT} y=${BOTTOM - 30}>outside the picture</text>`}
    ${reached ? svg`<path class="accent stroke" d="M${x} ${roof} V${y}" />` : nothing}
    <circle class="accent fill" cx=${x} cy=${y} r="8" />
    <circle class="hold grip" cx=${x} cy=${y} r="22" @touchstart=${keepPageStill} @pointerdown=${drag} @pointermove=${drag} />
  </svg>`;
}

/** @param {State} state */
function sums(state) {
  const { work, limit, arithmetic, memory, reached, share } = derive(state);
  const rows = [
    ["arithmetic", metric(work.flops, "FLOP"), time(arithmetic)],
    ["memory", metric(work.moved, "B"), time(memory)],
    [html`<b>the roof</b>`, metric(limit, "FLOP/s"), html`<b>${time(Math.max(arithmetic, memory))}</b>`],
  ];
  if (reached) rows.push([`measured, ${brief(100 * share)} %`, metric(reached, "FLOP/s"), time(work.flops / reached)]);
  return table("The limits", ["", "work", "time"], rows);
}

/** @typedef {(change: import("./frame.js").Change<State>) => void} Set */

/** @param {State} state @param {Set} set */
function picture(state, set) {
  const { work, intensity } = derive(state);
  return html`<p><b>${state.kernel === "own" ? "Your kernel" : state.kernel}</b> on one ${state.gpu}: ${metric(work.flops, "FLOP")} ÷ ${metric(work.moved, "B")} = ${brief(intensity)} FLOP per byte</p>
    ${drawing(state, set)}`;
}

/** @param {State} state @param {Set} set */
const primary = (state, set) =>
  menu("Kernel", state.kernel, (kernel) => set((state) => ({ ...fields(state), kernel, time: "" })), [
    ...Object.keys(examples()).map((each) => /** @type {[string, string]} */ ([each, each])),
    ["own", "your own"],
  ]);

/** @param {State} state @param {Set} set */
function more(state, set) {
  const shown = fields(state);
  const own = (/** @type {Partial<State>} */ change) =>
    set((state) => ({ ...fields(state), ...change, kernel: "own" }));
  const { work } = derive(state);
  const slide = (
    /** @type {string} */ label,
    /** @type {number} */ value,
    /** @type {string} */ inWords,
    /** @type {(text: string) => void} */ change,
  ) =>
    slider(label, Math.log10(value), (power) => change(asText(Number((10 ** power).toPrecision(2)))), {
      min: -3,
      max: 7,
      step: 0.05,
      inWords,
    });
  return html`
    ${choice("GPU", state.gpu, (gpu) => set({ gpu }), Object.keys(CHIPS))}
    ${textField("Measured µs", state.time, (text) => set({ time: text }), 8)}
    ${textField("GFLOP", shown.flops, (flops) => own({ flops }), 8)} ${slide("Slide the GFLOP", work.flops / 1e9, metric(work.flops, "FLOP"), (flops) => own({ flops }))}
    ${textField("MB moved", shown.moved, (moved) => own({ moved }), 8)} ${slide("Slide the MB", work.moved / 1e6, metric(work.moved, "B"), (moved) => own({ moved }))}`;
}

/** @param {State} state */
function says(state) {
  const { intensity, ridge, arithmetic, memory, least, reached, share } = derive(state);
  const bound = memory > arithmetic;
  const where = `${brief(intensity)} FLOP per byte, and the ridge is at ${brief(ridge)}: ${bound ? "memory" : "arithmetic"} is the limit, and the kernel takes at least ${time(least)}.`;
  if (["scale", "softmax"].includes(state.kernel) && !reached)
    return `${where} But it doesn’t use the tensor cores, so its own flat roof is lower and its ridge further left.`;
  if (!reached) return `${where} ${bound ? "Only fewer bytes would help." : "Fewer bytes wouldn’t help."}`;
  if (share > 1) return `${where} It can’t have been faster than that. Did a cache answer?`;
  const advice =
    share < 0.5
      ? "Something else holds it back."
      : bound
        ? "To go much faster it must move fewer bytes."
        : "There’s little left to gain.";
  return `${where} It reached ${brief(100 * share)} % of that. ${advice}`;
}

/** @type {import("./frame.js").Piece<State>} */
export default { title: "Your kernel under the roof", initial, picture, numbers: sums, primary, more, says };

// Two lists of numbers and their dot product; lists of two are arrows that can be dragged.
import { html, nothing, svg } from "lit-html";
import { Refused } from "./frame.js";
import { angle as between, measure, turn, turnTo } from "./dot.model.js";
import { button, formatNumber, keepPageStill, parseNumbers, slider, table, textField } from "./controls.js";

const initial = { q: "1 0 .5 -.5", k: ".5 0 1 0" };

/** @typedef {typeof initial} State */

const REACH = 5; // as far as an arrow is dragged, and a slider goes

/** A right angle whose numbers were rounded. @param {number} sum */
const none = (sum) => Math.abs(sum) < 1e-4;

/** @param {State} state */
function derive(state) {
  const bounds = { min: -100, max: 100, count: /** @type {[number, number]} */ ([1, 6]) };
  const [q, k] = [parseNumbers("q", state.q, bounds), parseNumbers("k", state.k, bounds)];
  if (q.length !== k.length) throw new Refused(`q has ${q.length} numbers, k has ${k.length}: they must match.`);
  return { q, k, ...measure(q, k) };
}

/** @typedef {ReturnType<typeof derive>} Now */

/**
 * Arrows in the plane; the thick piece of q's line is how far k reaches along q.
 * @param {Now} now @param {(change: Partial<State>) => void} set
 */
function plane({ q, k, along, lengths, sum }, set) {
  const reach = Math.max(REACH, ...[...q, ...k].map(Math.abs));
  const unit = 150 / reach;
  const square = [1, 2, 5, 10, 20].find((wide) => reach / wide <= 2 * REACH) ?? 20;
  const at = (/** @type {number[]} */ [x, y]) => [156 + unit * x, 160 - unit * y];
  const to = (/** @type {number[]} */ point) => at(point).join(" ");
  const foot = lengths[0] ? q.map((x) => (x * along) / lengths[0]) : [0, 0];
  /** Where a finger or the mouse points, to a quarter. @param {PointerEvent} event */
  const pointed = (event) => {
    const target = /** @type {SVGElement} */ (event.target);
    const box = /** @type {SVGSVGElement} */ (target.ownerSVGElement).getBoundingClientRect();
    const scale = 480 / box.width / unit;
    const near = [(event.clientX - box.left) * scale - 156 / unit, 160 / unit - (event.clientY - box.top) * scale];
    return near.map((x) => Math.min(REACH, Math.max(-REACH, Math.round(4 * x) / 4)) + 0).join(" ");
  };
  const arrow = (/** @type {"q" | "k"} */ name, /** @type {number[]} */ vector, /** @type {string} */ colour) => {
    const [x, y] = at(vector);
    const slant = (Math.atan2(vector[1], vector[0]) * -180) / Math.PI;
    const head = Math.min(1, (unit * Math.hypot(...vector)) / 20); // a short arrow is not all head
    const held = (/** @type {PointerEvent} */ event) =>
      /** @type {Element} */ (event.target).hasPointerCapture(event.pointerId);
    const hold = (/** @type {PointerEvent} */ event) =>
      /** @type {Element} */ (event.target).setPointerCapture(event.pointerId);
    const drag = (/** @type {PointerEvent} */ event) => held(event) && set({ [name]: pointed(event) });
    return svg`<path class="${colour} stroke" d="M${to([0, 0])} L${x} ${y}" />
      <path class="${colour} fill" d="M0 0 L-13 -6 L-13 6 Z" transform="translate(${x} ${y}) rotate(${slant}) scale(${head})" />
      <text class="${colour} middle" x=${x + 20 * Math.sign(vector[0] || 1)} y=${y + (vector[1] < 0 ? 18 : -8)}>${name}</text>
      <circle class="hold" cx=${x} cy=${y} r="22" @touchstart=${keepPageStill} @pointerdown=${hold} @pointermove=${drag} />`;
  };
  const count = Math.floor(reach / square);
  const marks = Array.from({ length: 2 * count + 1 }, (_, i) => (i - count) * square);
  return html`<svg viewBox="0 0 480 332" role="img" aria-label=${`Two arrows, q to ${q.join(", ")} and k to ${k.join(", ")}. Along q, k reaches ${formatNumber(along)}.`}>
    ${marks.map((i) => svg`<path class="line stroke thin" d="M${to([i, -reach])} L${to([i, reach])} M${to([-reach, i])} L${to([reach, i])}" />`)}
    <path class="soft stroke thin" d="M${to([-reach, 0])} L${to([reach, 0])} M${to([0, -reach])} L${to([0, reach])}" />
    ${lengths[0] ? svg`<path class="soft stroke thin dashes" d="M${to(k)} L${to(foot)}" />
      <path class="accent stroke thick" d="M${to([0, 0])} L${to(foot)}" />` : nothing}
    ${arrow("q", q, "query")} ${arrow("k", k, "key")}
    ${lengths[0] ? [`k reaches ${formatNumber(along, 2)}`, "along q, times", `q’s length ${formatNumber(lengths[0], 2)}`, `makes ${formatNumber(sum, 2)}`].map((line, i) => svg`<text class="${i ? "soft" : "accent"}" x="330" y=${60 + 26 * i}>${line}</text>`) : nothing}
    <text class="soft" x="330" y="300">one square: ${square}</text>
  </svg>`;
}

/** The products, each begun where the one before has ended, and their sum. @param {Now} now */
function pile({ products, sum }) {
  const ends = products.map((_, i) => products.slice(0, i + 1).reduce((a, b) => a + b, 0));
  const [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)];
  const y = (/** @type {number} */ x) => 30 + (110 * (high - x)) / (high - low || 1);
  const width = 480 / (products.length + 1);
  const column = (
    /** @type {number} */ from,
    /** @type {number} */ to,
    /** @type {number} */ i,
    /** @type {string} */ colour,
    /** @type {string} */ name,
  ) => svg`
    <rect class="${colour} fill moves" x=${i * width + 8} y=${Math.min(y(from), y(to))} width=${width - 16} height=${Math.max(2, Math.abs(y(from) - y(to)))} />
    <text class="ink middle" x=${(i + 0.5) * width} y=${Math.min(y(from), y(to)) - 7}>${formatNumber(to - from)}</text>
    <text class="soft middle" x=${(i + 0.5) * width} y="164">${name}</text>`;
  return html`<svg viewBox="0 0 480 170" role="img" aria-label=${`The products ${products.map((x) => formatNumber(x)).join(", ")}, put one on the other, reach ${formatNumber(sum)}.`}>
    <path class="soft stroke thin" d="M0 ${y(0)} H480" />
    ${ends.map((end, i) => column(i ? ends[i - 1] : 0, end, i, "query", `place ${i + 1}`))}
    ${column(0, sum, products.length, "accent", "sum")}
  </svg>`;
}

/** Whether they are arrows that the reader can see. @param {Now} now */
const flat = ({ q }) => q.length === 2;

/** @param {State} state @param {(change: Partial<State>) => void} set */
function picture(state, set) {
  const now = derive(state);
  return flat(now) ? plane(now, set) : pile(now);
}

/** @param {State} state */
function places(state) {
  const now = derive(state);
  const { q, k, products, sum, lengths } = now;
  const three = (/** @type {number[]} */ row) => row.map((x) => formatNumber(x));
  const own = (/** @type {number} */ i) => (flat(now) ? [formatNumber(lengths[i])] : []);
  return table("Place by place", ["place", ...q.map((_, i) => i + 1), "sum", ...(flat(now) ? ["length"] : [])], [
    ["q", ...three(q), "", ...own(0)],
    ["k", ...three(k), "", ...own(1)],
    ["product", ...three(products), html`<strong>${formatNumber(none(sum) ? 0 : sum)}</strong>`, ...(flat(now) ? [""] : [])],
  ]);
}

/** One number of k. @param {Now} now @param {number} i @param {(change: Partial<State>) => void} set */
const one = ({ k }, i, set) =>
  slider(`k, place ${i + 1}`, k[i], (to) => set({ k: k.map((old, j) => (i === j ? to : old)).join(" ") }), {
    min: Math.min(-REACH, k[i]),
    max: Math.max(REACH, k[i]),
    step: 0.25,
  });

/**
 * The angle of two arrows, or else the first number of k.
 * @param {State} state @param {(change: Partial<State>) => void} set
 */
function primary(state, set) {
  const now = derive(state);
  const { q, k, lengths } = now;
  if (!flat(now) || lengths.includes(0)) return one(now, 0, set);
  const tenths = Math.round(10 * turn(q, k)) || 0;
  const angle = tenths === -1800 ? 180 : tenths / 10;
  const to = (/** @type {number} */ to) =>
    set({
      k: turnTo(q, k, to)
        .map((x) => Math.round(1e5 * x) / 1e5 + 0)
        .join(" "),
    });
  return slider("Angle from q to k", angle, to, { min: -175, max: 180, step: 5, inWords: `${formatNumber(angle, 1)}°` });
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
function more(state, set) {
  const now = derive(state);
  const times = (/** @type {number} */ factor) => set({ k: now.k.map((x) => factor * x + 0).join(" ") });
  const others = now.k.map((_, i) => one(now, i, set)).slice(flat(now) && !now.lengths.includes(0) ? 0 : 1);
  return html`
    ${textField("q", state.q, (text) => set({ q: text }), 13)} ${textField("k", state.k, (text) => set({ k: text }), 16)}
    ${button("Flip every sign of k", () => times(-1))} ${button("Double k", () => times(2))} ${others}`;
}

/** @param {State} state @param {State} previous */
function says(state, previous) {
  const now = derive(state);
  const { q, k, sum, lengths, angle } = now;
  const before = derive(previous);
  if (lengths.includes(0)) return "A list of zeros agrees with nothing and opposes nothing: every product is 0.";
  const rule = `${formatNumber(lengths[0], 2)} · ${formatNumber(lengths[1], 2)} · cos ${formatNumber(angle, 1)}° = ${formatNumber(sum)}`.replaceAll(
    " ",
    "\u00a0",
  );
  const louder = lengths[1] / before.lengths[1];
  if (q.join() === before.q.join() && k.join() !== before.k.join() && between(k, before.k) < 1e-6) {
    const factor = `${formatNumber(louder, 2)} times`;
    const change = flat(now)
      ? `k points where it did and is ${factor} as long, and the dot product is ${factor} what it was: ${rule}`
      : `Every number of k is ${factor} what it was, and so is the dot product: ${formatNumber(sum)}`;
    return `${change}. A long key can win without matching.`;
  }
  if (none(sum))
    return `Nothing in common, or agreement and disagreement cancel: the products add up to 0${flat(now) ? ", and the angle is 90°" : ""}.`;
  const side = sum > 0 ? "Above zero: more alike than opposed" : "Below zero: more opposed than alike";
  return `${side}. The products add up to ${formatNumber(sum)}${flat(now) ? `. Lengths and angle say the same: ${rule}` : ""}.`;
}

/** @type {import("./frame.js").Piece<State>} */
export default { title: "The dot product of two lists", initial, picture, numbers: places, primary, more, says };

// Attention as a spice shelf: what the reader craves is held against three labels, and so much of each jar runs into a bowl.
import { html, nothing, svg } from "lit-html";
import { products, softmax, weightedSum } from "./attention_row.model.js";
import { formatNumber, vector } from "./controls.js";
import { hundredths, path, rect, stage, text } from "./strokes.js";

const initial = { spicy: 1, smoky: 2.5 }; // the craving
const TASTES = /** @type {("spicy" | "smoky")[]} */ (["spicy", "smoky"]);
/** Of each jar: its name, its label and what's in it. @type {[string, number[], number[]][]} */
const JARS = [["cayenne", [1, 0], [10, 0]], ["paprika", [0, 1], [0, 10]], ["chipotle", [1, 1], [5, 5]]];
const [LEAST, MOST, STEP, FINE] = [-2, 3, 0.5, 0.1]; // of a taste: what is below 0 is disliked; and as it's dragged
const [KNOB, ROOM] = [10, 12]; // pixels: a knob’s radius, and what’s held around the plane
const [LID, SHELF, SCORE, SHARE, POUR] = [26, 124, 158, 190, 200]; // from a jar’s lid down to its stream
const [TALL, HEIGHT, EDGE] = [530, 364, 22]; // on a phone, where the plane is at the bottom and the hand hides no jar; wider; half a finger

/** @typedef {typeof initial} State */

/** @param {State} state */
function mix(state) {
  const [scores] = products([TASTES.map((taste) => state[taste])], JARS.map(([, label]) => label));
  const shares = softmax(scores);
  return { scores, shares, output: weightedSum(shares, JARS.map(([, , inside]) => inside)) };
}

const percent = (/** @type {number} */ share) => `${Math.round(100 * share)} %`;

/** Where everything stands. @param {number} wide */
function places(wide) {
  const narrow = wide < 600;
  const middles = narrow ? [128, 208, 288].map((x) => (x * wide) / 350) : [0.42, 0.64, 0.86].map((part) => part * wide);
  return { narrow, middles, half: narrow ? 32 : 48, pour: narrow ? 36 : 52, rim: narrow ? 292 : 300, deep: narrow ? 50 : 62 };
}

/** @param {number} x @param {number} half @param {string} name @param {number[]} label @param {number[]} inside */
function drawJar(x, half, name, label, inside) {
  const [lid, foot, neck] = [LID, SHELF - 2, 0.6 * half];
  return [
    text(x, lid - 10, "label ink middle", name),
    rect(x - half + 2, foot - 42, 2 * half - 4, 41, "value tint"),
    rect(x - 0.7 * half, lid, 1.4 * half, 9, "ink tint"),
    path(`M${x - 0.7 * half} ${lid}H${x + 0.7 * half}V${lid + 9}H${x - 0.7 * half}Z`, "ink thin"),
    path(`M${x - neck} ${lid + 9}Q${x - half} ${lid + 12} ${x - half} ${lid + 24}V${foot}H${x + half}V${lid + 24}Q${x + half} ${lid + 12} ${x + neck} ${lid + 9}`, "ink thin"),
    rect(x - half + 4, lid + 23, 2 * half - 8, 24, "paper"),
    rect(x - half + 4, lid + 23, 2 * half - 8, 24, "key tint"),
    path(`M${x - half + 4} ${lid + 23}H${x + half - 4}V${lid + 47}H${x - half + 4}Z`, "key thin"),
    text(x, lid + 40, "label key middle", vector(label)),
    text(x, foot - 14, "label value middle", vector(inside)),
  ];
}

/** The plane of both tastes: its left foot, from 0 to 1, and whether there’s room for names. @param {number} wide */
function plane(wide) {
  if (wide < 600) return { left: wide - 185, foot: TALL - EDGE, unit: 27, named: true };
  const unit = wide < 920 ? 18 : Math.round(wide / 20) - 9;
  return { left: EDGE, foot: EDGE + (MOST - LEAST) * unit, unit, named: wide >= 920 };
}

/** The craving is an arrow, and the labels are points. @param {State} state @param {number} wide @param {boolean} paper */
function drawCraving(state, wide, paper) {
  const { left, foot, unit, named } = plane(wide);
  const at = (/** @type {number[]} */ [spicy, smoky]) => [left + unit * (spicy - LEAST), foot - unit * (smoky - LEAST)];
  const craving = TASTES.map((taste) => state[taste]);
  const [[x, y], end, origin] = [at(craving), at([MOST, MOST]), at([0, 0])];
  const beside = wide < 600 ? 0 : end[0] + 14;
  return [
    rect(left, end[1], end[0] - left, foot - end[1], "track"),
    path(`M${origin[0]} ${end[1] - 8}V${foot}M${left} ${origin[1]}H${end[0] + 8}`, "soft thin"),
    text(origin[0] + 6, end[1] - 6, "label soft", "smoky"),
    text(end[0] + 14, origin[1] + 5, "label soft", "spicy"),
    JARS.map(([name, label], i) => {
      const [x, y] = at(label);
      const [away, down, side] = [[8, 18, ""], [-9, 5, "end"], [15, 5, ""]][i]; // below its point, left, and right of it
      return [svg`<circle class="fill key" cx=${x} cy=${y} r="4.5" />`, named ? text(x + Number(away), y + Number(down), `small key point ${side}`, name) : nothing];
    }),
    path(`M${origin.join(" ")}L${x} ${y}`, "query"),
    svg`<circle class="query ${paper ? "fill" : "knob"}" cx=${x} cy=${y} r=${paper ? 5 : KNOB} />`,
    named
      ? [text(beside, end[1] + 18, "label query", "my craving"), text(beside, end[1] + 40, "label query strong", vector(craving, 1))]
      : text(0, foot + 26, "label query strong", vector(craving, 1)),
  ];
}

/** As thick as the jar’s share, from below the jar down into the bowl. @param {number} x @param {number} top @param {number} into @param {number} rim @param {number} thick */
function drawStream(x, top, into, rim, thick) {
  const [from, to, end] = [top + 0.8 * (rim - top), top + 0.2 * (rim - top), hundredths(into)]; // how far it goes on straight
  return svg`<path class="stroke value stream" style=${`stroke-width: ${hundredths(thick)}px`} d=${`M${x} ${top}C${x} ${from} ${end} ${to} ${end} ${rim}`} />`;
}

/** What is held: the mouse points anywhere, a finger drags the knob or taps elsewhere, and the keyboard has a slider for each taste. @param {State} state @param {(change: Partial<State>) => void} set @param {number} width */
function pad(state, set, width) {
  const { left, foot, unit } = plane(width);
  const size = (MOST - LEAST) * unit + 2 * ROOM;
  const near = (/** @type {number} */ pixels, /** @type {number} */ step) =>
    Math.min(MOST, Math.max(LEAST, Math.round((LEAST + (pixels - ROOM) / unit) / step) / Math.round(1 / step)));
  const point = (/** @type {MouseEvent} */ event, step = STEP) => { // at rest it's at a half
    const box = /** @type {Element} */ (event.currentTarget).getBoundingClientRect();
    set({ spicy: near(event.clientX - box.left, step), smoky: near(box.bottom - event.clientY, step) });
  };
  const holds = (/** @type {PointerEvent} */ { pointerType, target }) => pointerType === "mouse" || /** @type {Element} */ (target).matches(".hold");
  const hold = (/** @type {PointerEvent} */ event) => holds(event) && /** @type {Element} */ (event.target).setPointerCapture(event.pointerId);
  const drag = (/** @type {PointerEvent} */ event) =>
    holds(event) && /** @type {Element} */ (event.target).hasPointerCapture(event.pointerId) && point(event, FINE);
  const drop = (/** @type {PointerEvent} */ event) => holds(event) && point(event);
  const sliders = TASTES.map((taste) => {
    const change = (/** @type {Event} */ event) => set({ [taste]: Number(/** @type {HTMLInputElement} */ (event.target).value) });
    return html`<input type="range" class="hb-live__grip" aria-label=${`How ${taste}`} min=${LEAST} max=${MOST} step=${STEP} .value=${String(state[taste])} @input=${change}>`;
  });
  return html`<div class="hb-live__pad" style="left: ${left - ROOM}px; top: ${foot + ROOM - size}px; width: ${size}px; height: ${size}px"
    @click=${(/** @type {MouseEvent} */ event) => point(event)} @pointerdown=${hold} @pointermove=${drag} @pointerup=${drop}>${sliders}
    <span class="hold" style="left: ${ROOM + (state.spicy - LEAST) * unit}px; bottom: ${ROOM + (state.smoky - LEAST) * unit}px"></span></div>`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width }) {
  const { scores, shares, output } = mix(state);
  const draw = (/** @type {number} */ wide, /** @type {number} */ _, /** @type {boolean} */ paper) => {
    const { narrow, middles, half, pour, rim, deep } = places(wide);
    const [left, right] = [middles[1] - 1.6 * half, middles[1] + 1.6 * half];
    let end = middles[1] - pour / 2; // of the streams so far, at the bowl
    const streams = shares.map((share, i) => {
      const [x, thick] = [middles[i], share * pour];
      end += thick;
      return drawStream(x, POUR, end - thick / 2, rim, thick);
    });
    const [shelf, side] = narrow ? [0, ""] : [middles[0] - 1.2 * half - 16, "end"]; // beside the shelf and the bowl
    const names = [["match", shelf, SCORE], ["recipe", shelf, SHARE], ["mix", narrow ? 0 : left - 16, rim + deep - 20]];
    return [
      drawCraving(state, wide, paper),
      JARS.map((jar, i) => drawJar(middles[i], half, ...jar)),
      path(`M${middles[0] - 1.2 * half} ${SHELF}H${middles[2] + 1.2 * half}`, "ink"),
      names.map(([name, x, y]) => text(Number(x), Number(y), `label ink strong ${side}`, name)),
      scores.map((score, i) => [
        path(`M${middles[i]} ${SHELF + 2}V${SCORE - 19}M${middles[i] - 20} ${SCORE - 19}h40v26h-40Z`, "rose dashes thin"),
        text(middles[i], SCORE, "label rose middle", formatNumber(score, 1)),
        text(middles[i], SHARE, "label rose strong middle", percent(shares[i])),
      ]),
      streams,
      path(`M${left} ${rim}H${right}Q${right - 6} ${rim + deep} ${right - 0.8 * half} ${rim + deep}H${left + 0.8 * half}Q${left + 6} ${rim + deep} ${left} ${rim}Z`, "ink bowl"),
      text(right + 12, rim + deep - 20, "label ink", "output"),
      text(middles[1], rim + deep - 20, "label ink strong middle", vector(output, 1)),
    ];
  };
  const told = JARS.map(([name], i) => `${name} scores ${formatNumber(scores[i], 1)} and gives ${percent(shares[i])}`).join(", ");
  const label = `Three jars on a shelf, and a craving, ${vector(TASTES.map((taste) => state[taste]))}: ${told}. In the bowl: ${vector(output, 1)}.`;
  return html`<div class="hb-live__grips">${stage(width, label, draw, [TALL, HEIGHT])}${width ? pad(state, set, width) : nothing}</div>`;
}

/** @param {State} state */
function says(state) {
  const { scores, shares } = mix(state);
  if (TASTES.every((taste) => state[taste] === initial[taste])) return "Drag what you crave, or dislike, and watch what each jar gives.";
  const best = JARS.filter((_, i) => scores[i] === Math.max(...scores)).map(([name]) => name);
  const share = percent(Math.max(...shares));
  if (best.length === JARS.length) return "You crave nothing, so all three fit equally well: a third of each.";
  if (best.length > 1) return `The ${best.join(" and the ")} fit equally well: ${share} of each.`;
  return `The ${best[0]} fits best, so it’s ${share} of the mix.`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "A spice shelf", initial, picture, says,
};

// What the drawings in pixels share: letters keep their size at any width, and a part that isn't there yet takes no
// ink.
import { html, nothing, svg } from "lit-html";

const [NARROW, WIDE, PAPER] = [350, 1040, 640]; // the widths that the build draws, in pixels

export const hundredths = (/** @type {number} */ x) => Math.round(100 * x) / 100;
export const clamp = (/** @type {number} */ low, /** @type {number} */ x, /** @type {number} */ high) => Math.min(high, Math.max(low, x));
export const group = (/** @type {number} */ opacity, /** @type {unknown[]} */ ...content) => (opacity > 0 ? svg`<g opacity=${hundredths(opacity)}>${content}</g>` : nothing);
export const text = (/** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ look, /** @type {unknown} */ content, opacity = 1) =>
  svg`<text class=${look} x=${hundredths(x)} y=${hundredths(y)} opacity=${hundredths(opacity)}>${content}</text>`;
/** @param {number} x @param {number} y @param {number} width @param {number} height @param {string} look */
export const rect = (x, y, width, height, look, opacity = 1) =>
  height > 0
    ? svg`<rect class="fill ${look}" x=${hundredths(x)} y=${hundredths(y)} width=${hundredths(width)} height=${hundredths(height)} opacity=${hundredths(opacity)} />`
    : nothing;
export const path = (/** @type {string} */ d, /** @type {string} */ look, opacity = 1) =>
  svg`<path class="stroke ${look}" d=${d.replace(/\d+\.\d+/g, (n) => String(hundredths(Number(n))))} opacity=${hundredths(opacity)} />`;

/**
 * A drawing at the width it has; the build, which doesn't know one, draws it for a phone and for a wide page, and all
 * draw it for paper.
 * @param {number} width @param {string} label what it shows, in words
 * @param {(width: number, height: number, paper: boolean) => unknown} draw @param {[number, number]} heights on a
 *   phone, and on anything wider
 */
export function stage(width, label, draw, [low, high]) {
  const drawn = (/** @type {number} */ room, /** @type {string} */ name) => {
    const tall = room < 600 ? low : name === "printed" ? Math.min(400, high) : high;
    return html`<svg class="stage ${name}" style="height: ${tall}px" viewBox="0 0 ${room} ${tall}" role="img" aria-label=${label}>${draw(room, tall, name === "printed")}</svg>`;
  };
  return html`${width ? drawn(width, "") : [drawn(NARROW, "narrow"), drawn(WIDE, "wide")]}${drawn(PAPER, "printed")}`;
}

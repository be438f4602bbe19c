// What several pieces use: reading what was typed, printing numbers, and the controls, each with its label.
import { html } from "lit-html";
import { Refused } from "./frame.js";

/**
 * The numbers of a text, between blanks or commas.
 * @param {string} name how the reader knows the field @param {string} text
 * @param {{min?: number, max?: number, integer?: boolean, count?: [number, number]}} [bounds] count: how many there
 *   may be
 */
export function parseNumbers(name, text, { count = [1, 16], ...each } = {}) {
  const words = text.split(/[\s,;]+/).filter(Boolean);
  const all = words.map((word) => parseNumber(name, word, each));
  if (all.length < count[0] || all.length > count[1]) {
    const wanted = count[0] === count[1] ? count[0] : `${count[0]} to ${count[1]}`;
    throw new Refused(`${name}: ${pluralize(all.length, "number")}; ${wanted} ${wanted === 1 ? "is" : "are"} wanted.`);
  }
  return all;
}

/**
 * One number, "inf" and "-inf" among them where the bounds admit them.
 * @param {string} name @param {string} text @param {{min?: number, max?: number, integer?: boolean}} [bounds]
 */
export function parseNumber(name, text, { min = -Infinity, max = Infinity, integer = false } = {}) {
  const word = text.trim().replace(/[−–]/, "-").replace(/^([-+]?)(inf|∞)$/i, "$1Infinity");
  const value = Number(word);
  if (word === "" || Number.isNaN(value)) throw new Refused(`${name}: “${text}” is no number.`);
  if (integer && !Number.isInteger(value)) throw new Refused(`${name}: ${formatNumber(value)} is no whole number.`);
  if (value < min || value > max)
    throw new Refused(`${name}: ${formatNumber(value)} is outside ${formatNumber(min)} to ${formatNumber(max)}.`);
  return value;
}

/**
 * Rows of two numbers each.
 * @param {string} name @param {string} text @param {number} max rows
 */
export function parsePairs(name, text, max) {
  const all = parseNumbers(name, text, { min: -100, max: 100, count: [2, 2 * max] });
  if (all.length % 2) throw new Refused(`${name}: ${all.length} numbers; each row has two.`);
  return Array.from({ length: all.length / 2 }, (_, row) => all.slice(2 * row, 2 * row + 2));
}

/**
 * A whole number within bounds, or a refusal that names it.
 * @param {string} name @param {number} value @param {number} min @param {number} max
 */
export function requireInteger(name, value, min, max) {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new Refused(`${name}: ${formatNumber(value)}; a whole number from ${min} to ${max} is wanted.`);
}

/** "1 row", "2 rows" @param {number} count @param {string} thing */
export const pluralize = (count, thing) => `${count} ${thing}${count === 1 ? "" : "s"}`;

/** A row of numbers, in brackets. @param {number[]} row @param {number} [digits] */
export const vector = (row, digits = 2) => `[${row.map((x) => formatNumber(x, digits)).join(", ")}]`;

/**
 * A choice that the page or the address asked for, if it is one.
 * @param {string} name @param {string} choice @param {string[]} choices
 */
export function oneOf(name, choice, choices) {
  if (!choices.includes(choice)) throw new Refused(`${name}: there is no “${choice}”; there is ${choices.join(", ")}.`);
  return choice;
}

/**
 * A number for a reader: a true minus, ∞, and no more digits than asked for.
 * @param {number} value @param {number} [digits]
 */
export function formatNumber(value, digits = 3) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value < 0 ? "−∞" : "∞";
  const size = Math.abs(value);
  const text =
    size !== 0 && (size < 1e-3 || size >= 1e6) ? powers(value, digits) : String(Number(value.toFixed(digits)));
  return text.replace("-", "−");
}

/** @param {number} value @param {number} digits */
function powers(value, digits) {
  const [mantissa, exponent] = value.toExponential(Math.max(0, digits - 1)).split("e");
  const raised = [...String(Number(exponent))].map((sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]).join("");
  return `${Number(mantissa)}·10${raised}`;
}

/**
 * @param {string} label @param {string} value @param {(text: string) => void} change
 * @param {number} [width] in characters
 */
export const textField = (label, value, change, width = 20) => html`
  <label class="hb-live__field">${label}
    <input type="text" size=${width} autocomplete="off" spellcheck="false" .value=${value} @input=${onText(change)}>
  </label>`;

/**
 * Where a finger came down on a slider, and what its value was.
 * @type {WeakMap<EventTarget, {x: number, value: string}>}
 */
const touches = new WeakMap();

/**
 * A finger on a slider may want to scroll the page: it counts once it moves sideways or is lifted.
 * @param {(value: number) => void} change
 */
const onSlide = (change) => (/** @type {Event} */ event) => {
  const slider = /** @type {HTMLInputElement} */ (event.target);
  const finger = touches.get(slider);
  if (event instanceof PointerEvent) {
    const { type, clientX: x, pointerType } = event;
    if (type === "pointerdown" && pointerType === "touch") touches.set(slider, { x, value: slider.value });
    if (!finger && type === "pointerup") change(Number(slider.value)); // held and let go where it was: a choice, too
    if (!finger || (type === "pointermove" && Math.abs(x - finger.x) < 4)) return;
    touches.delete(slider);
    if (type === "pointercancel") slider.value = finger.value;
    else change(Number(slider.value));
  } else if (!finger) change(Number(slider.value));
};

/**
 * A slider, with its value above it.
 * @param {string} label @param {number} value @param {(value: number) => void} change
 * @param {{min: number, max: number, step?: number, inWords?: string}} range inWords: the value in words, "64 KiB"
 */
export function slider(label, value, change, { min, max, step = 1, inWords = formatNumber(value) }) {
  const on = onSlide(change);
  return html`
    <label class="hb-live__field hb-live__slider"><span>${label} <b aria-hidden="true">${inWords}</b></span>
      <input type="range" min=${min} max=${max} step=${step} .value=${String(value)} aria-valuetext=${inWords}
        @input=${on} @pointerdown=${on} @pointermove=${on} @pointerup=${on} @pointercancel=${on}>
    </label>`;
}

const GRIP = 44; // pixels, as wide and as high as a finger

/**
 * A slider without a look of its own, on top of a drawing that shows its value as something to hold: mouse, finger and
 * keyboard have it all the same.
 * @param {string} label @param {number} value @param {(value: number) => void} change
 * @param {{min: number, max: number, step?: number, inWords?: string}} range
 * @param {{from: number, to: number, y: number, high?: number}} place the middle of what is held, at the least and at the
 *   most, and how high it is, in pixels
 */
export function grip(label, value, change, { min, max, step = 1, inWords = formatNumber(value) }, { from, to, y, high = GRIP }) {
  const on = onSlide(change);
  return html`<input type="range" class="hb-live__grip" aria-label=${label} aria-valuetext=${inWords}
    style="left: ${from - GRIP / 2}px; top: ${y - high / 2}px; width: ${to - from + GRIP}px; height: ${high}px"
    min=${min} max=${max} step=${step} .value=${String(value)}
    @input=${on} @pointerdown=${on} @pointermove=${on} @pointerup=${on} @pointercancel=${on}>`;
}

/**
 * A menu. It binds the property, since the attribute no longer counts once the reader has chosen.
 * @param {string} label @param {string} value @param {(value: string) => void} change
 * @param {[string, string][]} choices value and name
 */
export const menu = (label, value, change, choices) => html`
  <label class="hb-live__field">${label}
    <select @change=${onText(change)}>
      ${choices.map(([each, name]) => html`<option value=${each} .selected=${each === value}>${name}</option>`)}
    </select>
  </label>`;

/**
 * A menu whose choices are called what they are.
 * @param {string} label @param {string} value @param {(value: string) => void} change @param {string[]} names
 */
export const choice = (label, value, change, names) => menu(label, value, change, names.map((name) => [name, name]));

/** @param {unknown} label @param {boolean} value @param {(value: boolean) => void} change */
export const checkbox = (label, value, change) => html`
  <label class="hb-live__tick">
    <input type="checkbox" .checked=${value} @change=${(/** @type {Event} */ event) => change(/** @type {HTMLInputElement} */ (event.target).checked)}> ${label}
  </label>`;

/**
 * A table of numbers, which scrolls sideways where it's too wide.
 * @param {string} label what it holds @param {unknown[]} head @param {unknown[][]} rows the first cell of each is its
 *   name
 */
export const table = (label, head, rows) => html`
  <div class="hb-live__wide" role="group" tabindex="0" aria-label=${label}><table class="hb-live__table">
    <thead><tr>${head.map((each, i) => (i ? html`<th scope="col">${each}</th>` : html`<td>${each}</td>`))}</tr></thead>
    <tbody>${rows.map(([name, ...cells]) => html`<tr><th scope="row">${name}</th>${cells.map((each) => html`<td>${each}</td>`)}</tr>`)}</tbody>
  </table></div>`;

/** For a part of a drawing that a finger drags: the page would scroll with it, and end the drag. (In a drawing, Chromium
 * doesn't heed `touch-action`.) @param {Event} event */
export const keepPageStill = (event) => event.preventDefault();

/**
 * @param {string} label @param {() => void} press
 * @param {boolean} [off] it says that it does nothing now, and keeps the focus
 */
export const button = (label, press, off = false) =>
  html`<button type="button" aria-disabled=${String(off)} @click=${press}>${label}</button>`;

/** @param {(text: string) => void} change */
const onText = (change) => (/** @type {Event} */ event) => change(/** @type {HTMLInputElement} */ (event.target).value);

// A tensor's numbers in memory, and in the order in which a view counts them; or why there is no such view.
import { html } from "lit-html";
import { contiguous, exchanged, gaps, inOrder, product, slice, steps, strides, uneven, walk } from "./strides.model.js";
import { Refused } from "./frame.js";
import { checkbox, formatNumber, menu, parseNumber, parseNumbers, slider, table, textField } from "./controls.js";

const initial = {
  written: "2 heads, 3 words, 2 numbers",
  exchange: "0 1",
  copied: false,
  view: "3 4",
  axis: "1",
  which: 1,
};

/** @typedef {typeof initial} State */

const MAX = 48; // cells
const ORDER = ["first", "second", "third", "fourth"];

/** "2 heads, 3 words" as sizes and names; the names may be left out, and then the commas too. @param {string} text */
function axes(text) {
  const parts = text.trim().split(/,\s*|\s+(?=[-−\d])/);
  if (parts.length > 4) throw new Refused(`Written as: ${parts.length} axes; 1 to 4 are wanted.`);
  const shape = parts.map((part) => parseNumber("Written as", part.split(/\s/)[0], { min: 1, max: MAX, integer: true }));
  if (product(shape) > MAX) throw new Refused(`Written as: ${product(shape)} numbers; ${MAX} at most are drawn.`);
  return { shape, names: parts.map((part, axis) => part.replace(/^\S*\s*/, "") || `${ORDER[axis]} axis`) };
}

/** What the state says, as numbers. @param {State} state */
function read(state) {
  const { shape, names } = axes(state.written);
  const pairs = steps(names.length).flatMap((one) => steps(names.length).slice(one + 1).map((other) => [one, other]));
  const pair = pairs.find(([one, other]) => `${one} ${other}` === state.exchange) ?? [0, 0];
  const turn = /** @template T @param {T[]} each */ (each) => exchanged(each, pair[0], pair[1]);
  const [turned, order] = [turn(shape), turn(steps(shape.length))];
  const numbersInOrder = walk(turned, turn(contiguous(shape))); // each number is named by the cell it was written to
  const copied = state.copied && !inOrder(numbersInOrder);
  const view = parseNumbers("View as", state.view, { min: 1, max: MAX, integer: true, count: [1, 4] });
  if (product(view) !== product(shape))
    throw new Refused(`View as: ${view.join(" · ")} is ${product(view)} numbers, and there are ${product(shape)}.`);
  const axis = Math.max(0, steps(shape.length).indexOf(Number(state.axis)));
  const which = Math.max(1, Math.min(shape[axis], Math.round(state.which)));
  return {
    shape, names, pairs, pair, turned, order, numbersInOrder, copied, view, axis, which,
    memory: copied ? numbersInOrder : steps(product(shape)),
    cells: copied ? steps(product(shape)) : numbersInOrder,
    lit: slice(shape, axis, which - 1), // cells where the numbers were written, and so the numbers themselves
  };
}

/** @typedef {ReturnType<typeof read>} Now */

/** "2, 6, 1" @param {(number | string)[]} each */
const listed = (each) => each.join(", ");
/** "1, 5 and 1" @param {(number | string)[]} each */
const joined = (each) => (each.length < 2 ? each.join("") : `${each.slice(0, -1).join(", ")} and ${each[each.length - 1]}`);
const single = (/** @type {string} */ name) => name.replace(/(?<!axi)s$/, "");

/**
 * "head 1, word 2": where the group of cells stands that begins with this place.
 * @param {number[]} shape @param {string[]} names @param {number} place
 */
const home = (shape, names, place) =>
  contiguous(shape)
    .slice(0, -1)
    .map((step, axis) => `${single(names[axis])} ${(Math.floor(place / step) % shape[axis]) + 1}`)
    .join(", ");

/**
 * The row of a view, a line along its last axis, in which this place lies; a view of one axis has no rows.
 * @param {number[]} view @param {number} place
 */
function row(view, place) {
  const at = contiguous(view).slice(0, -1).map((step, axis) => (Math.floor(place / step) % view[axis]) + 1);
  return at.length === 0 ? "" : `row ${at.length > 1 ? `(${listed(at)})` : at[0]}`;
}

/**
 * Groups of cells, each under its name.
 * @param {string} label @param {number[]} held the numbers @param {Set<number>} lit @param {number} size of a group
 * @param {(place: number) => string} name @param {boolean} addressed with each cell's place below it
 */
const groups = (label, held, lit, size, name, addressed) => html`
  <div class="hb-live__cells" role="group" aria-label=${label}>
    ${steps(held.length / size).map(
      (group) => html`<div><div class="soft">${name(group * size)}</div><div class="hb-live__group">
      ${held.slice(group * size, (group + 1) * size).map((each, place) => html`<span><b class=${lit.has(each) ? "hb-live__lit" : ""}>${each}</b>${addressed ? html`<small>${group * size + place}</small>` : ""}</span>`)}</div></div>`,
    )}
  </div>`;

/** @param {State} state */
function shapes(state) {
  const { shape, pair, turned, copied, cells, view } = read(state);
  const row = (
    /** @type {string} */ name,
    /** @type {number[]} */ sizes,
    /** @type {(number | string)[] | undefined} */ own,
  ) => [
    name,
    sizes.join(" × "),
    own ? listed(own.map((step) => (typeof step === "number" ? formatNumber(step) : step))) : "none exist",
  ];
  const rows = [row("written", shape, contiguous(shape))];
  if (pair[1]) rows.push(row("transposed", turned, exchanged(contiguous(shape), pair[0], pair[1])));
  if (copied) rows.push(row("contiguous", turned, contiguous(turned)));
  const own = strides(cells, view)?.map((step, axis) => (view[axis] > 1 ? step : "any")); // an axis of one takes no step
  return table("Shapes and strides", ["", "shape", "strides"], [...rows, row("view", view, own)]);
}

/** @param {State} state */
function picture(state) {
  const now = read(state);
  const { shape, names, turned, order, numbersInOrder, copied, memory } = now;
  const lit = new Set(now.lit);
  const [sizes, called] = copied ? [turned, order.map((axis) => names[axis])] : [shape, names];
  return html`<p>In memory, ${copied ? "after the copy" : "as written"}; below each number its cell</p>
    ${groups("Memory", memory, lit, sizes[sizes.length - 1], (place) => home(sizes, called, place), true)}
    <p>As the view ${strides(now.cells, now.view) ? "counts" : "would count"} them</p>
    ${groups("The view", numbersInOrder, lit, now.view[now.view.length - 1], (place) => row(now.view, place), false)}`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
const primary = (state, set) => checkbox("copy with .contiguous() first", state.copied, (copied) => set({ copied }));

/** @param {State} state @param {(change: Partial<State>) => void} set */
function more(state, set) {
  const { shape, names, axis, which, pair, pairs } = read(state);
  const exchanges = pairs.map(
    ([one, other]) => /** @type {[string, string]} */ ([`${one} ${other}`, `${names[one]} and ${names[other]}`]),
  );
  return html`
    ${textField("Written as", state.written, (written) => set({ written }), 26)}
    ${menu("Then exchange", pair[1] ? state.exchange : "", (exchange) => set({ exchange }), [["", "nothing"], ...exchanges])}
    ${textField("View as", state.view, (view) => set({ view }), 8)}
    ${menu(
      "Light up one",
      String(axis),
      (axis) => set({ axis, which: 1 }),
      names.map((name, axis) => [String(axis), single(name)]),
    )}
    ${slider(single(names[axis]), which, (which) => set({ which }), { min: 1, max: shape[axis] })}`;
}

/** Where the lit numbers lie. @param {Now} now */
function where({ names, axis, which, lit, numbersInOrder, cells, view }) {
  const places = steps(cells.length).filter((place) => lit.includes(numbersInOrder[place]));
  const rows = [...new Set(places.map((place) => row(view, place)))];
  const own = joined(places.map((place) => cells[place]).sort((a, b) => a - b));
  const viewed = rows[0] && `, and the view has it in ${joined(rows)}`;
  const name = single(names[axis]);
  return `${name.charAt(0).toUpperCase()}${name.slice(1)} ${which} is in ${places.length > 1 ? "cells" : "cell"} ${own}${viewed}.`;
}

/** @param {State} state */
function says(state) {
  const now = read(state);
  const own = strides(now.cells, now.view);
  if (own && now.copied)
    return `The copy has put ${now.cells.length} numbers into the order in which we count them, so now the view exists. ${where(now)}`;
  if (own && state.copied) return `The numbers are in order already, so contiguous() copies nothing. ${where(now)}`;
  if (own) return `The view exists: its strides find each number where it is. ${where(now)}`;
  const why = uneven(now.cells, now.view);
  if (!why) return "";
  const line = `the cells ${joined(why.line)}, with steps of ${joined(gaps(why.line).map((step) => formatNumber(step)))}`;
  return `There’s no such view. Its ${ORDER[why.axis]} axis would have ${line}, but an axis has only one stride.`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "Which cells a view counts, and when there is none",
  initial,
  picture,
  numbers: shapes,
  primary,
  more,
  says,
};

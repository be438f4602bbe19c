// A matrix product in tiles: the rows and columns that a tile fetches, and how often each was fetched before.
import { html, nothing, svg } from "lit-html";
import { parseNumber, slider, table } from "./controls.js";
import { cost, fetched, tiles } from "./tile.model.js";
import { brief } from "./units.model.js";

const initial = { size: 4, edge: 2, step: 1 };

/** @typedef {typeof initial} State */

const MAX = 8; // rows that are drawn

/** @param {State} state */
function read(state) {
  const size = parseNumber("Size", String(state.size), { min: 2, max: MAX, integer: true });
  const edge = Math.min(size, parseNumber("Edge", String(state.edge), { min: 1, max: MAX, integer: true }));
  const all = tiles(size, edge);
  return { size, edge, all, step: Math.max(0, Math.min(all.length, Math.round(state.step))) };
}

/** @param {State} state */
const lastStep = (state) => read(state).all.length;

/** @param {State} state */
function drawing(state) {
  const { size, edge, all, step } = read(state);
  const cell = Math.min(60, 176 / size);
  const far = size * cell + 24; // where the product begins, to the right and below
  const tile = all[step - 1];
  const { rows, columns } = fetched(size, edge, step);
  const squares = Array.from({ length: size * size }, (_, place) => [Math.floor(place / size), place % size]);
  /**
   * @param {string} colour @param {number} x @param {number} y @param {(row: number, column: number) => boolean} lit
   * @param {(row: number, column: number) => unknown} number
   */
  const grid = (colour, x, y, lit, number) => squares.map(([row, column]) => {
    const [left, top] = [x + column * cell, y + row * cell];
    return svg`${lit(row, column) ? svg`<rect class="${colour} fill faint" x=${left} y=${top} width=${cell} height=${cell} />` : nothing}
      <rect class="line stroke thin" x=${left} y=${top} width=${cell} height=${cell} />
      <text class="small middle ink" x=${left + cell / 2} y=${top + cell / 2 + 5}>${number(row, column)}</text>`;
    });
  const frame = (/** @type {string} */ colour, /** @type {number[]} */ [x, y, wide, high]) =>
    svg`<rect class="${colour} stroke" x=${x} y=${y} width=${wide * cell} height=${high * cell} />`;
  const inRow = (/** @type {number} */ row) => tile && row >= tile.top && row < tile.top + tile.height;
  const inColumn = (/** @type {number} */ column) => tile && column >= tile.left && column < tile.left + tile.width;
  const done = (/** @type {number} */ row, /** @type {number} */ column) =>
    all
      .slice(0, step)
      .some(
        ({ top, left, height, width }) => row >= top && row < top + height && column >= left && column < left + width,
      );
  const marks = tile && [
    frame("query", [0, far + tile.top * cell, size, tile.height]),
    frame("key", [far + tile.left * cell, 0, tile.width, size]),
    frame("value", [far + tile.left * cell, far + tile.top * cell, tile.width, tile.height]),
  ];
  return html`<svg viewBox="-2 -2 480 ${far + size * cell + 32}" role="img" aria-label="The first table at the left, the second above, the product between them. A frame marks the tile, its rows and its columns; in each cell of the tables stands how often it was fetched.">
    ${grid("query", 0, far, inRow, (row) => rows[row] || "")}
    ${grid("key", far, 0, (_, column) => inColumn(column), (_, column) => columns[column] || "")}
    ${grid("value", far, far, done, () => "")}
    ${marks ?? nothing}
    <text class="query" x="0" y=${far + size * cell + 20}>first table</text>
    <text class="value" x=${far} y=${far + size * cell + 20}>product</text>
    <text class="key" x=${far - 10} y="14" text-anchor="end">second table</text>
    <text class="small soft" x="0" y=${far - 34}>in each cell:</text>
    <text class="small soft" x="0" y=${far - 16}>times fetched</text>
  </svg>`;
}

/** @param {State} state */
function edges(state) {
  const { size, edge } = read(state);
  const some = [...new Set([1, 2, 3, 4, 8, edge, size])].filter((each) => each <= size).sort((a, b) => a - b);
  const costs = some.map((each) => cost(size, each));
  return table("Other edges", ["edge", ...some.map((each) => (each === edge ? html`<b>${each}</b>` : each))], [
    ["fetched", ...costs.map(({ numbers }) => numbers)],
    ["FLOP per number", ...costs.map(({ perNumber }) => brief(perNumber))],
    ["FLOP per byte", ...costs.map(({ perByte }) => brief(perByte))],
  ]);
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
function more(state, set) {
  const now = read(state);
  return html`
    ${slider("Tables", now.size, (size) => set({ size, step: 1 }), { min: 2, max: MAX, inWords: `${now.size} × ${now.size}` })}
    ${slider("Edge of the tile", now.edge, (edge) => set({ edge, step: 1 }), { min: 1, max: now.size })}`;
}

/** "1 row", "2 rows" @param {number} count @param {string} name */
const several = (count, name) => `${count} ${name}${count === 1 ? "" : "s"}`;

/** @param {State} state */
function says(state) {
  const { size, edge, all, step } = read(state);
  const { numbers, flop, perNumber, perByte } = cost(size, edge);
  if (step === 0) return `Nothing has been fetched yet. The product takes ${flop} FLOP, however we cut it.`;
  if (step === all.length) {
    const times = Math.ceil(size / edge);
    return `Done. We fetched each of the ${2 * size * size} numbers ${several(times, "time")}, ${numbers} fetches for ${flop} FLOP: ${brief(perNumber)} FLOP per number, ${brief(perByte)} per byte in 16 bits.`;
  }
  const { height, width } = all[step - 1];
  return `Tile ${step} of ${all.length} fetches ${several(height, "row")} and ${several(width, "column")}, ${(height + width) * size} numbers for ${several(height * width, "cell")}. That makes ${fetched(size, edge, step).numbers} so far, and ${numbers} in the end.`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "What a tile fetches",
  initial,
  picture: drawing,
  numbers: edges,
  more,
  says,
  lastStep,
  next: () => "Next tile",
};

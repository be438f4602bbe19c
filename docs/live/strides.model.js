// How a tensor counts the cells of memory: shapes, strides, and whether strides exist that count them in another shape.

/** @param {number[]} sizes */
export const product = (sizes) => sizes.reduce((all, size) => all * size, 1);

/** The strides of a tensor just written. @param {number[]} shape */
export const contiguous = (shape) => shape.map((_, axis) => product(shape.slice(axis + 1)));

/** The two axes exchanged. @template T @param {T[]} each @param {number} one @param {number} other @returns {T[]} */
export const exchanged = (each, one, other) =>
  each.map((own, axis) => each[axis === one ? other : axis === other ? one : axis] ?? own);

/** All cells, in the order in which a tensor counts its numbers. @param {number[]} shape @param {number[]} strides */
export const walk = (shape, strides) =>
  shape.reduce(
    (cells, size, axis) => cells.flatMap((cell) => steps(size).map((index) => cell + index * strides[axis])),
    [0],
  );

/** 0, 1, …, size − 1 @param {number} size */
export const steps = (size) => Array.from({ length: size }, (_, index) => index);

/**
 * The strides with which a view of this shape counts the same cells in the same order; none if there are no such
 * strides. An axis of one cell takes no step, and gets 0.
 * @param {number[]} cells @param {number[]} shape @returns {number[] | null}
 */
export function strides(cells, shape) {
  const own = contiguous(shape).map((step, axis) => (shape[axis] > 1 ? cells[step] - cells[0] : 0));
  return walk(shape, own).every((cell, place) => cell === cells[place] - cells[0]) ? own : null;
}

/** Whether the cells are counted in the order in which they lie. @param {number[]} cells */
export const inOrder = (cells) => cells.every((cell, place) => cell === place);

/**
 * The places, in a tensor's order, that have this index on this axis.
 * @param {number[]} shape @param {number} axis @param {number} index
 */
export function slice(shape, axis, index) {
  const step = product(shape.slice(axis + 1));
  return steps(product(shape)).filter((place) => Math.floor(place / step) % shape[axis] === index);
}

/** What a walk steps over from each cell to the next. @param {number[]} line */
export const gaps = (line) => line.slice(1).map((cell, place) => cell - line[place]);

/**
 * Why there are no strides: a line along one axis that takes unequal steps.
 * @param {number[]} cells @param {number[]} shape @returns {{axis: number, line: number[]} | null}
 */
export function uneven(cells, shape) {
  for (const axis of steps(shape.length).reverse()) {
    const step = product(shape.slice(axis + 1));
    const lines = slice(shape, axis, 0).map((place) => steps(shape[axis]).map((index) => cells[place + index * step]));
    const line = lines.find((each) => new Set(gaps(each)).size > 1);
    if (line) return { axis, line };
  }
  return null;
}

// A product of two square tables, tile by tile: which rows and columns each tile fetches, and what that makes in all.

/** @typedef {{top: number, left: number, height: number, width: number}} Tile */

/** The tiles of a product, row after row of them; those at its end are smaller where the edge does not divide the size.
 * @param {number} size @param {number} edge @returns {Tile[]} */
export function tiles(size, edge) {
  const along = Math.ceil(size / edge);
  return Array.from({ length: along * along }, (_, place) => {
    const [top, left] = [Math.floor(place / along) * edge, (place % along) * edge];
    return { top, left, height: Math.min(edge, size - top), width: Math.min(edge, size - left) };
  });
}

/**
 * How often each row of the first table and each column of the second has been fetched by the first tiles.
 * @param {number} size @param {number} edge @param {number} count tiles that are done
 */
export function fetched(size, edge, count) {
  const [rows, columns] = [Array(size).fill(0), Array(size).fill(0)];
  for (const { top, left, height, width } of tiles(size, edge).slice(0, count)) {
    for (let row = top; row < top + height; row++) rows[row]++;
    for (let column = left; column < left + width; column++) columns[column]++;
  }
  const numbers = size * [...rows, ...columns].reduce((sum, times) => sum + times, 0);
  return { rows, columns, numbers };
}

/**
 * The whole product: numbers fetched, and FLOP for each of them and for each of their bytes, two a number.
 * @param {number} size @param {number} edge
 */
export function cost(size, edge) {
  const { numbers } = fetched(size, edge, Infinity);
  const flop = 2 * size ** 3;
  return { numbers, flop, perNumber: flop / numbers, perByte: flop / (2 * numbers) };
}

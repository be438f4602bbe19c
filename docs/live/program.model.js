// Which numbers a program of kernels.bench.microbenchmarks.strided_read loads, and which sectors of memory these loads touch.

const BLOCK = 1024; // rows a program
const LANES = 32; // a warp's, which load together
const SECTOR = 32; // bytes that travel together

/** How many loads of a warp a program's rows are. */
export const loads = BLOCK / LANES;

/** The grid, and what a program learns from its number. @param {number} rows @param {number} stride @param {number} id */
export function program(rows, stride, id) {
  const perColumn = Math.ceil(rows / BLOCK);
  const firstRow = (id % perColumn) * BLOCK;
  return {
    perColumn,
    programs: stride * perColumn,
    column: Math.floor(id / perColumn),
    firstRow,
    lastRow: firstRow + BLOCK - 1,
    read: Math.min(BLOCK, rows - firstRow),
    masked: Math.max(0, firstRow + BLOCK - rows),
  };
}

/**
 * One load of a warp: what each lane asks for.
 * @param {number} rows @param {number} stride @param {number} id @param {number} load which of the program's
 * @returns {{row: number, address: number, reads: boolean}[]} address: numbers after the vector's first
 */
export function lanes(rows, stride, id, load) {
  const { column, firstRow } = program(rows, stride, id);
  return Array.from({ length: LANES }, (_, lane) => {
    const row = firstRow + load * LANES + lane;
    return { row, address: row * stride + column, reads: row < rows };
  });
}

/**
 * The sectors that travel, each with the lanes that want something of it and where in it that lies. The vector begins
 * where a sector does, and no number lies across two.
 * @param {{address: number, reads: boolean}[]} asked @param {number} bytes of a number
 * @returns {{sector: number, lanes: number[], places: number[]}[]}
 */
export function sectors(asked, bytes) {
  /** @type {Map<number, {sector: number, lanes: number[], places: number[]}>} */
  const touched = new Map();
  asked.forEach(({ address, reads }, lane) => {
    if (!reads) return;
    const sector = Math.floor((address * bytes) / SECTOR);
    const one = touched.get(sector) ?? { sector, lanes: [], places: [] };
    one.lanes.push(lane);
    one.places.push(address % (SECTOR / bytes));
    touched.set(sector, one);
  });
  return [...touched.values()];
}

/** What a load asks for and what travels, in bytes. @param {{address: number, reads: boolean}[]} asked @param {number} bytes */
export function cost(asked, bytes) {
  const wanted = bytes * asked.filter(({ reads }) => reads).length;
  const fetched = SECTOR * sectors(asked, bytes).length;
  return { wanted, fetched, used: fetched === 0 ? 0 : wanted / fetched };
}

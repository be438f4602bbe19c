// Each time that a table crosses between HBM and the chip, in order; the bytes are kernels.bench.cost's.
import { rowBytes, squareBytes } from "./cost.model.js";

/** @typedef {import("./cost.model.js").Shape} Shape */
/** @typedef {{kernel: string, table: string, up: boolean, square: boolean, bytes: number}} Trip up: read by the chip */

/**
 * What the kernels of a form read and write, in their order; a table that grows with N² is a square.
 * @type {Record<string, Record<string, {read: string[], written: string[]}>>}
 */
const TABLES = {
  typed: {
    QKᵀ: { read: ["Q, K"], written: ["raw scores"] },
    scale: { read: ["raw scores"], written: ["scores"] },
    softmax: { read: ["scores"], written: ["shares"] },
    PV: { read: ["shares", "V"], written: ["output"] },
  },
  textbook: {
    QKᵀ: { read: ["Q, K"], written: ["scores"] },
    softmax: { read: ["scores"], written: ["shares"] },
    PV: { read: ["shares", "V"], written: ["output"] },
  },
  fused: { fused: { read: ["Q, K, V"], written: ["output"] } },
};

const SQUARES = ["raw scores", "scores", "shares"];

/** @param {string} form @param {Shape} shape @returns {Trip[]} */
export function trips(form, shape) {
  const size = (/** @type {string} */ table) => (SQUARES.includes(table) ? squareBytes(shape) : table.split(", ").length * rowBytes(shape));
  const trip = (/** @type {string} */ kernel, /** @type {boolean} */ up) => (/** @type {string} */ table) => {
    return { kernel, table, up, square: SQUARES.includes(table), bytes: size(table) };
  };
  return Object.entries(TABLES[form]).flatMap(([kernel, { read, written }]) => [
    ...read.map(trip(kernel, true)),
    ...written.map(trip(kernel, false)),
  ]);
}

/**
 * Bytes of those of the first trips that are of that kind.
 * @param {Trip[]} all @param {number} step @param {boolean} square
 */
export const moved = (all, step, square) =>
  all.slice(0, step).reduce((sum, trip) => sum + (trip.square === square ? trip.bytes : 0), 0);

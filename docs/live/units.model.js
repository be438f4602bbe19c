// Numbers with their units, in three digits.

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const DECIMAL = ["", "k", "M", "G", "T", "P", "E"];

/** 8192, and 131,072: four digits stand together. @param {number} value */
export const grouped = (value) =>
  String(Math.round(value)).replace(/(?<=\d{2})(?=(\d{3})+$)|(?<=^\d)(?=(\d{3}){2,}$)/g, ",");

/** Three digits, and never a power of ten below a million. @param {number} value */
export const brief = (value) => (value >= 1000 ? grouped(value) : String(Number(value.toPrecision(3))));

/** @param {number} value @param {number} base @param {string[]} names */
function scaled(value, base, names) {
  let size = value;
  let place = 0;
  while (size >= base && place < names.length - 1) {
    size /= base;
    place += 1;
  }
  return `${brief(size)} ${names[place]}`.trim();
}

/** Bytes in powers of 1024: "128 MiB". @param {number} bytes */
export const binary = (bytes) => scaled(bytes, 1024, BINARY);

/** In powers of 1000: "134 MB", "989 TFLOP/s". @param {number} value @param {string} unit */
export const metric = (value, unit) => scaled(value, 1000, DECIMAL.map((prefix) => prefix + unit));

/** "1.07 ms" @param {number} seconds */
export function time(seconds) {
  if (seconds >= 1 || seconds === 0) return `${brief(seconds)} s`;
  const [factor, unit] = seconds >= 1e-3 ? [1e3, "ms"] : seconds >= 1e-6 ? [1e6, "µs"] : [1e9, "ns"];
  return `${brief(seconds * factor)} ${unit}`;
}

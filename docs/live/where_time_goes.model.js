// How long the two first suspects would take, each at its full speed. A test holds it against the worked example.

const PAIRS = 32 * 16 * 512 * 512; // texts, heads, queries, and the keys that each meets
const [HEAD_DIM, BYTES] = [128, 2]; // of a key and of a value
const [OPERATIONS, SMS, GIGAHERTZ] = [256, 132, 1.98]; // in a clock of an SM; SMs; their clock

/** What all programs ask for, in GB: a key and a value for each pair. */
const gigabytes = (PAIRS * 2 * HEAD_DIM * BYTES) / 1e9;

/** A multiplication and an addition for each of their numbers, in billions. */
const billions = (PAIRS * 2 * HEAD_DIM * 2) / 1e9;

/** What fills a bar, in words. @type {Record<string, string>} */
export const NAMES = { memory: "memory", multiplying: "multiplying" };

/** In milliseconds. @param {number} l2 terabytes a second */
export const times = (l2) => ({ memory: gigabytes / l2, multiplying: (billions / OPERATIONS / SMS / GIGAHERTZ) * 1e3 });

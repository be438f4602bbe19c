// Where a kernel stands under the roof of a chip, and the kernels of chapter 4 as examples.
import { attainable, attentionFlops, rowBytes } from "./cost.model.js";
import { moved, trips } from "./hbm_trips.model.js";

/** @typedef {{flops: number, moved: number}} Work what a kernel computes, and the bytes that it moves */

/** One head of 8192 words and 128 numbers in 16 bits, as snippets/traffic/roofline.py has it. */
const SHAPE = { n: 8192, dim: 128, bytes: 2 };

/** @returns {Record<string, Work>} */
export function examples() {
  const { n, dim, bytes } = SHAPE;
  const matmul = attentionFlops(SHAPE) / 2;
  const all = trips("typed", SHAPE);
  const of = (/** @type {string} */ kernel) =>
    all.filter((trip) => trip.kernel === kernel).reduce((sum, trip) => sum + trip.bytes, 0);
  const fused = trips("fused", SHAPE);
  return {
    QKᵀ: { flops: matmul, moved: of("QKᵀ") },
    scale: { flops: n * n, moved: of("scale") },
    softmax: { flops: 5 * n * n, moved: of("softmax") },
    PV: { flops: matmul, moved: of("PV") },
    fused: { flops: 2 * matmul, moved: moved(fused, fused.length, false) },
    decode: { flops: 4 * n * dim, moved: 2 * rowBytes(SHAPE) + 2 * dim * bytes },
    "large matmul": { flops: 2 * n ** 3, moved: 3 * n * n * bytes },
  };
}

/**
 * @param {Work} work @param {import("./cost.model.js").Chip} chip @param {number} seconds as measured; 0 if nothing was
 * @returns limit and reached in FLOP/s; the three least times in seconds; share of the limit
 */
export function place({ flops, moved: bytes }, { peak, bandwidth }, seconds) {
  const intensity = flops / bytes;
  const limit = attainable(intensity, peak, bandwidth);
  const reached = seconds ? flops / seconds : 0;
  return {
    intensity,
    ridge: peak / bandwidth,
    limit,
    arithmetic: flops / peak,
    memory: bytes / bandwidth,
    least: flops / limit,
    reached,
    share: reached / limit,
  };
}

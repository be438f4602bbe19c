// What attention costs before anything runs, as kernels.bench.cost counts it, and the chips of kernels.bench.hardware.

/** @typedef {{n: number, dim: number, bytes: number, heads?: number, batch?: number}} Shape bytes: of one number */
/**
 * @typedef {{memory: number, bandwidth: number, peak: number, link: number}} Chip B, B/s, FLOP/s of the tensor cores in
 *   16 bits, and B/s of NVLink each way
 */

/** @type {Record<string, Chip>} */
export const CHIPS = {
  H100: { memory: 80e9, bandwidth: 3.35e12, peak: 132 * 4096 * 1.83e9, link: 450e9 },
  H200: { memory: 141e9, bandwidth: 4.8e12, peak: 989e12, link: 450e9 },
  A100: { memory: 80e9, bandwidth: 2.039e12, peak: 312e12, link: 300e9 },
  V100: { memory: 32e9, bandwidth: 900e9, peak: 125e12, link: 150e9 },
};

/** Of one number. @type {Record<string, number>} */
export const BYTES = { FP32: 4, FP16: 2 };

/** @param {string} name */
export const chip = (name) => CHIPS[name];

/** One of Q, K, V and the output, of all heads. @param {Shape} shape */
export const rowBytes = ({ n, dim, bytes, heads = 1, batch = 1 }) => batch * heads * n * dim * bytes;

/** The scores of all heads. @param {Shape} shape */
export const squareBytes = ({ n, bytes, heads = 1, batch = 1 }) => batch * heads * n * n * bytes;

/** @param {Shape} shape */
export const qkvoBytes = (shape) => 4 * rowBytes(shape);

/** What the three lines hold beside Q, K and V: two squares and the output. @param {Shape} shape */
export const eagerPeakBytes = (shape) => 2 * squareBytes(shape) + rowBytes(shape);

/**
 * What FlashAttention holds beside Q, K and V: the output, and a log-sum-exp of 4 bytes a query.
 * @param {Shape} shape
 */
export const fusedPeakBytes = ({ n, dim, bytes, heads = 1, batch = 1 }) => batch * heads * n * (dim * bytes + 4);

/**
 * The two matmuls, a multiply-add counted as two; half of it when causal.
 * @param {Shape} shape @param {boolean} [causal]
 */
export const attentionFlops = ({ n, dim, heads = 1, batch = 1 }, causal = false) =>
  (4 * batch * heads * n * n * dim) / (causal ? 2 : 1);

/** FLOP/s under the roof. @param {number} intensity FLOP per byte @param {number} peak @param {number} bandwidth */
export const attainable = (intensity, peak, bandwidth) => Math.min(peak, intensity * bandwidth);

// A model on a GPU: what its weights and its cache take, and the two least times of a prefill and of a decode step.
import { attentionFlops, chip, eagerPeakBytes, fusedPeakBytes, rowBytes } from "./cost.model.js";

/** @typedef {{layers: number, heads: number, kvHeads: number, dim: number, weights: number}} Model weights: how many */
/**
 * @typedef {{flops: number, bytes: number, arithmetic: number, memory: number}} Work the last two in seconds, each the
 *   least
 */

/** @type {Record<string, Model & {name: string}>} */
export const MODELS = {
  "llama-3-8b": { name: "Llama 3 8B", layers: 32, heads: 32, kvHeads: 8, dim: 128, weights: 8e9 },
  "llama-3-70b": { name: "Llama 3 70B", layers: 80, heads: 64, kvHeads: 8, dim: 128, weights: 70e9 },
  "llama-3-405b": { name: "Llama 3 405B", layers: 126, heads: 128, kvHeads: 8, dim: 128, weights: 405e9 },
  "gpt-3": { name: "GPT-3 175B", layers: 96, heads: 96, kvHeads: 96, dim: 128, weights: 175e9 },
};

/** Bits a number of the cache, block scales included. @type {Record<string, number>} */
export const BITS = { bf16: 16, fp8: 8, nvfp4: 4.5 };

const BYTES = 2; // a weight, and a number of Q, K, V and the output

/** What one token leaves in the cache, in all layers. @param {Model} model @param {string} format */
export const tokenBytes = ({ layers, kvHeads, dim }, format) => (2 * layers * kvHeads * dim * BITS[format]) / 8;

/** @param {Model} model */
export const weightBytes = ({ weights }) => BYTES * weights;

/**
 * The whole of a text at once: causal attention, then all weights, each used once a token.
 * @param {Model} model @param {number} context @param {number} batch
 */
export function prefill(model, context, batch) {
  const { layers, heads, kvHeads, dim, weights } = model;
  const row = (/** @type {number} */ count) => rowBytes({ n: context, dim, bytes: BYTES, heads: count, batch });
  return {
    attention: {
      flops: layers * attentionFlops({ n: context, dim, bytes: BYTES, heads, batch }, true),
      bytes: layers * 2 * (row(heads) + row(kvHeads)),
    },
    weights: { flops: 2 * weights * context * batch, bytes: weightBytes(model) },
  };
}

/**
 * One new token a sequence: its query meets the cache, and all weights are read for all sequences.
 * @param {Model} model @param {number} context @param {number} batch @param {string} format
 */
export function decode(model, context, batch, format) {
  const { layers, heads, dim, weights } = model;
  return {
    attention: {
      flops: (layers * attentionFlops({ n: context, dim, bytes: BYTES, heads, batch })) / context,
      bytes: tokenBytes(model, format) * context * batch,
    },
    weights: { flops: 2 * weights * batch, bytes: weightBytes(model) },
  };
}

/**
 * The two least times of that work on so many chips.
 * @param {{flops: number, bytes: number}} work @param {string} name @param {number} chips @returns {Work}
 */
export function limits({ flops, bytes }, name, chips) {
  const { peak, bandwidth } = chip(name);
  return { flops, bytes, arithmetic: flops / (peak * chips), memory: bytes / (bandwidth * chips) };
}

/**
 * The least time of several parts: one may compute while another reads, but neither kind of work shrinks.
 * @param {Work[]} parts
 */
export const leastTime = (parts) =>
  Math.max(
    parts.reduce((sum, each) => sum + each.arithmetic, 0),
    parts.reduce((sum, each) => sum + each.memory, 0),
  );

/**
 * What a ring of GPUs sends in a causal prefill: bytes of K and V, all layers, and whether a step's computing hides a
 * step's fetching.
 * @param {Model} model @param {number} context @param {number} batch @param {string} name @param {number} chips
 */
export function ring({ layers, heads, kvHeads, dim }, context, batch, name, chips) {
  const { peak, link } = chip(name);
  const part = { n: context / chips, dim, bytes: BYTES, batch };
  const bytes = 2 * layers * rowBytes({ ...part, heads: kvHeads });
  const [fetching, computing] = [bytes / link, (layers * attentionFlops({ ...part, heads }, true)) / peak];
  return { sent: (chips - 1) * bytes, fetching, computing, hidden: fetching <= computing };
}

/**
 * What has to be held, and what would fit.
 * @param {Model} model @param {number} context @param {number} batch @param {string} format @param {string} name
 * @param {number} chips
 */
export function memory(model, context, batch, format, name, chips) {
  const [all, weights, token] = [chip(name).memory * chips, weightBytes(model), tokenBytes(model, format)];
  const free = Math.max(0, all - weights);
  const shape = { n: context, dim: model.dim, bytes: BYTES, heads: model.heads, batch };
  return {
    all,
    weights,
    cache: token * context * batch,
    sequences: Math.floor(free / (token * context)),
    longest: Math.floor(free / (token * batch)),
    unfused: eagerPeakBytes(shape),
    fused: fusedPeakBytes(shape),
  };
}

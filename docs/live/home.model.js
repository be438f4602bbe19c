// One attention step over one sentence. The vectors were chosen by hand; a model learns them.
import { dot, softmax, weightedSum } from "./attention_row.model.js";

/**
 * What a word looks for, what it offers, what it hands over, and its query in words.
 * @typedef {{query: number[], key: number[], value: number[], asks: string}} Card
 */
/** @typedef {Card & {word: string}} Word */

export const features = ["animal", "thing", "doing", "link"];
export const endings = ["soft", "tired"];

/** @type {Record<string, Card>} */
const cards = {
  the: { query: [2, 2, 0, 0], key: [0, 0, 0, 1], value: [1, 1, 0, 8], asks: "what do I point to?" },
  cat: { query: [0, 0, 3, 0], key: [2, 0, 0, 0], value: [10, 0, 0, 0], asks: "what do I do?" },
  sat: { query: [3, 2, 0, 0], key: [0, 0, 2, 0], value: [1, 0, 9, 0], asks: "who sits, and where?" },
  on: { query: [0, 3, 0, 0], key: [0, 0, 0, 2], value: [0, 1, 1, 8], asks: "on what?" },
  mat: { query: [1, 0, 0, 3], key: [0, 2, 0, 0], value: [0, 10, 0, 0], asks: "what ties me to the rest?" },
  because: { query: [0, 0, 3, 1], key: [0, 0, 0, 1], value: [0, 0, 2, 8], asks: "what happened?" },
  was: { query: [1, 1, 2, 0], key: [0, 0, 1, 1], value: [0, 0, 6, 4], asks: "who was doing what?" },
  soft: { query: [0, 3, -1, 0], key: [0, 1, 1, 0], value: [0, 6, 4, 0], asks: "what’s soft?" },
  tired: { query: [3, 0, -1, 0], key: [1, 0, 1, 0], value: [6, 0, 4, 0], asks: "who’s tired?" },
};
// An earlier layer has let "it" read the last word, so only its query depends on the ending.
const it = { key: [0, 0, 0, 1], value: [1, 1, 0, 8], asks: "who or what am I?" };
/** @type {Record<string, number[]>} */
const itLooksFor = { soft: [1, 3, 0, 0], tired: [3, 1, 0, 0] };

/** The sentence with this last word. @param {string} ending @returns {Word[]} */
export function sentence(ending) {
  const words = ["The", "cat", "sat", "on", "the", "mat", "because", "it", "was", ending];
  return words.map((word) => ({
    word,
    ...(word === "it" ? { ...it, query: itLooksFor[ending] } : cards[word.toLowerCase()]),
  }));
}

/**
 * All that one word computes: its score with each word, its shares and its output.
 * @param {Word[]} words @param {number} asker
 */
export function attend(words, asker) {
  const { query } = words[asker];
  const scores = words.map(({ key }) => dot(query, key));
  const scaled = scores.map((score) => score / Math.sqrt(query.length));
  const shares = softmax(scaled);
  return { query, scores, scaled, shares, output: weightedSum(shares, words.map(({ value }) => value)) };
}

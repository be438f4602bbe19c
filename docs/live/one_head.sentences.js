// What the piece says of a step of the kernel's run, in one sentence or two.
import { LINES, right, total } from "./one_head.model.js";
import { formatNumber, vector } from "./controls.js";

/** @typedef {import("./one_head.model.js").Moment} Moment */

/**
 * How much it's like the row it should be, to all digits that a reader sees.
 * @param {number[]} row @param {number[]} wanted
 */
const same = (row, wanted) => row.every((x, c) => Math.abs(x - wanted[c]) < 5e-3);

/** "1 · 0 + 0 · 1 = 0" @param {Moment} moment */
const product = ({ held, turn }) =>
  `${held.query.map((x, c) => `${formatNumber(x)} · ${formatNumber(held.key[c])}`).join(" + ")} = ${formatNumber(held.scores[turn])}`;

/** A key that was loaded from the wrong place. @param {Moment} moment @param {number} dim @param {number[]} key */
function missed({ turn, held, touch }, dim, key) {
  if (turn === 0) return `The address lacks * HEAD_DIM. Key 0 arrives all the same, since 0 × ${dim} is 0, too.`;
  const where = `Key ${turn} starts at ${turn} × ${dim} = ${turn * dim}, but we read from ${touch?.places[0]} on`;
  const row = Math.floor(turn / dim);
  const what = turn % dim ? `half of key ${row} and half of key ${row + 1}` : `that’s key ${row}`;
  return `${where} and get ${vector(held.key)}: ${what}. It should be ${vector(key)}.`;
}

/**
 * The end of a program.
 * @param {import("./one_head.model.js").Problem} problem @param {number} program @param {number[]} output
 */
function ended(problem, program, output) {
  const [wanted, last] = [right(problem, program), problem.q.length - 1];
  const [row, keys] = [vector(output), problem.k.length];
  if (!same(output, wanted)) {
    if (program === 0) return `${row} goes out. That’s wrong, it should be ${vector(wanted)}. And nothing crashed.`;
    const what = `Program ${program} writes ${row} instead of ${vector(wanted)}.`;
    return program === last ? `${what} Look at K: nobody ever read its last key.` : what;
  }
  if (program === 0)
    return `${row} goes out to memory. The program ends, and everything else in its registers is forgotten.`;
  if (program < last)
    return `Its own query gave its own row, ${row}, and that goes out. But program ${program} fetched every key again.`;
  return `${row} is the last row. We loaded ${last + 1} queries, but ${keys * (last + 1)} keys: each key ${last + 1} times.`;
}

/** In whose products no line ends. @type {typeof sentence} */
export const says = (...all) => sentence(...all).replace(/ ([·×]) /g, "\u00a0$1\u00a0");

/**
 * @param {import("./one_head.model.js").Problem} problem @param {{wrong: boolean, slowly: boolean}} state
 * @param {import("./one_head.model.js").Step} step
 */
function sentence(problem, { wrong, slowly }, { program, moments, held }) {
  const [dim, keys] = [problem.q[0].length, problem.k.length];
  const moment = moments.at(-1);
  if (!moment) {
    if (wrong) return "Now the address of a key lacks * HEAD_DIM. Which keys will the programs read?";
    const look = slowly ? "Let’s take them line by line." : "Each load leaves a block where it begins.";
    return `Three programs, one for each query. ${look}`;
  }
  const { line, turn } = moment;
  const largest = Math.max(...(held.scores ?? [0]));
  switch (line) {
    case LINES.own:
      return `I’m program ${program}, so query ${program} is mine. It starts at ${program} × ${dim} = ${program * dim}: numbers ${held.own.join(" and ")}.`;
    case LINES.query:
      return `Query ${program} arrives from memory: ${vector(held.query)}. It stays in registers to the end.`;
    case LINES.scores:
      return `${keys} keys take ${held.scores.length} places, a power of two. All start at −∞, so a place without a key gets no weight.`;
    case LINES.key: {
      if (wrong) return missed(moment, dim, problem.k[turn]);
      if (turn === 0) return `Program ${program} holds its query. Now key 0 arrives from memory: ${vector(held.key)}.`;
      return `Key ${turn} starts at ${turn} × ${dim} = ${turn * dim}. It arrives, and key ${turn - 1} is forgotten.`;
    }
    case LINES.score: {
      if (!slowly && wrong)
        return "The loads began at 0, 1 and 2, not at 0, 2 and 4: half a key too early, then a whole one.";
      if (!slowly)
        return `Each key came and left a score (our scale is 1). Place ${keys} has no key, so it stays −∞.`;
      if (turn === 0)
        return `${product(moment)} goes to place 0 (our scale is 1). Registers have no addresses, so tl.where makes a new row.`;
      const free = turn === keys - 1 && held.scores.length > keys ? ` Place ${keys} stays −∞.` : "";
      return `${product(moment)} goes to place ${turn}.${free}`;
    }
    case LINES.exponentials:
      return `Take off the largest score, ${formatNumber(largest)}, then take exponentials. The −∞ becomes 0.`;
    case LINES.weights:
      if (!slowly)
        return "Exponentials, divided by their sum: now they add up to 1. No score and no weight has touched memory.";
      return `Divide by their sum, ${formatNumber(total(held.exponentials))}: now they add up to 1. No score and no weight has touched memory.`;
    case LINES.output:
      return "The output starts at zero. Now each value is added to it, times its weight.";
    case LINES.value:
      return `Value ${turn} arrives: ${vector(held.value)}. Its weight is ${formatNumber(held.weights[turn], 2)}.`;
    case LINES.add:
      if (!slowly) return `Three values came, and each was added times its weight. The output is ${vector(held.output)}.`;
      return `${formatNumber(held.weights[turn], 2)} of value ${turn} is added, and the output is ${vector(held.output)}.`;
    default:
      return ended(problem, program, held.output);
  }
}

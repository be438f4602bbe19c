// Online softmax: what a kernel keeps of a row that is still arriving, as kernels.softmax.OnlineSoftmax has it, and
// what every instant of the picture looks like. No DOM and no clock in here.

/**
 * @typedef {{max: number, sum: number, accumulator: number[], seen: number}} State accumulator: the value
 *   rows, each times its exponential, added up
 */
/**
 * @typedef {State & {factor: number, moved: boolean, kept: number, terms: number[]}} Updated kept: what the old sum is
 *   worth now
 */
/** @typedef {Updated & {before: Updated}} Step */
/**
 * @typedef {{scores: number[], values: number[][], block: number, forget: boolean, steps: Step[], atOnce: Updated}} Run
 */

/** @param {number} [width] numbers of a value row @returns {State} a row of which nothing was read */
export const empty = (width = 0) => ({ max: -Infinity, sum: 0, accumulator: Array(width).fill(0), seen: 0 });

/** e^(score − max), and 0 where both are −∞. @param {number} score @param {number} max */
export const expBelow = (score, max) => (score === -Infinity ? 0 : Math.exp(score - max));

/** @param {number[]} numbers */
const total = (numbers) => numbers.reduce((a, b) => a + b, 0);

/**
 * The state after one more block: one factor brings everything that was kept to the new maximum, then the block is
 * added.
 * @param {State} state @param {number[]} scores @param {number[][]} [values] one row a score
 * @param {boolean} [forget] don't rescale, the classic bug of a first kernel
 * @returns {Updated}
 */
export function update(state, scores, values = [], forget = false) {
  const max = Math.max(state.max, ...scores);
  const factor = expBelow(state.max, max);
  const scale = forget ? 1 : factor;
  const terms = scores.map((score) => expBelow(score, max));
  const accumulator = state.accumulator.map((x, column) => x * scale + total(terms.map((term, i) => term * values[i][column])));
  const kept = state.sum * scale;
  return {
    max,
    sum: kept + total(terms),
    accumulator,
    seen: state.seen + scores.length,
    factor,
    moved: max > state.max,
    kept,
    terms,
  };
}

/** The weighted sum of everything that was seen: zeros where nothing was, or all of it was masked. @param {State} state */
export const output = (state) => state.accumulator.map((x) => (state.sum === 0 ? 0 : x / state.sum));

/**
 * Every state of a row, the empty one first, and the same row read at once.
 * @param {number[]} scores @param {number} block @param {boolean} [forget] @param {number[][]} [values] @returns {Run}
 */
export function readInBlocks(scores, block, forget = false, values = scores.map(() => [])) {
  const none = { ...empty(values[0]?.length), factor: 1, moved: false, kept: 0, terms: [] };
  /** @type {Step[]} */
  const steps = [{ ...none, before: none }];
  for (let i = 0; i < scores.length; i += block) {
    const before = steps[steps.length - 1];
    steps.push({ ...update(before, scores.slice(i, i + block), values.slice(i, i + block), forget), before });
  }
  return { scores, values, block, forget, steps, atOnce: update(none, scores, values) };
}

/**
 * The blocks of a row. After as many steps one more compares their sum with that of all scores at once.
 * @param {Run} run
 */
export const blocks = (run) => run.steps.length - 1;

/**
 * When each change of a step begins and ends, in milliseconds: the old before the new.
 * @param {Run} run @param {number} k
 */
export function schedule(run, k) {
  const never = [Infinity, Infinity];
  if (k > blocks(run))
    return {
      line: [0, 0],
      shrink: [0, 0],
      drops: run.steps[k - 1].terms.map(() => [0, 0]),
      fuse: [0, 240],
      check: [280, 640],
      end: 640,
    };
  const { terms, before, moved } = run.steps[k];
  const line = [0, 200];
  const shrink = before.sum && moved ? [200, 600] : line; // the slow one: it's what the picture is about
  const first = shrink[1];
  const drops = terms.map((_, i) => first + (160 * i) / terms.length).map((start) => [start, start + 240]);
  return { line, shrink, drops, fuse: never, check: never, end: drops.length ? drops[drops.length - 1][1] : 0 };
}

/** @param {number} a @param {number} b @param {number} part */
const mix = (a, b, part) => a + (b - a) * part;
/** How far a change is, from 0 to 1; it slows down to its end. @param {number[]} span @param {number} elapsed */
const during = ([from, to], elapsed) => (from === Infinity ? 0 : to === 0 ? 1 : 1 - (1 - Math.min(1, Math.max(0, (elapsed - from) / (to - from)))) ** 3);

/**
 * What to draw `elapsed` milliseconds into step k; without it, the step at rest. Parts from 0 to 1 say how far a change
 * is. `stack` lists the column's pieces from the floor up: `ink` is 0 while a piece is the block's and 1 once it's
 * ours, and `grown` is 1 once all of it is there. The frame's `ink` is everything that's ours.
 * @param {Run} run @param {number} k @param {number} [elapsed]
 */
export function frame(run, k, elapsed = Infinity) {
  const step = run.steps[Math.min(k, blocks(run))];
  const [old, when] = [step.before, schedule(run, k)];
  const [moved, fused] = [during(when.line, elapsed), during(when.fuse, elapsed)];
  const shrunk = old.sum ? during(when.shrink, elapsed) : 1;
  const scale = old.sum ? mix(1, step.kept / old.sum, shrunk) : 1;
  const older = old.seen - old.terms.length;
  const stack = [
    { height: old.kept * scale, ink: 1, grown: 1, power: NaN },
    ...old.terms.map((term, i) => ({
      height: term * scale,
      ink: moved,
      grown: 1,
      power: run.scores[older + i] - old.max,
    })),
    ...step.terms.map((term, i) => ({
      height: term,
      ink: fused,
      grown: during(when.drops[i], elapsed),
      power: run.scores[old.seen + i] - step.max,
    })),
  ];
  const kept = old.sum * scale;
  const first = old.max === -Infinity;
  return {
    k: Math.min(k, blocks(run)), stack, moved, shrunk, fused, scale, kept, first,
    checked: during(when.check, elapsed),
    asked: first ? Number(step.max > -Infinity) * moved : 1, // from the question to the first block
    line: first ? step.max : mix(old.max, step.max, moved),
    max: !first && moved < 0.5 ? old.max : step.max,
    sum: total(stack.map(({ height, grown }) => height * grown)),
    ink: old.sum || fused ? kept + (fused ? step.sum - step.kept : 0) : 0,
    bars: run.scores.map((score, i) => ({
      score,
      when: i < old.seen || (i < step.seen && fused > 0.5) ? "gone" : i < step.seen ? "now" : "to come",
      lit: i < old.seen ? 1 : i < step.seen ? moved : 0,
      gone: i < older ? 1 : i < old.seen ? moved : i < step.seen ? fused : 0,
    })),
  };
}

/** "six" for 6 @param {number} n */
export const numberWord = (n) => ["none", "one", "two", "three", "four", "five", "six", "seven", "eight"][n];
/** A score or an exponent, with a true minus. @param {number} x */
export const plain = (x) => String(Math.round(x * 10) / 10).replace("-", "−").replace("Infinity", "∞");
/** A sum. @param {number} x */
export const fixed = (x) => x.toFixed(3);

/** How the sum came about: the old sum, its factor, the new one. @param {Run} run */
export function chain({ steps, forget }) {
  const times = (/** @type {Step} */ { before, max, kept }) =>
    ` × ${forget || before.max === max ? "1" : `e^{${plain(before.max - max)}}`} = ${fixed(kept)} → `;
  return steps
    .slice(1)
    .map((step) => (step.before.sum ? times(step) : "") + fixed(step.sum))
    .join("");
}

/** What has just happened; e^{…} marks a power. @param {Run} run @param {number} k */
export function says(run, k) {
  const { before: old, ...step } = run.steps[Math.min(k, blocks(run))];
  const name = run.block === 2 ? "pair" : "block";
  const many = numberWord(run.scores.length);
  const capital = (/** @type {string} */ words) => words[0].toUpperCase() + words.slice(1);
  if (!k) return `${capital(many)} scores. You see each ${name} once, then it’s gone.`;
  if (k > blocks(run)) {
    if (Math.abs(step.sum - run.atOnce.sum) > 5e-4)
      return `We forgot to rescale and got ${fixed(step.sum)}. All ${many} at once give ${fixed(run.atOnce.sum)}.`;
    return `All ${many} at once give ${fixed(run.atOnce.sum)}, too. We never had more than one ${name} and two numbers.`;
  }
  if (step.max === -Infinity)
    return "Everything so far is masked, so there’s nothing to add. A kernel has to guard this case: −∞ − (−∞) is NaN.";
  const powers = step.terms.map((_, i) => `e^{${plain(run.scores[old.seen + i] - step.max)}}`);
  const terms = powers.length > 2 ? fixed(step.sum - step.kept) : powers.join(" + ");
  if (!old.sum && run.forget)
    return `The same ${many} scores, but now we forget to rescale. Watch what the next ${name} does.`;
  if (!old.sum)
    return `${capital(many)} scores, a ${name} at a time. The line is the largest so far; measured from it, this ${name} adds ${terms}. What will the next one do to the column?`;
  if (!step.moved && run.forget && run.steps.slice(2, k).some(({ moved }) => moved))
    return `The line stayed, so there was nothing to forget. The old mistake stays in the sum.`;
  if (!step.moved) return `The line stayed, so nothing shrank. The ${name} only adds ${terms}.`;
  const rise = plain(step.max - old.max);
  if (run.forget) return `The line rose by ${rise}, the old sum didn’t move: it’s still ${fixed(step.kept)}.`;
  return `The line rose by ${rise}, so the old sum shrank to ${fixed(step.kept)}. Then came the ${name}.`;
}

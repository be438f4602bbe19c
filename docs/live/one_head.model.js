// One head of attention, as kernels.first.one_head runs it for a few words: each line, the numbers that it loads and
// stores, and the registers that it writes. It's this one kernel by hand and no interpreter: a test holds its text, its
// addresses and its numbers against the kernel.

/**
 * @typedef {{q: number[][], k: number[][], v: number[][], scale: number}} Problem
 * @typedef {"q" | "k" | "v" | "out"} Tensor
 * @typedef {{program: number, tensor: Tensor, register: string, places: number[], numbers: number[]}} Touch what a line
 *   loads or stores; places count from the tensor's first number
 * @typedef {Record<string, number[]>} Held the registers of a program
 * @typedef {{line: number, turn: number, reads: string[], writes: string[], touch: Touch | null, held: Held}} Moment
 *   what one line has done; turn: which of its loop
 * @typedef {{program: number, moments: Moment[], held: Held, touched: Touch[], at: (Moment | undefined)[]}} Step what the reader sees at
 *   once; touched: by all programs so far; at: what each that has begun did last
 */

/** The three words of chapter 1. The division by √d is left out, so the scores are whole numbers. @type {Problem} */
export const WORDS = {
  q: [[1, 0], [1, 1], [0, 1]],
  k: [[1, 0], [0, 1], [1, 1]],
  v: [[10, 0], [0, 10], [5, 5]],
  scale: 1,
};

/** The kernel's body, in paragraphs. */
const SOURCE = [
  `column = tl.arange(0, HEAD_DIM)
place = tl.arange(0, ROW)
offsets = tl.program_id(0) * HEAD_DIM + column
query = tl.load(q + offsets)`,
  `scores = tl.full([ROW], -float("inf"), tl.float32)
for key_number in range(seq_k):
    key = tl.load(k + key_number * HEAD_DIM + column)
    score = tl.sum(query * key) * scale
    scores = tl.where(place == key_number, score, scores)`,
  `exponentials = tl.exp(scores - tl.max(scores))
weights = exponentials / tl.sum(exponentials)`,
  `output = tl.zeros([HEAD_DIM], tl.float32)
for key_number in range(seq_k):
    value = tl.load(v + key_number * HEAD_DIM + column)
    weight = tl.sum(tl.where(place == key_number, weights, 0.0))
    output += weight * value`,
  `tl.store(out + offsets, output)`,
];

/** Where the lines are that a picture has to know. */
export const LINES = {
  column: 0,
  place: 1,
  offsets: 2,
  query: 3,
  scores: 4,
  keys: 5,
  key: 6,
  score: 7,
  select: 8,
  exponentials: 9,
  weights: 10,
  output: 11,
  values: 12,
  value: 13,
  weight: 14,
  add: 15,
  store: 16,
};

const [FROM, WITHOUT] = ["k + key_number * HEAD_DIM", "k + key_number"];

/** The lines of each paragraph. @param {boolean} wrong the address of a key lacks `* HEAD_DIM` */
export const source = (wrong) =>
  SOURCE.map((paragraph) => (wrong ? paragraph.replace(FROM, WITHOUT) : paragraph).split("\n"));

export const range = (/** @type {number} */ n) => Array.from({ length: n }, (_, i) => i);
/** The places of a row that has room for so many numbers. @param {number} n */
export const padded = (n) => 2 ** Math.ceil(Math.log2(n));
export const total = (/** @type {number[]} */ row) => row.reduce((a, b) => a + b, 0);

/** All that a program does, line by line. @param {Problem} problem @param {number} program @param {boolean} wrong */
export function run({ q, k, v, scale }, program, wrong) {
  const memory = { q: q.flat(), k: k.flat(), v: v.flat() };
  const dim = q[0].length;
  const [column, place] = [range(dim), range(padded(k.length))];
  const offsets = column.map((c) => program * dim + c);
  /** @type {Moment[]} */
  const moments = [];
  /** @type {Held} */
  let held = {};
  /**
   * @param {number} line @param {string[]} reads @param {Held} writes @param {number} [turn]
   * @param {Touch | null} [touch]
   */
  const does = (line, reads, writes, turn = 0, touch = null) => {
    held = { ...held, ...writes };
    moments.push({ line, turn, reads, writes: Object.keys(writes), touch, held });
  };
  /**
   * @param {number} line @param {string} register @param {"q" | "k" | "v"} tensor @param {number[]} places
   * @param {string[]} reads @param {number} [turn]
   */
  const load = (line, register, tensor, places, reads, turn) => {
    const numbers = places.map((i) => memory[tensor][i]);
    does(line, reads, { [register]: numbers }, turn, { program, tensor, register, places, numbers });
  };

  does(LINES.column, [], { column });
  does(LINES.place, [], { place });
  does(LINES.offsets, ["column"], { offsets });
  load(LINES.query, "query", "q", offsets, ["offsets"]);
  does(LINES.scores, [], { scores: place.map(() => -Infinity) });
  for (const turn of range(k.length)) {
    load(LINES.key, "key", "k", column.map((c) => turn * (wrong ? 1 : dim) + c), ["column"], turn);
    const score = total(held.query.map((x, c) => x * held.key[c])) * scale;
    does(LINES.score, ["query", "key"], { score: [score] }, turn);
    const scores = held.scores.map((old, i) => (i === turn ? score : old));
    does(LINES.select, ["place", "score"], { scores }, turn);
  }
  const largest = Math.max(...held.scores);
  does(LINES.exponentials, ["scores"], { exponentials: held.scores.map((score) => Math.exp(score - largest)) });
  const sum = total(held.exponentials);
  does(LINES.weights, ["exponentials"], { weights: held.exponentials.map((x) => x / sum) });
  does(LINES.output, [], { output: column.map(() => 0) });
  for (const turn of range(k.length)) {
    load(LINES.value, "value", "v", column.map((c) => turn * dim + c), ["column"], turn);
    const weight = total(held.weights.map((x, i) => (i === turn ? x : 0)));
    does(LINES.weight, ["place", "weights"], { weight: [weight] }, turn);
    const output = held.output.map((x, c) => x + weight * held.value[c]);
    does(LINES.add, ["weight", "value"], { output }, turn);
  }
  does(LINES.store, ["offsets", "output"], {}, 0, {
    program, tensor: "out", register: "output", places: offsets, numbers: held.output,
  });
  return moments;
}

/** Lines after which the reader doesn't stop: those that count places, and those whose number the next line takes. */
const PASSED = [LINES.column, LINES.place, LINES.score, LINES.weight];

/** All programs, one after another, a line at a time, or two where the reader stops only after the second. @param {Problem} problem @param {boolean} wrong */
export function launch(problem, wrong) {
  /** @type {Step[]} */
  const steps = [{ program: 0, moments: [], held: {}, touched: [], at: [] }];
  for (const program of range(problem.q.length)) {
    /** @type {Moment[]} */
    let moments = [];
    for (const now of run(problem, program, wrong)) {
      moments = [...moments, now];
      if (PASSED.includes(now.line)) continue;
      const { touched, at } = steps[steps.length - 1];
      const reached = [...touched, ...moments.flatMap(({ touch }) => touch ?? [])];
      steps.push({ program, moments, held: now.held, touched: reached, at: Object.assign([...at], { [program]: now }) });
      moments = [];
    }
  }
  return steps;
}

/** The lines that begin a paragraph. */
export const STARTS = [LINES.column, LINES.scores, LINES.exponentials, LINES.output, LINES.store];

/** Whether a program has stored its row. @param {Step} step @param {number} program */
export const isDone = ({ at }, program) => at[program]?.line === LINES.store;

/** Whether a step is within a loop's turn that the reader takes as a whole: a later one, unless its key is read from a wrong place. @param {Step} step @param {boolean} wrong */
const isWithin = ({ moments }, wrong) =>
  moments.some(({ line, turn }) => turn > 0 && (line === LINES.value || (line === LINES.key && !wrong)));

/**
 * Where the reader stops: in program 0 after each line and, once a loop is known, each turn; and at the end of each other program.
 * @param {Step[]} steps @param {boolean} wrong
 */
export const stops = (steps, wrong) =>
  range(steps.length).filter((i) => {
    const { program } = steps[i];
    return program ? isDone(steps[i], program) : !isWithin(steps[i], wrong);
  });

/** The output in memory; null where nothing was written. @param {Problem} problem @param {Step} step */
export function output({ q }, { touched }) {
  /** @type {(number | null)[]} */
  const out = q.flat().map(() => null);
  for (const { tensor, places, numbers } of touched)
    if (tensor === "out") places.forEach((i, c) => (out[i] = numbers[c]));
  return out;
}

/**
 * The programs that touched a row of a tensor, one for each time; a load counts where it begins.
 * @param {Step} step @param {Tensor} tensor @param {number} row @param {number} dim
 */
export const visitors = ({ touched }, tensor, row, dim) =>
  touched
    .filter((touch) => touch.tensor === tensor && Math.floor(touch.places[0] / dim) === row)
    .map(({ program }) => program);

/** What the program should have written. @param {Problem} problem @param {number} program */
export const right = (problem, program) => run(problem, program, false).slice(-1)[0].held.output;

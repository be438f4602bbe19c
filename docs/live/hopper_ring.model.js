// The Hopper kernel's rings: producer, consumers, and barriers that remember one bit, as kernels/hopper/ring.py has
// them.

/** @typedef {"K" | "V"} Tensor */
/**
 * @typedef {"none" | "producer" | "consumers" | "greedy"} Bug producer, consumers: they wait for the other bit; greedy:
 *   the producer does not wait
 */

/**
 * Clocks of a copy, of a product and of a softmax; all copies share one engine, all products the tensor cores, all
 * softmaxes the exp2 units, and each takes one after the other.
 * @typedef {{stages: number, consumers: number, copy: number, product: number, softmax: number, blocks: number, bug?:
 *   Bug}} Setting
 */

/**
 * @typedef {{phases: number, arrived: number, count: number}} Barrier phases: how many have ended; it remembers their
 *   last bit
 */
/**
 * @typedef {{holds: number, arriving: number, full: Barrier, empty: Barrier}} Stage holds, arriving: a tile's number, or
 *   -1
 */
/**
 * @typedef {{kind: "copy" | "scores" | "output" | "softmax", tensor?: Tensor, tileNumber: number, consumer: number,
 *   start: number, end: number, wrong: boolean}} Bar
 */
/** @typedef {{tensor: Tensor, stage: number, side: "full" | "empty", bit: number}} Wait */
/** @typedef {{wait?: Wait, until?: number}} Pause */
/** @typedef {{clock: number, what: "asked" | "full" | "empty", tensor: Tensor, tileNumber: number}} Note */
/**
 * @typedef {{clock: number, rings: Record<Tensor, Stage[]>, waits: (Wait | null)[]}} Moment waits: of the producer,
 *   then of each consumer
 */

/** @type {Tensor[]} */
const TENSORS = ["K", "V"];

/**
 * What happens until nothing more can: the work, the moments at which something changes, and who then still waits.
 * @param {Setting} setting @returns {{bars: Bar[], notes: Note[], moments: Moment[], hung: boolean}}
 */
export function simulate({ stages, consumers, copy, product, softmax, blocks, bug = "none" }) {
  const barrier = (/** @type {number} */ count) => ({ phases: 0, arrived: 0, count });
  const ring = () =>
    Array.from({ length: stages }, () => ({ holds: -1, arriving: -1, full: barrier(1), empty: barrier(consumers) }));
  /** @type {Record<Tensor, Stage[]>} */
  const rings = { K: ring(), V: ring() };
  const free = { engine: 0, tensorCores: 0, exp2: 0 }; // from when on
  let now = 0;
  /** @type {{clock: number, act: () => void}[]} */
  const scheduled = [];
  /** @type {Bar[]} */
  const bars = [];
  /** @type {Note[]} */
  const notes = [];
  /** @type {Moment[]} */
  const moments = [];

  /** @param {keyof typeof free} unit @param {number} clocks @param {Omit<Bar, "start" | "end" | "wrong">} work */
  function start(unit, clocks, work) {
    const from = Math.max(now, free[unit]);
    const bar = { ...work, start: from, end: from + clocks, wrong: false };
    free[unit] = bar.end;
    bars.push(bar);
    return bar;
  }

  /** An arrival; the last one that is wanted ends the phase. @param {Barrier} one @param {Omit<Note, "clock">} note */
  function arrive(one, note) {
    one.arrived += 1;
    if (one.arrived < one.count) return;
    one.phases += 1;
    one.arrived = 0;
    notes.push({ clock: now, ...note });
  }

  /**
   * @param {Tensor} tensor @param {number} tileNumber @param {"full" | "empty"} side @param {boolean} wrong
   * @returns {Pause}
   */
  function waitForTile(tensor, tileNumber, side, wrong) {
    const bit = (Math.floor(tileNumber / stages) & 1) ^ Number(side === "empty") ^ Number(wrong);
    return { wait: { tensor, stage: tileNumber % stages, side, bit } };
  }

  /** @returns {Generator<Pause>} */
  function* produce() {
    for (let tileNumber = 0; tileNumber < blocks; tileNumber++) {
      for (const tensor of TENSORS) {
        if (bug !== "greedy") yield waitForTile(tensor, tileNumber, "empty", bug === "producer");
        notes.push({ clock: now, what: "asked", tensor, tileNumber });
        const stage = rings[tensor][tileNumber % stages];
        const bar = start("engine", copy, { kind: "copy", tensor, tileNumber, consumer: -1 });
        scheduled.push({ clock: bar.start, act: () => Object.assign(stage, { holds: -1, arriving: tileNumber }) });
        scheduled.push({
          clock: bar.end,
          act() {
            Object.assign(stage, { holds: tileNumber, arriving: -1 });
            arrive(stage.full, { what: "full", tensor, tileNumber });
          },
        });
      }
    }
  }

  /** @param {number} consumer @returns {Generator<Pause>} */
  function* consume(consumer) {
    for (let block = 0; block <= blocks; block++) {
      let end = now;
      for (const tensor of TENSORS) {
        const tileNumber = tensor === "K" ? block : block - 1; // the values of the block before
        if (tileNumber < 0 || tileNumber >= blocks) continue;
        yield waitForTile(tensor, tileNumber, "full", bug === "consumers");
        const stage = rings[tensor][tileNumber % stages];
        const bar = start("tensorCores", product, {
          kind: tensor === "K" ? "scores" : "output",
          tensor,
          tileNumber,
          consumer,
        });
        const checkTile = () => {
          bar.wrong ||= stage.holds !== tileNumber;
        };
        scheduled.push({ clock: bar.start, act: checkTile });
        scheduled.push({
          clock: bar.end,
          act() {
            checkTile();
            arrive(stage.empty, { what: "empty", tensor, tileNumber });
          },
        });
        end = bar.end;
      }
      yield { until: end };
      if (block < blocks) yield { until: start("exp2", softmax, { kind: "softmax", tileNumber: block, consumer }).end };
    }
  }

  /**
   * A wait returns once the phase of its bit has ended: the barrier is then in one of the other bit.
   * @param {Pause} pause
   */
  const hasEnded = ({ wait, until = 0 }) =>
    wait ? (rings[wait.tensor][wait.stage][wait.side].phases & 1) !== wait.bit : until <= now;

  const workers = [produce(), ...Array.from({ length: consumers }, (_, i) => consume(i))];
  /** @type {(Pause | null)[]} where each stands; null: it is done */
  const pauses = workers.map(() => ({}));

  /** Does one thing that can be done now, what was started before first; returns whether there was one. */
  function advance() {
    const next = scheduled.findIndex(({ clock }) => clock <= now);
    if (next >= 0) {
      scheduled.splice(next, 1)[0].act();
      return true;
    }
    const ready = pauses.findIndex((pause) => pause && hasEnded(pause));
    if (ready < 0) return false;
    const { value, done } = workers[ready].next();
    pauses[ready] = done ? null : value;
    return true;
  }

  for (;;) {
    while (advance());
    moments.push({
      clock: now,
      rings: { K: rings.K.map(copyOf), V: rings.V.map(copyOf) },
      waits: pauses.map((pause) => pause?.wait ?? null),
    });
    const times = [...scheduled.map(({ clock }) => clock), ...pauses.flatMap((pause) => pause?.until ?? [])];
    if (!times.length) break;
    now = Math.min(...times);
  }
  return { bars, notes, moments, hung: pauses.some((pause) => pause !== null) };
}

/** A stage as it is now. @param {Stage} stage @returns {Stage} */
const copyOf = ({ full, empty, ...stage }) => ({ ...stage, full: { ...full }, empty: { ...empty } });

/** The share of its time, from the first product to the last, that the tensor cores multiply. @param {Bar[]} bars */
export function tensorCoreShare(bars) {
  const products = bars.filter(({ kind }) => kind === "scores" || kind === "output");
  const [first, last] = [Math.min(...products.map(({ start }) => start)), Math.max(...products.map(({ end }) => end))];
  return products.reduce((sum, { start, end }) => sum + end - start, 0) / (last - first);
}

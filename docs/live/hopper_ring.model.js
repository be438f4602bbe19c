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
/** @typedef {{holds: number, arriving: number, full: Barrier, empty: Barrier}} Place holds, arriving: a use, or -1 */
/**
 * @typedef {{kind: "copy" | "scores" | "output" | "softmax", tensor?: Tensor, use: number, consumer: number, start:
 *   number, end: number, wrong: boolean}} Bar
 */
/** @typedef {{tensor: Tensor, place: number, side: "full" | "empty", bit: number}} Wait */
/** @typedef {{wait?: Wait, until?: number}} Pause */
/** @typedef {{clock: number, what: "asked" | "full" | "empty", tensor: Tensor, use: number}} Note */
/**
 * @typedef {{clock: number, rings: Record<Tensor, Place[]>, waits: (Wait | null)[]}} Moment waits: of the producer,
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
  /** @type {Record<Tensor, Place[]>} */
  const rings = { K: ring(), V: ring() };
  const free = { engine: 0, tensorCores: 0, exp2: 0 }; // from when on
  let now = 0;
  /** @type {{clock: number, act: () => void}[]} */
  const due = [];
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
   * @param {Tensor} tensor @param {number} use @param {"full" | "empty"} side @param {boolean} wrong @returns {Pause}
   */
  function tile(tensor, use, side, wrong) {
    const bit = (Math.floor(use / stages) & 1) ^ Number(side === "empty") ^ Number(wrong);
    return { wait: { tensor, place: use % stages, side, bit } };
  }

  /** @returns {Generator<Pause>} */
  function* produce() {
    for (let use = 0; use < blocks; use++) {
      for (const tensor of TENSORS) {
        if (bug !== "greedy") yield tile(tensor, use, "empty", bug === "producer");
        notes.push({ clock: now, what: "asked", tensor, use });
        const place = rings[tensor][use % stages];
        const bar = start("engine", copy, { kind: "copy", tensor, use, consumer: -1 });
        due.push({ clock: bar.start, act: () => Object.assign(place, { holds: -1, arriving: use }) });
        due.push({
          clock: bar.end,
          act() {
            Object.assign(place, { holds: use, arriving: -1 });
            arrive(place.full, { what: "full", tensor, use });
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
        const use = tensor === "K" ? block : block - 1; // the values of the block before
        if (use < 0 || use >= blocks) continue;
        yield tile(tensor, use, "full", bug === "consumers");
        const place = rings[tensor][use % stages];
        const bar = start("tensorCores", product, {
          kind: tensor === "K" ? "scores" : "output",
          tensor,
          use,
          consumer,
        });
        const look = () => {
          bar.wrong ||= place.holds !== use;
        };
        due.push({ clock: bar.start, act: look });
        due.push({
          clock: bar.end,
          act() {
            look();
            arrive(place.empty, { what: "empty", tensor, use });
          },
        });
        end = bar.end;
      }
      yield { until: end };
      if (block < blocks) yield { until: start("exp2", softmax, { kind: "softmax", use: block, consumer }).end };
    }
  }

  /**
   * A wait returns once the phase of its bit has ended: the barrier is then in one of the other bit.
   * @param {Pause} pause
   */
  const over = ({ wait, until = 0 }) => (wait ? (rings[wait.tensor][wait.place][wait.side].phases & 1) !== wait.bit : until <= now);

  const workers = [produce(), ...Array.from({ length: consumers }, (_, i) => consume(i))];
  /** @type {(Pause | null)[]} where each stands; null: it is done */
  const pauses = workers.map(() => ({}));

  /** Does one thing that can be done now, what was started before first. */
  function moved() {
    const next = due.findIndex(({ clock }) => clock <= now);
    if (next >= 0) {
      due.splice(next, 1)[0].act();
      return true;
    }
    const ready = pauses.findIndex((pause) => pause && over(pause));
    if (ready < 0) return false;
    const { value, done } = workers[ready].next();
    pauses[ready] = done ? null : value;
    return true;
  }

  for (;;) {
    while (moved());
    moments.push({
      clock: now,
      rings: { K: rings.K.map(copied), V: rings.V.map(copied) },
      waits: pauses.map((pause) => pause?.wait ?? null),
    });
    const times = [...due.map(({ clock }) => clock), ...pauses.flatMap((pause) => pause?.until ?? [])];
    if (!times.length) break;
    now = Math.min(...times);
  }
  return { bars, notes, moments, hung: pauses.some((pause) => pause !== null) };
}

/** A place as it is now. @param {Place} place @returns {Place} */
const copied = ({ full, empty, ...place }) => ({ ...place, full: { ...full }, empty: { ...empty } });

/** The share of its time, from the first product to the last, that the tensor cores multiply. @param {Bar[]} bars */
export function busy(bars) {
  const products = bars.filter(({ kind }) => kind === "scores" || kind === "output");
  const [first, last] = [Math.min(...products.map(({ start }) => start)), Math.max(...products.map(({ end }) => end))];
  return products.reduce((sum, { start, end }) => sum + end - start, 0) / (last - first);
}

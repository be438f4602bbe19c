// Rings of tiles in shared memory: who fills, who reads, who waits for which phase of which barrier.
import { html, nothing, svg } from "lit-html";
import { Refused } from "./frame.js";
import { formatNumber, menu, requireInteger, slider } from "./controls.js";
import { simulate, tensorCoreShare } from "./hopper_ring.model.js";

const initial = { stages: 2, consumers: 2, copy: 512, product: 512, softmax: 512, bug: "none", step: 3 };

/** @typedef {typeof initial} State */
/** @typedef {import("./hopper_ring.model.js").Bar} Bar */

const TILES = 6; // of each ring, as many as the chapter follows
/** @type {[string, string][]} */
const BUGS = [
  ["none", "as it should be"],
  ["producer", "the producer waits for the other bit"],
  ["consumers", "the consumers wait for the other bit"],
  ["greedy", "the producer doesn’t wait"],
];
/** @type {import("./hopper_ring.model.js").Tensor[]} */
const TENSORS = ["K", "V"];
/** What a consumer does, in words. */
const DOES = {
  scores: "multiplies queries by keys",
  output: "multiplies exponentials by values",
  softmax: "does softmax",
  copy: "",
};

/** @param {State} state */
function run(state) {
  const { stages, consumers, copy, product, softmax, bug } = state;
  requireInteger("Stages", stages, 1, 4);
  requireInteger("Consumers", consumers, 1, 3);
  requireInteger("Copy", copy, 0, 4096);
  requireInteger("Product", product, 1, 4096);
  requireInteger("Softmax", softmax, 1, 4096);
  if (!BUGS.some(([value]) => value === bug))
    throw new Refused(`There is no bug “${bug}”; there are ${BUGS.map(([value]) => value).join(", ")}.`);
  return simulate({
    stages,
    consumers,
    copy,
    product,
    softmax,
    blocks: TILES,
    bug: /** @type {import("./hopper_ring.model.js").Bug} */ (bug),
  });
}

/** @param {State} state */
const lastStep = (state) => run(state).moments.length - 1;

/** The run, and the moment that is shown. @param {State} state */
function current(state) {
  const all = run(state);
  return { ...all, now: all.moments[Math.min(Math.max(state.step, 0), all.moments.length - 1)] };
}

/** Whether that work is under way. @param {number} clock */
const during = (clock) => (/** @type {Bar} */ { start, end }) => start <= clock && clock < end;

/** @param {State} state */
function rings(state) {
  const { bars, now } = current(state);
  const reads = bars.filter(({ kind }) => kind === "scores" || kind === "output").filter(during(now.clock));
  const drawStage = (
    /** @type {import("./hopper_ring.model.js").Tensor} */ tensor,
    /** @type {number} */ index,
    /** @type {number} */ y,
  ) => {
    const { holds, arriving, full, empty } = now.rings[tensor][index];
    const x = 28 + index * 114;
    const role = tensor === "K" ? "key" : "value";
    const readers = reads.filter((bar) => bar.tensor === tensor && bar.tileNumber % state.stages === index);
    const text = holds >= 0 ? `use ${holds}` : arriving >= 0 ? `use ${arriving} …` : "no tile";
    const misread = readers.find(({ tileNumber }) => tileNumber !== holds);
    return svg`${holds >= 0 ? svg`<rect class="${role} fill tint" x=${x} y=${y} width="106" height="78" />` : nothing}
      <rect class="${misread ? "accent" : role} stroke ${holds >= 0 || misread ? "" : "thin dashes"}" x=${x} y=${y} width="106" height="78" />
      <text class="ink" x=${x + 8} y=${y + 22}>${text}</text>
      <text class="end accent" x=${x + 100} y=${y + 22}>${readers.map(({ consumer }) => `c${consumer}`).join(" ")}</text>
      <text class="small soft" x=${x + 8} y=${y + 46}>full</text><text class="end ink" x=${x + 100} y=${y + 46}>${full.phases & 1}</text>
      <text class="small soft" x=${x + 8} y=${y + 68}>empty</text><text class="end ink" x=${x + 100} y=${y + 68}>${empty.phases & 1}</text>
      ${empty.arrived ? svg`<text class="small end soft" x=${x + 84} y=${y + 68}>+${empty.arrived}</text>` : nothing}`;
  };
  return html`<svg viewBox="0 0 480 184" role="img" aria-label="The rings of keys and of values at clock ${now.clock}: each place with the use that it holds, and the phases of its two barriers.">
    ${TENSORS.map(
      (tensor, row) => svg`<text class=${tensor === "K" ? "key" : "value"} x="0" y=${row * 90 + 44}>${tensor}</text>
      ${now.rings[tensor].map((_, index) => drawStage(tensor, index, row * 90 + 2))}`,
    )}
  </svg>`;
}

/** @param {import("./hopper_ring.model.js").Wait} wait */
const waitInWords = ({ tensor, stage, side, bit }) => `waits until ${side} ${tensor}${stage} has ended phase ${bit}`;

/** Who does what, in words. @param {State} state */
function workers(state) {
  const { bars, now } = current(state);
  const work = (/** @type {number} */ consumer) => {
    const own = bars.filter((bar) => bar.consumer === consumer && bar.end > now.clock);
    const [next] = own.sort((a, b) => a.start - b.start);
    if (!next) return "is done";
    return next.start > now.clock
      ? `waits for the ${next.kind === "softmax" ? "exp2 units" : "tensor cores"}`
      : `${DOES[next.kind]}, use ${next.tileNumber}`;
  };
  const [first, ...others] = now.waits;
  const works = (/** @type {number} */ consumer) =>
    bars.some((bar) => bar.consumer === consumer && during(now.clock)(bar));
  const lines = others.map(
    (wait, consumer) => `Consumer ${consumer} ${wait && !works(consumer) ? waitInWords(wait) : work(consumer)}.`,
  );
  return html`<ul>${[`The producer ${first ? waitInWords(first) : "has asked for all tiles"}.`, ...lines].map((line) => html`<li>${line}</li>`)}</ul>`;
}

/** @param {State} state */
function timeline(state) {
  const { bars, now } = current(state);
  const span = 15 * state.product;
  const from = Math.max(0, now.clock - 0.7 * span);
  const x = (/** @type {number} */ clock) => 46 + (434 * Math.min(Math.max(clock - from, 0), span)) / span;
  const names = { copy: "", scores: "S", output: "O", softmax: "" };
  const look = { copy: "soft", scores: "key", output: "value", softmax: "query" };
  const draw = (/** @type {Bar} */ bar) => {
    if (bar.end <= from || bar.start >= from + span) return nothing;
    const [left, right, y] = [x(bar.start), x(bar.end), 4 + 30 * (bar.consumer + 1)];
    const coming = bar.start > now.clock;
    const text = bar.kind === "copy" ? `${bar.tensor}${bar.tileNumber}` : `${names[bar.kind]}${bar.tileNumber}`;
    return svg`<g class=${coming ? "faint" : ""}>
      ${bar.kind === "softmax" ? nothing : svg`<rect class="${look[bar.kind]} fill tint" x=${left} y=${y} width=${Math.max(1, right - left)} height="24" />`}
      <rect class="${bar.wrong && !coming ? "accent stroke" : `${look[bar.kind]} stroke thin ${bar.kind === "softmax" ? "dashes" : ""}`}" x=${left} y=${y} width=${Math.max(1, right - left)} height="24" />
      ${right - left > 24 && !coming ? svg`<text class="small middle ink" x=${(left + right) / 2} y=${y + 17}>${text}</text>` : nothing}</g>`;
  };
  const below = 34 + 30 * state.consumers;
  return html`<svg viewBox="0 0 480 ${below + 20}" role="img" aria-label="Who has worked when: copies by TMA, then a line for each consumer, with products S and O and softmaxes. A line marks clock ${now.clock}.">
    ${["TMA", "c0", "c1", "c2"].slice(0, state.consumers + 1).map((name, row) => svg`<text class="small soft" x="0" y=${21 + 30 * row}>${name}</text>`)}
    ${bars.map(draw)}
    <path class="accent stroke" d="M${x(now.clock)} 0 V${below}" />
    <text class="small accent ${now.clock > from + 0.6 * span ? "end" : ""}" x=${x(now.clock)} y=${below + 16}>clock ${now.clock}</text>
  </svg>`;
}

/** @param {State} state */
const picture = (state) => html`${rings(state)} ${timeline(state)}`;

/** Who does what, and what the marks mean. @param {State} state */
const legend = (state) => html`${workers(state)}
  <p class="soft">A barrier’s digit is the phase that it’s in, so a wait for phase 0 returns at digit 1. +1: one consumer has read. c0: that consumer reads now. …: the tile is on its way.</p>
  <p class="soft">S: queries · keys. O: exponentials · values. Dashed: softmax. TMA copies one tile at a time, and the tensor cores and the exp2 units serve one consumer at a time.</p>`;

/** @param {State} state @param {(change: Partial<State>) => void} set */
function more(state, set) {
  const again = (/** @type {Partial<State>} */ change) => set({ ...change, step: 0 });
  const clocks = { min: 0, max: 2048, step: 128 };
  return html`
    ${slider("Stages", state.stages, (stages) => again({ stages }), { min: 1, max: 4 })}
    ${slider("Consumers", state.consumers, (consumers) => again({ consumers }), { min: 1, max: 3 })}
    ${menu("Waiting", state.bug, (bug) => again({ bug }), BUGS)}
    ${slider("Clocks of a copy", state.copy, (copy) => again({ copy }), clocks)}
    ${slider("Clocks of a product", state.product, (product) => again({ product }), { ...clocks, min: 128 })}
    ${slider("Clocks of a softmax", state.softmax, (softmax) => again({ softmax }), { ...clocks, min: 128 })}`;
}

/** What has ended well or badly, once nothing more happens. @param {State} state */
function ending(state) {
  const { bars, now, hung } = current(state);
  const wrong = bars.filter((bar) => bar.wrong).length;
  if (hung)
    return `Deadlock at clock ${now.clock}: everyone waits for a phase that will never end.${wrong ? ` Until then ${wrong} products read a tile that wasn’t theirs.` : ""}`;
  if (wrong)
    return `Done at clock ${now.clock}. Nothing crashed, but ${wrong} products read a tile that wasn’t theirs.`;
  return `Done at clock ${now.clock}. The tensor cores multiplied ${formatNumber(100 * tensorCoreShare(bars), 0)} % of the time from the first product to the last.`;
}

/** @param {State} state */
function says(state) {
  const { bars, notes, moments, now } = current(state);
  const wrong = bars.find((bar) => bar.wrong && during(now.clock)(bar));
  const stage = wrong?.tensor && now.rings[wrong.tensor][wrong.tileNumber % state.stages];
  const there =
    !stage || stage.holds === wrong.tileNumber
      ? "is being overwritten"
      : stage.holds < 0
        ? "is still empty"
        : `holds use ${stage.holds}`;
  const read = wrong
    ? `Consumer ${wrong.consumer} multiplies use ${wrong.tileNumber} of ${wrong.tensor}, but place ${wrong.tileNumber % state.stages} ${there}. Nothing crashes: the numbers are wrong. `
    : "";
  if (now === moments[moments.length - 1]) return read + ending(state);
  if (read) return read;
  const news = notes.filter((note) => note.clock === now.clock);
  const freed = news.find(({ what }) => what === "empty");
  const full = news.find(({ what }) => what === "full");
  const phase = (/** @type {number} */ tileNumber) => Math.floor(tileNumber / state.stages) & 1;
  if (freed) {
    const next = freed.tileNumber + state.stages;
    const asks = news.some(
      ({ what, tensor, tileNumber }) => what === "asked" && tensor === freed.tensor && tileNumber === next,
    );
    const all = ["The consumer has", "Both consumers have", "All three consumers have"][state.consumers - 1];
    const ended = `empty of place ${freed.tileNumber % state.stages} ends phase ${phase(freed.tileNumber)}`;
    return `${all} read use ${freed.tileNumber} of ${freed.tensor}: ${ended}${asks ? `. The producer waited for that, and asks for use ${next}` : ""}.`;
  }
  if (full) {
    const bit = phase(full.tileNumber);
    return `Use ${full.tileNumber} of ${full.tensor} is there: full of place ${full.tileNumber % state.stages} ends phase ${bit}, so whoever waits for bit ${bit} may read.`;
  }
  if (now.clock === 0 && state.bug === "greedy")
    return `The producer asks for all ${TILES} uses of each ring at once, read or not.`;
  if (now.clock === 0) {
    const times = state.stages === 1 ? "once" : `${state.stages} times`;
    return `At first every place is empty, though nobody has said so. The producer waits for bit 1 of a new barrier and passes, ${times} in each ring.`;
  }
  const [next] = bars.filter(({ start, kind }) => start === now.clock && kind !== "copy");
  if (!next) return `Clock ${now.clock}: nothing has become full or empty.`;
  return `Clock ${now.clock}: consumer ${next.consumer} ${DOES[next.kind]}, use ${next.tileNumber}.`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "A ring of tiles, and the bit that each side waits for",
  initial,
  picture,
  numbers: legend,
  more,
  says,
  lastStep,
  next: () => "Next moment",
};

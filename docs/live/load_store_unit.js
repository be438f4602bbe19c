// A query meets a key: the warps' queues at the load-store unit, which starts one instruction in a clock.
import { html, nothing, svg } from "lit-html";
import { at, clocks, FALL, multiplications, queue, WARPS } from "./load_store_unit.model.js";
import { grip, oneOf, pluralize } from "./controls.js";
import { clamp, group, hundredths, path, rect, stage, text } from "./strokes.js";

// guess: the clocks that the reader expects, 0 before there are any; runs: what has run before; measured: clocks, in the order of WARPS
const initial = { warps: 8, step: 0, guess: 0, runs: "4", measured: "" };
const CLOCK = 14; // milliseconds, so that no run takes longer than three seconds
const START = 1 - FALL; // so that the first has arrived when its clock has passed
const AXIS = 245; // clocks, enough for any number of warps and a number behind it
const [LOW, HIGH] = [396, 446]; // pixels, on a phone and elsewhere
const MOST = 225; // clocks of a guess, so that a finger finds its end within the picture
const BAR = 18;
const TAPE = 10;
const TIME = 5;
const NAME = 15; // the least from one name to the next
const UNUSED = 6; // instructions of a sum that a warp alone needn’t do

/** @typedef {typeof initial} State */
/** @typedef {import("./load_store_unit.model.js").Kind} Kind */
/** @typedef {ReturnType<typeof at>[number]} Moved */
/** @typedef {ReturnType<typeof layout>} Layout */

/** @type {Record<Kind, string>} */
const LOOKS = { key: "key", value: "value", shuffle: "ink half", shared: "ink" };
const KINDS = /** @type {Kind[]} */ (Object.keys(LOOKS));

/** @param {string} asked */
const number = (asked) => Number(oneOf("Warps", asked, WARPS.map(String)));

/** @param {State} state */
const read = ({ warps }) => number(String(warps));

/** What has run, with what runs now. @param {State} state */
const kept = ({ warps, step, runs }) =>
  [...new Set([...runs.split(",").filter(Boolean).map(number), ...(step ? [warps] : [])])].join(",");

/** The next run keeps those before it. @param {State} state @param {number} warps */
const choose = (state, warps) => ({ warps, step: 0, guess: 0, runs: kept(state) });

/** @param {Kind} kind @param {number} count */
const named = (kind, count) =>
  ({ key: "load the key", value: "load the value", shuffle: pluralize(count, "shuffle"), shared: "shared memory" })[kind];

/** Neighbours of one kind, each with where it begins. @param {Kind[]} kinds */
const alike = (kinds) =>
  kinds.flatMap((kind, from) => {
    if (kind === kinds[from - 1]) return [];
    const end = kinds.findIndex((other, i) => i > from && other !== kind);
    return [{ kind, from, count: (end < 0 ? kinds.length : end) - from }];
  });

/** @param {number} warps @param {number} width @param {number} height */
function layout(warps, width, height) {
  const small = width < 600;
  const [right, floor] = [width - (small ? 112 : 400), height - 180]; // the rest is for names; below the queues
  const column = right / warps;
  const [ticket, gap] = [(height - 230) / queue(8).length, 8];
  const kinds = queue(warps);
  const value = kinds.indexOf("value");
  const unused = warps > 1 ? 0 : UNUSED * ticket;
  /** Between a load and a sum is a gap. @param {number} place from the head of the queue, perhaps in between two */
  const gaps = (place) => gap * (clamp(0, place, 1) + clamp(0, place - value, 1)) + (gap + unused) * clamp(0, place - value + 1, 1);
  return {
    small, width, kinds, value, right, floor, unused, brief: column < 52,
    x: (/** @type {number} */ warp) => (warp + 0.5) * column,
    y: (/** @type {number} */ place) => floor - (place + 1) * ticket - gaps(place),
    wide: column - (small ? 5 : 8),
    high: ticket - 2,
    middle: right / 2,
    door: small ? 12 : 16, // half of it
    shoulder: floor + ticket + 4,
    neck: height - 136,
    spout: height - 110,
    clock: width / AXIS,
    unit: height - 90,
    fp32: height - 38,
  };
}

const LEFT = 0.2; // how much is left to see where an instruction has gone from

/** Boxes of one look, as one path. @param {number[][]} boxes @param {string} look */
const boxes = (boxes, look) =>
  boxes.length
    ? svg`<path class="fill ${look}" d=${boxes.map(([x, y, wide, high]) => `M${hundredths(x)} ${hundredths(y)}h${hundredths(wide)}v${hundredths(high)}h${-hundredths(wide)}z`).join("")} />`
    : nothing;

/**
 * Where an instruction is: in its queue, in the funnel, in its neck, or on its way to its clock.
 * @param {Moved} one @param {Layout} my
 */
function box({ warp, clock, ahead, fallen }, my) {
  /** @type {number[][]} when it's there, its middle, its upper edge, its width and height */
  const way = [
    [0, my.x(warp), my.y(ahead), my.wide, my.high],
    [0.15, my.x(warp), my.shoulder - my.high, my.wide, my.high],
    [0.55, my.middle, my.neck - my.high, my.door, my.high],
    [0.7, my.middle, my.spout, my.door, my.high],
    [1, (clock + 0.5) * my.clock, my.unit, tick(my), BAR],
  ];
  const to = Math.max(1, way.findIndex(([when]) => when >= fallen));
  const part = (fallen - way[to - 1][0]) / (way[to][0] - way[to - 1][0]);
  const [, x, y, wide, high] = way[to].map((end, i) => way[to - 1][i] + part * (end - way[to - 1][i]));
  return [x - wide / 2, y, wide, high];
}

/** Clocks that are wide enough stand apart. @param {Layout} my */
const tick = ({ clock }) => clock - (clock > 2 ? 1 : 0);

/** On paper they are in both places. @param {number} warps @param {number} clock @param {boolean} paper @param {Layout} my */
function drawInstructions(warps, clock, paper, my) {
  const all = at(warps, clock);
  const place = (/** @type {Moved} */ { warp, place }) => [my.x(warp) - my.wide / 2, my.y(place), my.wide, my.high];
  const drawn = (/** @type {(one: Moved) => number[]} */ where) =>
    KINDS.map((kind) => boxes(all.filter((one) => one.kind === kind).map(where), LOOKS[kind]));
  return [
    rect(0, my.unit, my.width, BAR, "track"),
    group(paper ? 1 : LEFT, drawn(place)),
    drawn((one) => box(one, my)),
  ];
}

/** What the tickets are, beside them. @param {number} warps @param {Layout} my */
function drawNames(warps, my) {
  const top = my.y(my.kinds.length - 1) - my.unused - 10;
  const middle = (/** @type {number} */ from, /** @type {number} */ count) => (my.y(from) + my.high + my.y(from + count - 1)) / 2 + 5;
  const columns = Array.from({ length: warps }, (_, warp) => text(my.x(warp), top, "small middle soft", my.brief ? warp : `warp ${warp}`));
  let y = Infinity;
  const kinds = alike(my.kinds).map(({ kind, from, count }) => {
    y = Math.min(middle(from, count), y - NAME);
    return text(my.right + 8, y, `small ${LOOKS[kind].split(" ")[0]}`, named(kind, count));
  });
  const sums = [[1, my.value - 1, "adds up the score"], [my.value + 1, my.kinds.length - my.value - 1, "adds up the row, to read one share"]];
  const brackets = sums.map(([from, count, name]) => {
    const [x, high, low] = [my.right + 128, my.y(Number(from) + Number(count) - 1), my.y(Number(from)) + my.high];
    return [
      path(`M${x} ${high}h5V${low}h-5`, "line"),
      text(x + 16, middle(Number(from), Number(count)), "small soft", `${name}: ${count}`),
    ];
  });
  const unused = [my.value, my.kinds.length].map((end) => {
    const [left, low, high] = [my.middle - my.wide / 2, my.y(end - 1) - 4, my.y(end - 1) - my.unused];
    return [
      path(`M${left} ${low}h${my.wide}V${high}h${-my.wide}Z`, "line thin dashes"),
      text(my.middle, (low + high) / 2 + 5, "small middle soft", "no shared memory"),
    ];
  });
  const unit = my.brief ? text(my.right + 8, top, "small soft", warps > 1 ? "warps" : "warp") : nothing;
  return [columns, unit, kinds, my.small ? nothing : brackets, my.unused ? unused : nothing];
}

/** @param {Layout} my */
function drawFunnel({ middle, door, right, floor, shoulder, neck, spout }) {
  const side = (/** @type {number} */ end, /** @type {number} */ way) => path(`M${end} ${floor}V${shoulder}L${middle + way * door} ${neck}V${spout}`, "ink");
  return [side(0, -1), side(right, 1)];
}

/** @param {number} warps @param {number} clock @param {Layout} my */
function drawClocks(warps, clock, my) {
  const started = at(warps, clock).filter(({ started }) => started).length;
  const half = multiplications(warps) / 2; // for the score, once the key is there; for the output, in the end
  const all = [warps, clocks(warps)].flatMap((from) => Array.from({ length: half }, (_, i) => from + i));
  const done = all.filter((from) => clock >= from + 1);
  /** Without a number until there is one. @param {number} n @param {string} name */
  const count = (n, name, of = "") => (n ? svg`${name}: <tspan class="strong">${n}</tspan> ${n === 1 ? "clock" : "clocks"}${of}` : name);
  return [
    text(my.middle + my.door + 12, my.spout - 1, "ink", count(started, my.small ? "LSU" : "load-store unit (LSU)")),
    text(0, my.fp32 - 8, "ink", count(done.length, "multiplications", " of the FP32 units")),
    rect(0, my.fp32, my.width, BAR, "track"),
    boxes(done.map((from) => [from * my.clock, my.fp32, tick(my), BAR]), "ink"),
    [0, 50, 100, 150, 200].map((n) => text(n * my.clock, my.fp32 + BAR + 18, `small soft ${n ? "middle" : ""}`, n || "0 clocks")),
  ];
}

/** The guess, hollow, with something to hold as long as it can change. @param {State} state @param {Layout} my */
function drawGuess({ guess, step }, { unit, clock, width, small }) {
  if (step && !guess) return nothing;
  const [x, y] = [guess * clock, unit + BAR / 2];
  return [
    path(`M0 ${unit - 2}H${x}v${BAR + 4}H0Z`, "ink dashes"),
    step ? nothing : svg`<circle class="fill ink" cx=${hundredths(x)} cy=${y} r="12" /><path class="stroke paper" d="M${hundredths(x) - 2} ${y - 4}l-4 4l4 4m4-8l4 4l-4 4" />`,
    guess
      ? text(clamp(60, x, width - 60), unit - 6, "small middle halo", svg`your guess: <tspan class="strong">${guess}</tspan>`)
      : text(18, y + 5, "small halo", small ? "your guess" : "drag it to where you think it ends"),
  ];
}

/** What a GPU took for a pair, or nothing. @param {State} state @param {number} warps */
const measured = (state, warps) => Number(state.measured.split(" ")[WARPS.indexOf(warps)]) || 0;

/** What a run leaves: its clocks, and below them those that a GPU took. @param {number} warps @param {number} time */
function drawTape(warps, time) {
  const kinds = alike(queue(warps)).map(({ kind, from, count }) => boxes([[from * warps, 0, count * warps, TAPE]], LOOKS[kind]));
  return svg`<g>${kinds}${boxes(time ? [[0, TAPE + 1, time, TIME]] : [], "violet")}</g>`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width, elapsed }) {
  const warps = read(state);
  const end = clocks(warps) + multiplications(warps) / 2;
  const now = state.step ? Math.min(end, elapsed / CLOCK + START) : START;
  const draw = (/** @type {number} */ wide, /** @type {number} */ high, /** @type {boolean} */ paper) => {
    const [clock, my] = [paper ? end : now, layout(warps, wide, high)];
    return [drawInstructions(warps, clock, paper, my), drawFunnel(my), drawNames(warps, my), drawClocks(warps, clock, my), paper ? nothing : drawGuess(state, my)];
  };
  const done = kept(elapsed < Infinity ? { ...state, step: 0 } : state).split(",");
  const tape = (/** @type {number} */ each) => {
    const [ran, time] = [done.includes(String(each)), measured(state, each)];
    const press = () => set({ ...choose(state, each), step: Number(ran) });
    return html`<button type="button" aria-pressed=${String(each === warps)} @click=${press}>
      ${pluralize(each, "warp")} <small>LSU ${ran ? clocks(each) : "?"}</small> ${time ? html`<small class="violet">time ${ran ? time : "?"}</small>` : nothing}
      <svg viewBox="0 0 ${AXIS} ${TAPE + 1 + TIME}" preserveAspectRatio="none" aria-hidden="true">${ran ? drawTape(each, time) : nothing}</svg>
    </button>`;
  };
  const { unit, clock } = layout(warps, width, width < 600 ? LOW : HIGH);
  const hold = grip("Your guess, in clocks", state.guess, (guess) => set({ guess }), { min: 0, max: MOST }, { from: 0, to: MOST * clock, y: unit + BAR / 2 });
  return html`<div class="hb-live__grips">${stage(width, says(state), draw, [LOW, HIGH])}${width && !state.step ? hold : nothing}</div>
    <div class="hb-live__warps" role="group" aria-label="Warps">${WARPS.map(tape)}</div>`;
}

/** @type {Record<number, [string, string]>} what is asked before a run, and what is said after it */
const SAYS = {
  1: ["And one warp, alone? It has nobody to hand a result to.", "Five shuffles a sum, no shared memory: 1 · (5 + 5 + 2) = 12 clocks."],
  2: ["And two warps? They have two results to add up.", "Two results make one shuffle: 2 · (10 + 10 + 2) = 44 clocks."],
  4: ["Four warps wait for the LSU, which starts one instruction in a clock.", "4 · (11 + 11 + 2) = 96 clocks. The multiplications took 2."],
  8: ["Four warps keep it busy for 96 clocks. How long will eight?", "Four of them hold the key: 11. All hold the row: 12. So 8 · (11 + 12 + 2) = 200 clocks."],
};

/** @param {State} state */
function says(state) {
  const [asked, answered] = SAYS[read(state)];
  if (!state.step) return `${asked} Guess, then run.`;
  const time = measured(state, read(state));
  return answered.replace(/ ([·+]) /g, "\u00a0$1\u00a0") + (time ? ` Measured, a pair takes ${time}.` : ""); // no line ends in a product
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "One query meets one key at the load-store unit",
  initial, picture, says,
  lastStep: () => 1,
  next: ({ warps }) => `Run ${pluralize(warps, "warp")}`,
  again: (state) => {
    const done = kept(state).split(",");
    const other = [8, 1, 2, 4].find((warps) => !done.includes(String(warps)));
    return other ? [`With ${pluralize(other, "warp")}`, choose(state, other)] : ["Again", { step: 0 }];
  },
  done: (state) => [1, 8].every((warps) => kept(state).includes(String(warps))), // of them the caption tells
  meanwhile: () => "One instruction in a clock, whichever warp it comes from.",
  duration: (state) => (clocks(read(state)) + multiplications(read(state)) / 2 - START) * CLOCK,
};

// A query meets a key: the warps' queues at the load-store unit, which starts one instruction in a clock.
import { html, nothing, svg } from "lit-html";
import { at, clocks, FALL, multiplications, queue, WARPS } from "./load_store_unit.model.js";
import { oneOf, pluralize } from "./controls.js";
import { clamp, hundredths, path, rect, stage, text } from "./strokes.js";

const initial = { warps: 4, step: 0 };
const CLOCK = 20; // milliseconds
const START = 1 - FALL; // so that the first has arrived when its clock has passed
const AXIS = 210; // clocks, enough for any number of warps
const BAR = 18; // pixels

/** @typedef {typeof initial} State */
/** @typedef {import("./load_store_unit.model.js").Kind} Kind */
/** @typedef {ReturnType<typeof at>[number]} Moved */
/** @typedef {ReturnType<typeof layout>} Layout */

/** @type {Record<Kind, string>} */
const LOOKS = { key: "key", value: "value", shuffle: "violet half", shared: "violet" };
const KINDS = /** @type {Kind[]} */ (Object.keys(LOOKS));

/** @param {State} state */
const read = ({ warps }) => Number(oneOf("Warps", String(warps), WARPS.map(String)));

/** @param {Kind} kind @param {number} count */
const named = (kind, count) =>
  ({ key: "load the key", value: "load the value", shuffle: pluralize(count, "shuffle"), shared: "shared memory" })[kind];

/** Runs of one kind, each with where it begins. @param {Kind[]} kinds */
const runs = (kinds) =>
  kinds.flatMap((kind, from) => {
    if (kind === kinds[from - 1]) return [];
    const end = kinds.findIndex((other, i) => i > from && other !== kind);
    return [{ kind, from, count: (end < 0 ? kinds.length : end) - from }];
  });

/** @param {number} warps @param {number} width @param {number} height */
function layout(warps, width, height) {
  const small = width < 600;
  const column = small ? Math.min(44, (width - 112) / warps) : Math.min(80, (width - 400) / warps); // the rest is for names
  const [right, floor] = [warps * column, height - 180]; // below the queues
  const [ticket, gap] = [(height - 224) / queue(8).length, 8];
  const kinds = queue(warps);
  const value = kinds.indexOf("value");
  /** Between a load and a sum is a gap. @param {number} place from the head of the queue, perhaps in between two */
  const gaps = (place) => gap * (clamp(0, place, 1) + clamp(0, place - value + 1, 1) + clamp(0, place - value, 1));
  return {
    small, width, kinds, value, right, floor, brief: column < 52,
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
const tick = ({ clock }) => clock - (clock > 3 ? 1 : 0);

/** On paper they are in both places. @param {number} warps @param {number} clock @param {boolean} paper @param {Layout} my */
function drawInstructions(warps, clock, paper, my) {
  const all = at(warps, clock);
  const place = (/** @type {Moved} */ { warp, place }) => [my.x(warp) - my.wide / 2, my.y(place), my.wide, my.high];
  const drawn = (/** @type {(one: Moved) => number[]} */ where) =>
    KINDS.map((kind) => boxes(all.filter((one) => one.kind === kind).map(where), LOOKS[kind]));
  return [
    rect(0, my.unit, my.width, BAR, "track"),
    paper ? drawn(place) : boxes(all.map(place), "track"),
    drawn((one) => box(one, my)),
  ];
}

/** What the tickets are, beside them. @param {number} warps @param {Layout} my */
function drawNames(warps, my) {
  const top = my.y(my.kinds.length - 1) - 10;
  const middle = (/** @type {number} */ from, /** @type {number} */ count) => (my.y(from) + my.high + my.y(from + count - 1)) / 2 + 5;
  const columns = Array.from({ length: warps }, (_, warp) => text(my.x(warp), top, "small middle soft", my.brief ? warp : `warp ${warp}`));
  const kinds = runs(my.kinds).map(({ kind, from, count }) =>
    text(my.right + 8, middle(from, count), `small ${LOOKS[kind].split(" ")[0]}`, named(kind, count)),
  );
  const sums = [[1, my.value - 1, "adds up the score"], [my.value + 1, my.kinds.length - my.value - 1, "adds up the row, to read one share"]];
  const brackets = sums.map(([from, count, name]) => {
    const [x, high, low] = [my.right + 128, my.y(Number(from) + Number(count) - 1), my.y(Number(from)) + my.high];
    return [
      path(`M${x} ${high}h5V${low}h-5`, "line"),
      text(x + 16, middle(Number(from), Number(count)), "small soft", `${name}: ${count}`),
    ];
  });
  const unit = my.brief ? text(my.right + 8, top, "small soft", warps > 1 ? "warps" : "warp") : nothing;
  return [columns, unit, kinds, my.small ? nothing : brackets];
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
  const count = (/** @type {number} */ n) => svg`<tspan class="strong">${n}</tspan> ${n === 1 ? "clock" : "clocks"}`;
  return [
    text(my.middle + my.door + 12, my.spout - 1, "ink", svg`${my.small ? "LSU" : "load-store unit (LSU)"}: ${count(started)}`),
    text(0, my.fp32 - 8, "ink", svg`FP32 units: ${count(done.length)}`),
    rect(0, my.fp32, my.width, BAR, "track"),
    boxes(done.map((from) => [from * my.clock, my.fp32, tick(my), BAR]), "ink"),
    [0, 50, 100, 150, 200].map((n) => text(n * my.clock, my.fp32 + BAR + 18, `small soft ${n ? "middle" : ""}`, n || "0 clocks")),
  ];
}

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width, elapsed }) {
  const warps = read(state);
  const end = clocks(warps) + multiplications(warps) / 2;
  const now = state.step ? Math.min(end, elapsed / CLOCK + START) : START;
  const draw = (/** @type {number} */ wide, /** @type {number} */ high, /** @type {boolean} */ paper) => {
    const [clock, my] = [paper ? end : now, layout(warps, wide, high)];
    return [drawInstructions(warps, clock, paper, my), drawFunnel(my), drawNames(warps, my), drawClocks(warps, clock, my)];
  };
  const choice = (/** @type {number} */ each) => html`<button type="button" aria-pressed=${String(each === warps)}
    @click=${() => set({ warps: each, step: 0 })}>${each}</button>`;
  return html`<div class="hb-live__warps" role="group" aria-label="Warps"><span>Warps</span>${WARPS.map(choice)}</div>
    ${stage(width, says(state), draw, [460, 476])}`;
}

/** @type {Record<number, string>} */
const WHY = {
  1: "Alone, a warp needs no shared memory: 5 shuffles a sum, and",
  2: "Two warps have two results to add, so they need shared memory.",
  4: "The multiplications took 2.",
  8: "That’s 256 threads for 128 numbers, so half of them hold copies.",
};

/** @param {State} state */
function says(state) {
  const warps = read(state);
  const each = queue(warps).length;
  if (state.step) return warps === 1 ? `${WHY[1]} ${each} clocks in all.` : `${warps} · ${each} = ${clocks(warps)} clocks. ${WHY[warps]}`;
  const wait = warps === 1 ? "One warp waits, with" : `${warps} warps wait, each with`;
  return `${wait} ${each} instructions for the LSU. It starts one in a clock.`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "One query meets one key at the load-store unit",
  initial, picture, says,
  lastStep: () => 1,
  next: () => "Run a meeting",
  again: ({ warps }) => {
    const other = warps > 1 ? warps / 2 : 8;
    return [`With ${pluralize(other, "warp")}`, { warps: other, step: 0 }];
  },
  meanwhile: () => "One instruction in a clock, whichever warp it comes from.",
  duration: (state) => (clocks(read(state)) + multiplications(read(state)) / 2 - START) * CLOCK,
};

// A pair with fewer warps or more: what the load-store unit has to do, one instruction in a clock, and the measured time.
import { html, nothing, svg } from "lit-html";
import { aluClocks, at, clocks, FALL, queue, WARPS } from "./load_store_unit.model.js";
import { grip, oneOf, pluralize } from "./controls.js";
import { clamp, group, hundredths, path, rect, stage, text } from "./strokes.js";

// guess: of the time, in clocks, 0 before there is one; runs: what has run before; measured: clocks, in the order of WARPS
const initial = { warps: 1, step: 0, guess: 0, runs: "4", measured: "56 78 124 236" };
const [PACE, RUN, FILL] = [30, 2300, 600]; // milliseconds: of a clock at most, of all clocks at most, and for the measured bar
const START = 1 - FALL; // so that the first has arrived when its clock has passed
const AXIS = 310; // clocks, enough for any number of warps and a number behind it
const MOST = 250; // clocks of a guess, so that a finger finds its end within the picture
const [LOW, HIGH] = [458, 494]; // pixels, on a phone and elsewhere
const [TICKS, SCALE] = [[0, 50, 100, 150, 200], 22]; // clocks; the height of their numbers, below all rows
const [ROW, BAR, ALU, TIME] = [54, 13, 17, 34]; // of a number of warps; in it three bars, two of them so far below the first
const [GAP, FUNNEL] = [6, 66]; // between a load and a sum; from the queues to the first row
const KNOB = 10;

/** @typedef {typeof initial} State */
/** @typedef {import("./load_store_unit.model.js").Kind} Kind */
/** @typedef {ReturnType<typeof at>[number]} Moved */
/** @typedef {ReturnType<typeof layout>} Layout */

/** @type {Record<Kind, string>} */
const LOOKS = { key: "key", value: "value", shuffle: "ink", shared: "ink" };
const COLOURS = [...new Set(Object.values(LOOKS))];

/** @param {string} asked */
const number = (asked) => Number(oneOf("Warps", asked, WARPS.map(String)));

/** @param {State} state */
const read = ({ warps }) => number(String(warps));

/** What has run, with what runs now. @param {State} state */
const kept = ({ warps, step, runs }) => [...new Set([...runs.split(",").filter(Boolean).map(number), ...(step ? [warps] : [])])];

/** The next run keeps those before it. @param {State} state @param {number} warps */
const choose = (state, warps) => ({ warps, step: 0, guess: 0, runs: kept(state).join(",") });

/** What a GPU took for a pair. @param {State} state @param {number} warps */
const measured = (state, warps) => Number(state.measured.split(" ")[WARPS.indexOf(warps)]);

/** @param {number} warps */
const pace = (warps) => Math.min(PACE, RUN / (clocks(warps) - START));

/**
 * An instruction is as wide and as high with any number of warps. One warp makes room for the queues that it’s compared with.
 * @param {number} warps @param {number} width @param {number} height @param {number} aside how many columns
 */
function layout(warps, width, height, aside = Number(warps === 1)) {
  const small = width < 600;
  const [from, left] = small ? [68, 0] : [88, 88];
  const column = (width - left - (small ? 122 : 180)) / 8; // the rest is for names
  const [rows, value] = [height - SCALE - 4 * ROW, queue(warps).indexOf("value")];
  const floor = rows - FUNNEL;
  const ticket = (floor - 3 * GAP) / queue(8).length;
  const middle = left + 4 * column;
  /** @param {number} place from the head of the queue, perhaps in between two */
  const gaps = (place) => GAP * (clamp(0, place, 1) + clamp(0, place - value, 1) + clamp(0, place - value + 1, 1));
  return {
    width, height, value, middle, floor, from, left,
    x: (/** @type {number} */ warp) => middle + (aside + warp + 0.5 - warps / 2) * column,
    y: (/** @type {number} */ place) => floor - (place + 1) * ticket - gaps(place),
    wide: column - (small ? 4 : 8),
    high: ticket - 1.5,
    beside: middle + (aside + warps / 2) * column + 8,
    right: left + 8 * column,
    door: small ? 12 : 16, // half of it
    shoulder: floor + 16,
    neck: floor + 40,
    spout: rows - 8,
    clock: (width - from) / AXIS,
    row: (/** @type {number} */ warps) => rows + WARPS.indexOf(warps) * ROW + 4,
  };
}

const LEFT = 0.2; // how much is left to see where an instruction has gone from

/** Boxes of one look, as one path. @param {number[][]} boxes @param {string} look */
const boxes = (boxes, look) =>
  boxes.length
    ? svg`<path class="fill ${look}" d=${boxes.map(([x, y, wide, high]) => `M${hundredths(x)} ${hundredths(y)}h${hundredths(wide)}v${hundredths(high)}h${-hundredths(wide)}z`).join("")} />`
    : nothing;

/**
 * Where an instruction is: in its queue, in the funnel, in its neck, or at its clock.
 * @param {Moved} one @param {number} row @param {Layout} my
 */
function box({ warp, clock, ahead, fallen }, row, my) {
  if (fallen === 1) return [my.from + clock * my.clock, row, my.clock - (my.clock > 2 ? 1 : 0), BAR]; // those wide enough stand apart
  /** @type {number[][]} when it's there, its middle, its upper edge and its width */
  const way = [
    [0, my.x(warp), my.y(ahead), my.wide],
    [0.2, my.x(warp), my.shoulder - my.high - 2, my.wide],
    [0.75, my.middle, my.neck - my.high - 2, my.door],
    [1, my.middle, my.spout, my.door],
  ];
  const to = Math.max(1, way.findIndex(([when]) => when >= fallen));
  const part = (fallen - way[to - 1][0]) / (way[to][0] - way[to - 1][0]);
  const [, x, y, wide] = way[to].map((end, i) => way[to - 1][i] + part * (end - way[to - 1][i]));
  return [x - wide / 2, y, wide, my.high];
}

/** Each look's, as one path. @param {Moved[]} all @param {(one: Moved) => number[]} where */
const drawn = (all, where) => COLOURS.map((look) => boxes(all.filter(({ kind }) => LOOKS[kind] === look).map(where), look));

/** Where they wait before all clocks. @param {number} warps @param {Layout} my */
const drawQueues = (warps, my) => drawn(at(warps, START), ({ warp, place }) => [my.x(warp) - my.wide / 2, my.y(place), my.wide, my.high]);

/** On paper they are in both places. @param {number} warps @param {number} clock @param {boolean} paper @param {Layout} my */
const drawInstructions = (warps, clock, paper, my) => [
  group(paper ? 1 : LEFT, drawQueues(warps, my)),
  drawn(at(warps, clock), (one) => box(one, my.row(warps), my)),
];

/** Pale, beside the queue of one warp: what the text has counted. @param {Layout} my */
function drawFour({ width, height, middle }) {
  const four = layout(4, width, height, -2);
  return [group(LEFT, drawQueues(4, four)), text(middle + 8, four.y(queue(4).length - 1) + 13, "label soft", "what four warps bring")];
}

/** What the instructions are for, beside them. @param {number} warps @param {Layout} my */
function drawNames(warps, my) {
  /** @type {[string, string, number, number][]} each from one place to another */
  const names = [
    ["load the key", "key", 0, 0],
    ["add up the score", "ink", 1, my.value - 1],
    ["load the value", "value", my.value, my.value],
    ["add up the row", "ink", my.value + 1, queue(warps).length - 1],
  ];
  return names.map(([name, look, from, to]) => text(my.beside, (my.y(from) + my.high + my.y(to)) / 2 + 5, `label ${look}`, name));
}

/** @param {Layout} my */
function drawFunnel({ middle, door, left, right, floor, shoulder, neck, spout }) {
  const side = (/** @type {number} */ end, /** @type {number} */ way) => path(`M${end} ${floor + 8}V${shoulder}L${middle + way * door} ${neck}V${spout}`, "ink");
  return [side(left, -1), side(right, 1), text(middle + door + 12, spout, "label ink", "load-store unit (LSU)")];
}

/**
 * A number of warps: what the load-store unit did, and below it the ALU's work and the time, with numbers once they're there;
 * predicted is hollow.
 * @param {number} warps @param {State} state @param {{counted: boolean, filled: number}} done @param {Layout} my
 */
function drawRow(warps, state, { counted, filled }, my) {
  const [y, chosen, time] = [my.row(warps), warps === read(state), measured(state, warps)];
  const guess = chosen ? state.guess : 0;
  /** Behind its bar, and behind the guess where that's in its way. @param {number} n @param {string} name @param {number} y */
  const count = (n, name, y, look = "ink", mark = 0) => {
    const [end, knob] = [my.from + n * my.clock + 8, my.from + mark * my.clock + KNOB];
    const x = mark && knob > end - 8 && knob < end + 70 + 2 * KNOB ? Math.max(end, knob + 6) : end;
    const said = mark && x + 180 < my.width ? svg`, you said <tspan class="strong">${mark}</tspan>` : nothing;
    return text(x, y + BAR - 1, `label ${look}`, svg`${x + 64 < my.width ? name : ""} <tspan class="strong">${n}</tspan>${said}`);
  };
  const kinds = queue(warps);
  return [
    text(0, y + 28, `label ${chosen ? "ink strong" : "soft"}`, pluralize(warps, "warp")),
    counted && !chosen
      ? COLOURS.map((look) => boxes(kinds.flatMap((kind, place) => (LOOKS[kind] === look ? [[my.from + place * warps * my.clock, y, warps * my.clock, BAR]] : [])), look))
      : nothing,
    counted ? count(clocks(warps), "LSU", y) : nothing,
    guess ? path(`M${my.from + 1} ${y + TIME + 1}H${my.from + guess * my.clock}v${BAR - 2}H${my.from + 1}Z`, "violet dashes") : nothing,
    filled ? rect(my.from, y + ALU, aluClocks(warps) * filled * my.clock, BAR, "grey") : nothing,
    filled === 1 ? count(aluClocks(warps), "ALU", y + ALU, "soft") : nothing,
    filled ? rect(my.from, y + TIME, time * filled * my.clock, BAR, "violet") : nothing,
    filled === 1 ? count(time, "time", y + TIME, "violet", guess) : nothing,
  ];
}

/** @param {Layout} my */
const drawTracks = (my) => WARPS.map((warps) => rect(my.from, my.row(warps), my.width - my.from, TIME + BAR, "track"));

/** By which to guess; on paper nobody does, and each bar has its number. @param {Layout} my */
const drawScale = ({ from, clock, height, row }) => [
  text(0, height - 4, "label soft", "clocks"),
  TICKS.map((n) => [path(`M${from + n * clock} ${row(1)}V${height - SCALE}`, "line thin"), text(from + n * clock, height - 4, "label soft middle", n)]),
];

/** What ends the guess of the time: it’s held as long as it can change. @param {State} state @param {Layout} my */
function drawGuess({ guess, step, warps }, my) {
  if (step && !guess) return nothing;
  const [x, y] = [my.from + guess * my.clock, my.row(warps) + TIME + BAR / 2];
  return [
    svg`<circle class="violet knob" cx=${hundredths(x)} cy=${y} r=${KNOB} />`,
    step ? nothing : text(x + 24, y + 5, "label violet", guess ? svg`${x + 140 < my.width ? "your guess:" : ""} <tspan class="strong">${guess}</tspan>` : "drag: your guess of the time"),
  ];
}

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width, elapsed }) {
  const warps = read(state);
  const now = state.step ? Math.min(clocks(warps), elapsed / pace(warps) + START) : START;
  const filled = state.step ? clamp(0, (elapsed - lasts(warps)) / FILL, 1) : 0;
  const ran = kept(state);
  const draw = (/** @type {number} */ wide, /** @type {number} */ high, /** @type {boolean} */ paper) => {
    const my = layout(warps, wide, paper ? high + SCALE : high);
    const done = (/** @type {number} */ each) => {
      const all = paper || (each !== warps && ran.includes(each));
      return { counted: all || (each === warps && now === clocks(warps)), filled: all ? 1 : each === warps ? filled : 0 };
    };
    const rows = WARPS.map((each) => drawRow(each, paper ? { ...state, guess: 0 } : state, done(each), my));
    return [drawTracks(my), paper ? nothing : drawScale(my), drawInstructions(warps, paper ? clocks(warps) : now, paper, my), drawFunnel(my), drawNames(warps, my), warps === 1 ? drawFour(my) : nothing, rows, paper ? nothing : drawGuess(state, my)];
  };
  const { clock, from, row } = layout(warps, width, width < 600 ? LOW : HIGH);
  const hold = grip("Your guess of the time, in clocks", state.guess, (guess) => set({ guess }), { min: 0, max: MOST }, { from, to: from + MOST * clock, y: row(warps) + TIME + BAR / 2 });
  const button = (/** @type {number} */ each) =>
    html`<button type="button" aria-label=${pluralize(each, "warp")} aria-pressed=${String(each === warps)} @click=${() => set({ ...choose(state, each), step: Number(ran.includes(each)) })}></button>`;
  return html`<div class="hb-live__grips">${stage(width, says(state), draw, [LOW, HIGH])}
    <div class="hb-live__warps" role="group" aria-label="Warps">${WARPS.map(button)}</div>${width && !state.step ? hold : nothing}</div>`;
}

/** The milliseconds until the last instruction is at its clock. @param {number} warps */
const lasts = (warps) => (clocks(warps) - START) * pace(warps);

/** @type {Record<number, string[]>} what is asked before a run, what the LSU does in it, and what else to see */
const SAYS = {
  1: ["One warp leaves the LSU an eighth of its work. And the time?", "1 · (5 + 5 + 2) = 12"],
  2: ["Two warps have two results to add up. And the time?", "2 · (10 + 10 + 2) = 44", " No unit is far ahead."],
  4: ["Four warps wait for the LSU, which starts one instruction in a clock.", "4 · (11 + 11 + 2) = 96"],
  8: ["A key fills four warps, the row all eight: one shuffle more. And the time?", "8 · (11 + 12 + 2) = 200"],
};

/** @param {State} state */
function says(state) {
  const warps = read(state);
  const [asked, lsu, more = ""] = SAYS[warps];
  if (!state.step) return `${asked} Guess, then run.`;
  const guess = state.guess ? `, and you guessed ${state.guess}` : "";
  const counted = `LSU: ${lsu} clocks. ALU: 48 + ${5 * warps} = ${aluClocks(warps)}.`.replace(/ ([·+=]) /g, "\u00a0$1\u00a0"); // no line ends in a product
  return `${counted} Time: ${measured(state, warps)}${guess}.${more}`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "One query meets one key at the load-store unit",
  initial, picture, says,
  lastStep: () => 1,
  next: ({ warps }) => `Run ${pluralize(warps, "warp")}`,
  again: (state) => {
    const other = [1, 8, 2, 4].find((warps) => !kept(state).includes(warps));
    return other ? [`With ${pluralize(other, "warp")}`, choose(state, other)] : ["Again", { step: 0, guess: 0 }];
  },
  done: ({ warps }) => [4, 1, 2, 8].indexOf(warps), // in this order the caption tells of them
  meanwhile: () => "One instruction in a clock, whichever warp it comes from.",
  duration: ({ warps }) => lasts(warps) + FILL,
};

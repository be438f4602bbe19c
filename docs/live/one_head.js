// A kernel at work: its lines, the registers of one program, and the memory that it reads and writes.
import { html, nothing, svg } from "lit-html";
import { launch, LINES, loads, output, padded, programStep, range, right, source, WORDS } from "./one_head.model.js";
import { says } from "./one_head.sentences.js";
import { checkbox, shown, vector } from "./controls.js";
import { group, path, rect, stage, text } from "./strokes.js";

const start = { wrong: false, slowly: false, step: 0 };
const [BEAT, LINE] = [400, 70]; // milliseconds of a change, and of a line when a whole program runs

/** @typedef {typeof start} State */
/** @typedef {import("./one_head.model.js").Step} Step */
/** @typedef {import("./one_head.model.js").Tensor} Tensor */
/** @typedef {ReturnType<typeof layout>} Layout */
/** @typedef {ReturnType<typeof frame>} Frame */
/** @typedef {Layout["tables"][number]} Table */
/**
 * @typedef {{x: number, y: number, width: number, height: number, columns: number}} Cells one beside the other, and row
 *   below row; each is that wide and high
 */

const [PROGRAMS, KEYS, DIM] = [WORDS.q.length, WORDS.k.length, WORDS.q[0].length];
const PLACES = padded(KEYS);
const [WIDEST, LOW, HIGH] = [524, 304, 400]; // pixels of the drawing: how wide it gets, how high it is on a phone, and elsewhere

const LAUNCH = `one_head_kernel[(${PROGRAMS},)](q, k, v, out, ${WORDS.scale.toFixed(1)}, ${KEYS}, HEAD_DIM=${DIM}, ROW=${PLACES})`;

/** What each of the kernel's five steps does; the first word is in the source, too. */
const STEPS = [
  ["Load", "my query"],
  ["Score", "it against every key"],
  ["Normalize", "the row of scores"],
  ["Blend", "the values"],
  ["Store", "one row of output"],
];

/** The registers, how many numbers each has, and whose colour. @type {Record<string, [number, string]>} */
const REGISTERS = {
  column: [DIM, "soft"],
  own: [DIM, "soft"],
  place: [PLACES, "soft"],
  query: [DIM, "query"],
  key: [DIM, "key"],
  scores: [PLACES, "rose"],
  exponentials: [PLACES, "rose"],
  weights: [PLACES, "rose"],
  value: [DIM, "value"],
  output: [DIM, "ink"],
};
/** @type {[Tensor, string, string][]} */
const TABLES = [["q", "Q", "query"], ["k", "K", "key"], ["v", "V", "value"], ["out", "O", "ink"]];
/** In the code a name has the colour of the tensor that it comes from. @type {Record<string, string>} */
const COLOURS = {
  q: "query",
  query: "query",
  k: "key",
  key: "key",
  v: "value",
  value: "value",
  scores: "rose",
  exponentials: "rose",
  weights: "rose",
};
const NAMES = /(\b(?:q|query|k|key|v|value|scores|exponentials|weights|key_number)\b)/;

/** @param {Omit<State, "step">} state */
const all = ({ wrong, slowly }) => launch(WORDS, wrong, slowly);
/** @param {Omit<State, "step">} state */
const last = (state) => all(state).length - 1;
/** The step that ends a program. @param {number} program @param {Omit<State, "step">} state */
const end = (program, state) => all(state).map((step) => step.program).lastIndexOf(program);
/** Those that only count places have no boxes. @param {string} name */
const bare = (name) => REGISTERS[name][1] === "soft";
/** How far a change is; it slows down to its end. @param {number} elapsed */
const eased = (elapsed) => 1 - (1 - Math.min(1, Math.max(0, elapsed / BEAT))) ** 3;

/**
 * What to draw so many milliseconds into a step; numbers arrive first, and what is made of them follows. A whole
 * program shows its lines.
 * @param {State} state @param {number} [elapsed]
 */
function frame(state, elapsed = Infinity) {
  const steps = all(state);
  const [step, before] = [steps[state.step], steps[Math.max(0, state.step - 1)]];
  if (step.all && elapsed < Infinity) {
    const sofar = programStep(before, step.program, step.all.slice(0, 1 + Math.floor(elapsed / LINE)));
    return { step: sofar, before, first: 1, second: 1, replay: true };
  }
  return { step, before, first: eased(elapsed), second: eased(elapsed - BEAT), replay: false };
}

/**
 * Where the numbers go: memory is beside the registers, or below them on a phone.
 * @param {number} width @param {number} tall
 */
function layout(width, tall) {
  const small = tall === LOW;
  const [left, cell] = small ? [98, { width: 42, height: 26 }] : [110, { width: 46, height: 34 }];
  const box = { width: small ? width - 2 : 304, height: small ? 210 : tall - 2 };
  const right = box.width - (small ? 8 : 10) - DIM * cell.width; // where the second of two registers begins
  /** @type {Record<string, [number, number]>} */
  const places = small
    ? {
        column: [left, 6],
        own: [right, 6],
        query: [left, 30],
        key: [right, 30],
        place: [left, 58],
        scores: [left, 78],
        exponentials: [left, 109],
        weights: [left, 140],
        value: [left, 171],
        output: [right, 171],
      }
    : {
        column: [left, 8],
        own: [250, 8],
        query: [left, 36],
        key: [left, 82],
        place: [left, 126],
        scores: [left, 150],
        exponentials: [left, 196],
        weights: [left, 242],
        value: [left, 306],
        output: [left, 352],
      };
  const registers = Object.fromEntries(
    Object.entries(places).map(([name, [x, y]]) => [
      name,
      {
        ...cell,
        ...(bare(name) && { height: 22, width: name === "place" ? cell.width : 24 }),
        x,
        y,
        columns: REGISTERS[name][0],
        left: x === left,
      },
    ]),
  );
  const apart = (width - 252) / 3;
  const tables = TABLES.map(([tensor, letter, look], i) => {
    const [x, y] = [
      { q: 25, k: 71 + apart, v: 117 + 2 * apart, out: 169 + 3 * apart }[tensor],
      1 + (i * (tall - 80)) / 3,
    ];
    const at = small
      ? { x, y: 237, width: { q: 23, k: 23, v: 26, out: 41 }[tensor], height: 22, title: [x, 230] }
      : { x: 402, y, width: 44, height: 26, title: [352, y + 19] };
    return { tensor, letter, look, columns: DIM, ...at };
  });
  return { small, box, registers, tables };
}

/** The middle of a cell. @param {Cells} cells @param {number} i @returns {[number, number]} */
const middle = ({ x, y, width, height, columns }, i) => [
  x + ((i % columns) + 0.5) * width,
  y + (Math.floor(i / columns) + 0.5) * height,
];

/** A row's boxes. @param {Cells} cells @param {number} row @param {string} look @param {number} [opacity] */
const boxes = ({ x, y, width, height, columns }, row, look, opacity) => {
  const [top, lines] = [
    y + row * height,
    range(columns - 1).map((i) => `M${x + (i + 1) * width} ${y + row * height}v${height}`),
  ];
  return path(
    `M${x} ${top}h${columns * width}v${height}h${-columns * width}z${lines.join("")}`,
    `thin ${look}`,
    opacity,
  );
};

/**
 * A number, its middle there.
 * @param {[number, number]} at @param {number} number @param {string} look @param {number} [opacity]
 */
const written = ([x, y], number, look, opacity) => text(x, y + 5.5, `cell middle ${look}`, shown(number, 2), opacity);

/** A cell's ground. @param {Cells} cells @param {[number, number]} at @param {string} look */
const ground = ({ width, height }, [x, y], look) => rect(x - width / 2, y - height / 2, width, height, look);

/** It's there once the program has written it. @param {string} name @param {Frame} now @param {Layout} at */
function drawRegister(name, { step, before, first, second }, at) {
  const [cells, look] = [at.registers[name], REGISTERS[name][1]];
  const { x, y, width, height, columns, left } = cells;
  const writing = step.moments.find(({ writes }) => writes.includes(name));
  const made = writing?.touch ? Number(first === 1) : step.moments.some(({ touch }) => touch) ? second : first;
  const [now, old] = [step.held[name], before.program === step.program ? before.held[name] : undefined];
  if (!now) return nothing;
  const read = !writing && step.moments.some(({ reads }) => reads.includes(name));
  /** @param {number[] | undefined} numbers @param {string} as @param {number} opacity */
  const row = (numbers, as, opacity) =>
    opacity ? numbers?.map((number, i) => written(middle(cells, i), number, as, opacity)) : nothing;
  const born = old || writing?.touch ? 1 : made;
  const title = text(
    left ? 12 : x - 8,
    y + height / 2 + 5,
    `small ${left ? "" : "end"} ${look}`,
    name,
    writing ? born : 1,
  );
  if (bare(name))
    return [
      title,
      rect(x, y, columns * width, height, look, writing ? 0.16 * made : 0),
      row(now, "soft", writing ? made : 1),
    ];
  return [
    title,
    rect(x, y, columns * width, height, look, writing ? made : read ? 0.16 : 0),
    boxes(cells, 0, `${look} ${look === "rose" ? "dashes" : ""}`, writing ? born : 1), // rose is never written to memory
    writing ? [row(old, "ink", 1 - (writing.touch ? first : made)), row(now, "paper", made)] : row(now, "ink", 1),
  ];
}

/**
 * A dot for each load of a row; the last is new.
 * @param {Table} table @param {number} row @param {number} count @param {boolean} fresh @param {boolean} small
 */
function drawDots({ x, y, width, height, columns }, row, count, fresh, small) {
  const [apart, r] = small ? [6, 2.5] : [9, 3];
  const lines = count > PROGRAMS ? [-4, 4] : [0]; // twice as many where a wrong address touches two rows
  return range(count).map(
    (i) => svg`<circle class="fill ${fresh && i === count - 1 ? "violet" : "soft"}" r=${r}
    cx=${x + columns * width + 7 + (i % PROGRAMS) * apart} cy=${y + (row + 0.5) * height + lines[Math.floor(i / PROGRAMS)]} />`,
  );
}

/** @param {Table} table @param {Frame} now @param {Layout} at */
function drawTable(table, { step, before, first }, { small }) {
  const { tensor, letter, look, x, y, height, title } = table;
  const stored = tensor === "out";
  const touched = step.moments.flatMap(({ touch }) => (touch?.tensor === tensor ? touch.places : []));
  const lit = stored && first < 1 ? [] : touched; // what is stored has yet to arrive
  const numbers = stored ? output(WORDS, touched.length > lit.length ? before : step) : WORDS[tensor].flat();
  const wrong = (/** @type {number} */ i, /** @type {number} */ number) =>
    stored && Math.abs(number - right(WORDS, Math.floor(i / DIM))[i % DIM]) > 5e-3;
  return [
    text(title[0], title[1], `${look} strong`, letter),
    range(numbers.length / DIM).map((row) => [
      boxes(table, row, numbers[row * DIM] === null ? "dashes soft" : look),
      small && tensor !== "q" ? nothing : text(x - 6, y + (row + 0.5) * height + 5, "small end soft", `+${row * DIM}`),
      stored
        ? nothing
        : drawDots(
            table,
            row,
            loads(step, tensor, row, DIM),
            touched.some((i) => Math.floor(i / DIM) === row),
            small,
          ),
    ]),
    lit.map((i) => ground(table, middle(table, i), look)),
    numbers.map((number, i) => {
      const look = `${lit.includes(i) ? "paper" : "ink"} ${number !== null && wrong(i, number) ? "forgot" : ""}`;
      return number === null ? nothing : written(middle(table, i), number, look);
    }),
  ];
}

/**
 * The numbers on their way between memory and a register, and the wire that they took.
 * @param {Frame} now @param {Layout} at
 */
function drawWay({ step, first, replay }, { small, box, registers, tables }) {
  const touch = step.moments.find((moment) => moment.touch)?.touch;
  if (!touch) return nothing;
  const [register, look, out] = [registers[touch.register], REGISTERS[touch.register][1], touch.tensor === "out"];
  const table = tables.find(({ tensor }) => tensor === touch.tensor) ?? tables[0];
  const heights = new Set(touch.places.map((i) => middle(table, i)[1])); // two of them if it touches two rows
  const wires = small ? nothing : [...heights].map((height) => {
    const ends = [[box.width + 3, middle(register, 0)[1]], [table.title[0] - 5, height]];
    const [[x, y], [toX, toY]] = out ? ends : ends.reverse();
    const [bend, tip] = [(toX - x) / 2, Math.sign(x - toX) * 7];
    return path(`M${x} ${y}C${x + bend} ${y} ${toX - bend} ${toY} ${toX} ${toY}m${tip} -5l${-tip} 5l${tip} 5`, look);
  });
  const flying = touch.numbers.map((number, c) => {
    const ends = [middle(register, c), middle(table, touch.places[c])];
    const [from, to] = out ? ends : ends.reverse();
    /** @type {[number, number]} */
    const here = [from[0] + (to[0] - from[0]) * first, from[1] + (to[1] - from[1]) * first];
    return [ground(table, here, look), written(here, number, "paper")];
  });
  return [wires, first < 1 && !replay ? flying : nothing];
}

/** @param {Frame} now @param {Layout} at @param {boolean} paper */
function draw(now, at, paper) {
  const over = now.step.moments.some(({ line }) => line === LINES.store);
  const kept = over && !paper ? 1 - 0.75 * now.second : 1; // first the row goes out, then the rest is forgotten
  const names = Object.keys(REGISTERS);
  return [
    svg`<rect class="stroke ink" x="1" y="1" width=${at.box.width} height=${at.box.height} />`,
    names.map((name) => group(name === "output" ? 1 : kept, drawRegister(name, now, at))),
    at.tables.map((table) => drawTable(table, now, at)),
    drawWay(now, at),
  ];
}

/** @param {Step} step */
function described(step) {
  const registers = Object.keys(REGISTERS)
    .filter((name) => step.held[name])
    .map((name) => `${name} ${vector(step.held[name])}`);
  const out = output(WORDS, step).map((number) => (number === null ? "nothing" : shown(number, 2)));
  return `Registers of program ${step.program}: ${registers.join(", ") || "empty"}. The output in memory: ${out.join(", ")}.`;
}

/**
 * A line with its names in colour, and behind a loop's head the turn it's in.
 * @param {string} line @param {boolean} bug @param {number} turn
 */
const coloured = (line, bug, turn) => html`<code>${line.split(NAMES).map((part, i) => {
  const look = bug && part === "key_number" ? "bug" : COLOURS[part];
  return i % 2 && look ? html`<span class=${look}>${part}</span>` : part;
})}${turn < 0 ? nothing : html` <span class="turn">now ${turn}</span>`}</code>`;

/** The five steps; the one that runs shows its lines. @param {boolean} wrong @param {Step} step */
function code(wrong, { moments }) {
  const [now, turn] = [moments.map(({ line }) => line), moments[0]?.turn ?? 0];
  const loop = [LINES.keys, LINES.values].find((head) => now.some((line) => line === head + 1 || line === head + 2));
  let i = -1;
  return html`<ol class="hb-live__code" aria-label="The kernel, step by step">${source(wrong).map((lines, number) => {
    const [name, what] = STEPS[number];
    const from = i + 1;
    const items = lines.map((line) => {
      i += 1;
      const named = coloured(line.replace(/ +#.*/, "").trim(), wrong && i === LINES.key, i === loop ? turn : -1);
      const look = now.includes(i) ? "now" : i === loop ? "head" : "";
      const indent = `--indent: ${line.search(/\S/)}`;
      return html`<li class=${look} aria-current=${now.includes(i) ? "step" : "false"} style=${indent}>${named}</li>`;
    });
    const open = now.length ? now[0] >= from && now[0] <= i : number === 0;
    const does = html`<p class="hb-live__does"><b>${name}</b> <span>${what}</span></p>`;
    return html`<li class=${open ? "open" : ""}>${does}<ol>${items}</ol></li>`;
  })}</ol>`;
}

/**
 * A click on a program runs it to its end, and one more starts it again.
 * @param {State} state @param {(change: Partial<State>) => void} set @param {Frame} frame
 */
function programs(state, set, { step: now, replay }) {
  const buttons = range(PROGRAMS).map((program) => {
    const [over, here] = [state.step >= end(program, state), program === now.program];
    const press = () => set({ step: over && here && !program ? 1 : end(program, state) });
    const running = here && (replay || (state.step && !over));
    const status = running ? "running" : over ? "done" : "waiting";
    return html`<button type="button" aria-pressed=${String(here)} @click=${press}>program ${program}<small>${status}</small></button>`;
  });
  return html`<div class="hb-live__programs" role="group" aria-label="Programs">${buttons}</div>`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width, elapsed }) {
  const [now, done] = [frame(state, elapsed), frame({ ...state, step: last(state) })];
  const drawn = (/** @type {number} */ wide, /** @type {number} */ high, /** @type {boolean} */ paper) =>
    draw(paper ? done : now, layout(wide, high), paper);
  return html`<div class="hb-live__kernel">
    <p class="hb-live__launch"><code>${LAUNCH}</code></p>
    ${programs(state, set, now)}<span class="hb-live__memory soft" aria-hidden="true">memory</span>
    ${code(state.wrong, now.step)}
    <div class="hb-live__machine">${stage(width, described(now.step), drawn, [LOW, HIGH], WIDEST)}</div>
  </div>`;
}

/** @param {State} state */
function lasts(state) {
  const { moments, all: lines } = all(state)[state.step];
  if (lines) return LINE * lines.length;
  return moments[0].line === LINES.store ? 2 * BEAT : BEAT;
}

/** What the button for the next step says. @param {State} state */
function next(state) {
  const { program } = all(state)[state.step];
  if (state.step < end(program, state)) return "Next line";
  return `${state.slowly ? "Start" : "Run"} program ${program + 1}`;
}

/** @param {State} state */
function meanwhile(state) {
  const { program, all: lines } = all(state)[state.step];
  return lines && `Program ${program} runs the same lines, with its own query.`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set */
function more({ wrong }, set) {
  const walk = () => set({ slowly: true, step: end(0, { wrong, slowly: true }) + 1 });
  return html`${checkbox("forget * HEAD_DIM in a key’s address", wrong, (wrong) => set({ wrong }))}
    <button type="button" @click=${walk}>Program 1, line by line</button>`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "A kernel at work, line by line", start, picture, more, lasts, next, meanwhile,
  steps: last,
  says: (state) => says(WORDS, state.wrong, all(state)[Math.min(state.step, last(state))]),
  again: ({ wrong }) => [wrong ? "Fix the address" : "Forget * HEAD_DIM", { wrong: !wrong, step: wrong ? 0 : 4 }],
  done: ({ wrong }) => !wrong,
};

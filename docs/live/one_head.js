// A kernel at work: its lines, the registers of one program, and the memory that it reads and writes.
import { html, nothing, svg } from "lit-html";
import { launch, LINES, loads, output, padded, programStep, range, right, source, WORDS } from "./one_head.model.js";
import { says } from "./one_head.sentences.js";
import { checkbox, formatNumber as shown, vector } from "./controls.js";
import { group, path, rect, stage, text } from "./strokes.js";

const start = { wrong: false, slowly: false, step: 0 };
const [BEAT, LINE] = [400, 70]; // milliseconds of a change, and of a line when a whole program runs
const LIT = 0.24; // how much colour the ground has of what is being written

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
// Pixels of the drawing: from which width on memory is beside the registers, how wide it gets where it is below them,
// how high it is on a phone, and elsewhere.
const [ROOMY, WIDEST, LOW, HIGH] = [860, 560, 308, 340];

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
/** What stands before a name that says too little. @type {Record<string, string>} */
const PLAIN = { column: "number", own: "my places", place: "per key" };
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
/**
 * Lines that need two changes: a product before its sum, a row that goes out before the rest is forgotten.
 * @param {import("./one_head.model.js").Moment} moment
 */
const twice = ({ line }) => line === LINES.score || line === LINES.add || line === LINES.store;
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
 * Where the numbers go: rows with a number for each column on the left, rows with one for each key on the right, and
 * memory beside them; where there is no room for that, one below the other.
 * @param {number} room @param {number} tall
 */
function layout(room, tall) {
  const small = room < ROOMY;
  const width = small ? Math.min(room, WIDEST) : room;
  const phone = tall === LOW;
  const box = { width: small ? width - 2 : width - 309, height: !small ? tall - 2 : phone ? 214 : 246 };
  const cell = {
    width: Math.min(66, small ? (width - 182) / 4 : (box.width - 308) / 6),
    height: !small ? 38 : phone ? 24 : 28,
  };
  const left = small ? 98 : 128;
  const right = box.width - (small ? 8 + DIM * cell.width : 20 + PLACES * cell.width);
  const { height } = cell;
  const below = range(4).map((i) => 54 + 2 * height + i * (height + 4)); // the rows below the places
  /** @type {Record<string, [number, number]>} */
  const places = small
    ? {
        column: [left, 4],
        own: [box.width - 58, 4],
        query: [left, 27],
        key: [left, 29 + height],
        place: [left, 33 + 2 * height],
        scores: [left, below[0]],
        exponentials: [left, below[1]],
        weights: [left, below[2]],
        value: [left, below[3]],
        output: [right, below[3]],
      }
    : {
        column: [left, 10],
        own: [left, 34],
        query: [left, 66],
        key: [left, 122],
        place: [right, 66],
        scores: [right, 90],
        exponentials: [right, 152],
        weights: [right, 214],
        value: [left, 214],
        output: [left, 284],
      };
  const registers = Object.fromEntries(
    Object.entries(places).map(([name, [x, y]]) => {
      const narrow = small && bare(name) && name !== "place";
      const title = small ? (x === left ? 12 : 0) : x === left ? 18 : right - 98;
      const size = { ...cell, ...(bare(name) && { height: 20 }), ...(narrow && { width: 24 }) };
      return [name, { ...size, x, y, columns: REGISTERS[name][0], title }];
    }),
  );
  const apart = (width - 252) / 3;
  const tables = TABLES.map(([tensor, letter, look], i) => {
    const [x, y] = [
      { q: 25, k: 71 + apart, v: 117 + 2 * apart, out: 169 + 3 * apart }[tensor],
      small ? box.height + 28 : 1 + (i * (tall - 80)) / 3,
    ];
    const at = small
      ? { x, y, width: { q: 23, k: 23, v: 26, out: 41 }[tensor], height: (tall - y - 1) / KEYS, title: [x, y - 7] }
      : { x: width - 197, y, width: 48, height: 26, title: [width - 257, y + 19] };
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

/**
 * A cell's ground.
 * @param {Cells} cells @param {[number, number]} at @param {string} look @param {number} [opacity]
 */
const ground = ({ width, height }, [x, y], look, opacity) =>
  rect(x - width / 2, y - height / 2, width, height, look, opacity);

/**
 * A number on its way, part of it done, on the ground of where it goes.
 * @param {Cells} cells @param {[number, number][]} ends @param {number} part @param {number} number
 * @param {string} look
 */
function flying(cells, [from, to], part, number, look) {
  /** @type {[number, number]} */
  const here = [from[0] + (to[0] - from[0]) * part, from[1] + (to[1] - from[1]) * part];
  return [ground(cells, here, "paper"), ground(cells, here, look, LIT), written(here, number, "ink")];
}

/** What a register is called. @param {string} name @param {Layout} at @param {string} look */
function drawName(name, { small, registers }, look) {
  const { x, y, height, title } = registers[name];
  const plain = PLAIN[name] && (!small || name === "own");
  return text(
    title || x - 8,
    y + height / 2 + 5,
    `${small || bare(name) ? "small" : "cell"} ${title ? "" : "end"} ${look}`,
    plain ? [`${PLAIN[name]} `, svg`<tspan class="code">${name}</tspan>`] : name,
  );
}

/** An empty outline until the program has written it. @param {string} name @param {Frame} now @param {Layout} at */
function drawRegister(name, { step, before, first, second }, at) {
  const [cells, look] = [at.registers[name], REGISTERS[name][1]];
  const { x, y, width, height, columns } = cells;
  const [now, old] = [step.held[name], before.program === step.program ? before.held[name] : undefined];
  if (!now) return bare(name) ? nothing : [drawName(name, at, "soft"), boxes(cells, 0, "line")];
  const writing = step.moments.find(({ writes }) => writes.includes(name));
  const later = (writing && twice(writing)) || step.moments.some(({ touch }) => touch);
  const made = writing?.touch ? Number(first === 1) : later ? second : first;
  const read = !writing && step.moments.some(({ reads }) => reads.includes(name));
  const arriving = writing?.line === LINES.score && made < 1 ? writing.turn : -1; // it's on its way to this place
  /** @param {number[] | undefined} numbers @param {number} opacity */
  const row = (numbers, opacity) =>
    opacity
      ? numbers?.map((number, i) =>
          i === arriving && numbers === now
            ? nothing
            : written(middle(cells, i), number, bare(name) ? "soft" : "ink", opacity),
        )
      : nothing;
  if (bare(name))
    return [
      drawName(name, at, "soft"),
      rect(x, y, columns * width, height, look, writing ? 0.16 * made : 0),
      row(now, writing ? made : 1),
    ];
  const born = old || writing?.touch ? 1 : made;
  const fill = look === "rose" ? "rose-fill" : look;
  return [
    drawName(name, at, look),
    rect(x, y, columns * width, height, fill, writing ? LIT * made : read ? LIT / 3 : 0),
    // Rose is never written to memory.
    boxes(cells, 0, `${look} ${look === "rose" ? "dashes" : ""}`, writing ? born : 1),
    writing ? [row(old, 1 - (writing.touch ? first : made)), row(now, made)] : row(now, 1),
  ];
}

/**
 * Query times key, and the sum on its way to its place; a value times its weight, on its way into the output.
 * @param {Frame} now @param {Layout} at
 */
function drawSums({ step: { moments, held }, first, second }, { small, registers }) {
  const moment = moments[moments.length - 1];
  if (!moment || !twice(moment) || moment.touch) return nothing;
  const { query, key, scores, weights, value, output } = registers;
  const [x, above] = [key.x + DIM * key.width + 10, key.y + key.height];
  if (moment.line === LINES.score) {
    const products = held.query.map((number, c) => number * held.key[c]);
    const score = held.scores[moment.turn];
    const sums = held.query.map((number, c) => `${shown(number)} · ${shown(held.key[c])}`).join(" + ");
    /** @type {[number, number]} */
    const sum = small ? [x + 126, key.y - 1] : [x + 30, above + 19];
    const signs = (query.y + query.height + key.y) / 2 + 5;
    const arriving = flying(scores, [sum, middle(scores, moment.turn)], second, score, "rose-fill");
    return [
      small
        ? [text(sum[0] - 8, sum[1] + 5.5, "small end rose", `${sums} =`, first)]
        : products.map((product, c) => [
            text(middle(key, c)[0], signs, "small middle soft", "×", first),
            written([middle(key, c)[0], sum[1]], product, "rose", first),
            text(c ? key.x + c * key.width : x + 4, sum[1] + 5.5, "small middle soft", c ? "+" : "=", first),
          ]),
      first < 1 ? nothing : [second < 1 ? arriving : nothing, written(sum, score, "rose strong")],
    ];
  }
  const weight = held.weights[moment.turn];
  const from = middle(weights, moment.turn);
  /** @type {[number, number]} */
  const to = small ? middle(value, 0) : [x + 20, middle(value, 0)[1]];
  const still = small ? nothing : [text(x - 5, to[1] + 5.5, "small soft", "×"), written(to, weight, "rose strong")];
  const sums = (value.y + value.height + output.y) / 2 + 5.5;
  return [
    first < 1 ? flying({ ...weights, width: 40 }, [from, to], first, weight, "rose-fill") : still,
    small
      ? nothing
      : held.value.map((number, c) =>
          text(middle(value, c)[0], sums, "cell middle soft", `+ ${shown(weight * number, 2)}`, second),
        ),
  ];
}

/**
 * How often a row was loaded, as a bar with its length; the last load is new, and in the end the rows with most loads
 * stand out.
 * @param {Table} table @param {number} row @param {number} count @param {boolean} fresh @param {boolean} most
 * @param {boolean} small
 */
function drawLoads({ x, y, width, height, columns }, row, count, fresh, most, small) {
  if (!count) return nothing;
  const [left, middle] = [x + columns * width + (small ? 5 : 9), y + (row + 0.5) * height];
  const look = most ? "violet strong" : fresh && small ? "violet" : "soft";
  return [
    small
      ? nothing
      : range(count).map((i) => {
          const look = most || (fresh && i === count - 1) ? "violet" : "soft";
          return rect(left + 11 * i, middle - 6, 9, 12, look);
        }),
    text(left + (small ? 0 : 11 * count + 3), middle + 5, `small ${look}`, `${count}×`),
  ];
}

/**
 * @param {Table} table @param {Frame} now @param {Layout} at
 * @param {number} most loads of a row, once the last program is done
 */
function drawTable(table, { step, before, first }, { small }, most) {
  const { tensor, letter, look, x, y, height, title } = table;
  const stored = tensor === "out";
  const touched = step.moments.flatMap(({ touch }) => (touch?.tensor === tensor ? touch.places : []));
  const lit = stored && first < 1 ? [] : touched; // what is stored has yet to arrive
  const numbers = stored ? output(WORDS, touched.length > lit.length ? before : step) : WORDS[tensor].flat();
  const wrong = (/** @type {number} */ i, /** @type {number} */ number) =>
    stored && Math.abs(number - right(WORDS, Math.floor(i / DIM))[i % DIM]) > 5e-3;
  return [
    text(title[0], title[1], `${look} strong`, letter),
    lit.map((i) => ground(table, middle(table, i), look, LIT)),
    range(numbers.length / DIM).map((row) => {
      const [count, center] = [stored ? 0 : loads(step, tensor, row, DIM), y + (row + 0.5) * height];
      const fresh = touched.some((i) => Math.floor(i / DIM) === row);
      return [
        boxes(table, row, numbers[row * DIM] === null ? "dashes soft" : look),
        small && tensor !== "q" ? nothing : text(x - 6, center + 5, "small end soft", `+${row * DIM}`),
        drawLoads(table, row, count, fresh, count === most, small),
      ];
    }),
    numbers.map((number, i) => {
      if (number === null) return nothing;
      const look = `${lit.includes(i) ? "strong" : ""} ink ${wrong(i, number) ? "forgot" : ""}`;
      return written(middle(table, i), number, look);
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
  const numbers = touch.numbers.map((number, c) => {
    const ends = [middle(register, c), middle(table, touch.places[c])];
    return flying(table, out ? ends : ends.reverse(), first, number, look);
  });
  return [wires, first < 1 && !replay ? numbers : nothing];
}

/** @param {Frame} now @param {Layout} at @param {boolean} paper */
function draw(now, at, paper) {
  const over = now.step.moments.some(({ line }) => line === LINES.store);
  const kept = over && !paper ? 1 - 0.75 * now.second : 1; // first the row goes out, then the rest is forgotten
  const ended = over && now.step.program === PROGRAMS - 1 && !now.replay;
  /** @type {Tensor[]} */
  const shared = ["k", "v"];
  const counts = shared.flatMap((tensor) => range(KEYS).map((row) => loads(now.step, tensor, row, DIM)));
  const names = Object.keys(REGISTERS);
  const { x, width, title } = at.tables[0];
  return [
    at.small
      ? nothing
      : [text(title[0], -14, "small soft", "memory"), text(x + DIM * width + 9, -14, "small soft", "loads")],
    svg`<rect class="stroke ink" x="1" y="1" width=${at.box.width} height=${at.box.height} />`,
    names.map((name) => group(name === "output" ? 1 : kept, drawRegister(name, now, at))),
    drawSums(now, at),
    at.tables.map((table) => drawTable(table, now, at, ended ? Math.max(...counts) : 0)),
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
  const alone = state.step < end(0, state) ? "alone" : "";
  return html`<div class="hb-live__programs ${alone}" role="group" aria-label="Programs">${buttons}</div>`;
}

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width, elapsed }) {
  const [now, done] = [frame(state, elapsed), frame({ ...state, step: last(state) })];
  const drawn = (/** @type {number} */ wide, /** @type {number} */ high, /** @type {boolean} */ paper) =>
    draw(paper ? done : now, layout(wide, high), paper);
  return html`<div class="hb-live__kernel">
    ${code(state.wrong, now.step)}
    ${programs(state, set, now)}
    <div class="hb-live__machine">${stage(width, described(now.step), drawn, [LOW, HIGH])}</div>
  </div>`;
}

/** @param {State} state */
function lasts(state) {
  const { moments, all: lines } = all(state)[state.step];
  if (lines) return LINE * lines.length;
  return twice(moments[0]) ? 2 * BEAT : BEAT;
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
  return html`<p class="soft">Started with <code>${LAUNCH}</code></p>
    ${checkbox("forget * HEAD_DIM in a key’s address", wrong, (wrong) => set({ wrong }))}
    <button type="button" @click=${walk}>Program 1, line by line</button>`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "A kernel at work, line by line", initial: start, picture, more, duration: lasts, next, meanwhile,
  lastStep: last,
  says: (state) => says(WORDS, state.wrong, all(state)[Math.min(state.step, last(state))]),
  again: ({ wrong }) => [wrong ? "Fix the address" : "Forget * HEAD_DIM", { wrong: !wrong, step: wrong ? 0 : 4 }],
  done: ({ wrong }) => !wrong,
};

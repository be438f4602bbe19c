// A kernel at work: its lines, the registers of one program, and the memory that it reads and writes.
import { html, nothing, svg } from "lit-html";
import { after, launch, LINES, loads, range, right, run, source, WORDS, written } from "./kernel.model.js";
import { told } from "./kernel.told.js";
import { shown, tick, vector } from "./parts.js";
import { group, path, rect, short, stage, text } from "./strokes.js";

const start = { wrong: false, step: 0 };
const [BEAT, LINE] = [400, 70]; // milliseconds of a change, and of a line when a whole program runs

/** @typedef {typeof start} S */
/** @typedef {import("./kernel.model.js").Step} Step */
/** @typedef {import("./kernel.model.js").Tensor} Tensor */
/** @typedef {ReturnType<typeof layout>} Layout */
/** @typedef {ReturnType<typeof frame>} Frame */
/** @typedef {{x: number, y: number, width: number, height: number}} Box of one number */

const [PROGRAMS, KEYS, DIM] = [WORDS.q.length, WORDS.k.length, WORDS.q[0].length];
const PLACES = 2 ** Math.ceil(Math.log2(KEYS));
const [WIDEST, LOW, HIGH] = [464, 300, 438]; // pixels of the drawing: beside the code it's as wide, on a phone as low, elsewhere as high as the code

const LAUNCH = `one_head_kernel[(${PROGRAMS},)](q, k, v, out, ${WORDS.scale.toFixed(1)}, ${KEYS}, HEAD_DIM=${DIM}, ROW=${PLACES})`;

/** The registers, how many numbers each has, and whose colour. @type {Record<string, [number, string]>} */
const REGISTERS = {
  own: [DIM, "soft"], column: [DIM, "soft"], place: [PLACES, "soft"], query: [DIM, "query"], key: [DIM, "key"], scores: [PLACES, "rose"],
  exponentials: [PLACES, "rose"], weights: [PLACES, "rose"], value: [DIM, "value"], output: [DIM, "ink"],
};
/** @type {[Tensor, string, string][]} */
const TABLES = [["q", "Q", "query"], ["k", "K", "key"], ["v", "V", "value"], ["out", "O", "ink"]];
/** In the code a name has the colour of the tensor that it comes from. @type {Record<string, string>} */
const COLOURS = { q: "query", query: "query", k: "key", key: "key", v: "value", value: "value", scores: "rose", exponentials: "rose", weights: "rose" };

/** @param {boolean} wrong */
const last = (wrong) => launch(WORDS, wrong).length - 1;
/** The step that ends a program. @param {number} program @param {boolean} wrong */
const end = (program, wrong) => last(wrong) - (PROGRAMS - 1 - program);
/** How far a change is; it slows down to its end. @param {number} t */
const eased = (t) => 1 - (1 - Math.min(1, Math.max(0, t / BEAT))) ** 3;

/** What to draw t milliseconds into a step; numbers arrive first, and what is made of them follows. A whole program shows its lines. @param {S} state @param {number} [t] */
function frame({ wrong, step: k }, t = Infinity) {
  const steps = launch(WORDS, wrong);
  const [step, before] = [steps[k], steps[Math.max(0, k - 1)]];
  if (step.program && t < Infinity) {
    const all = run(WORDS, step.program, wrong).slice(0, 1 + Math.floor(t / LINE));
    return { step: after(before, step.program, all, all.slice(-1)), before, first: 1, second: 1, replay: true };
  }
  return { step, before, first: eased(t), second: eased(t - BEAT), replay: false };
}

/** Where the numbers go: memory is beside the registers, or below them on a phone. @param {number} width @param {number} tall */
function layout(width, tall) {
  const small = tall === LOW;
  const [cell, high] = small ? [38, 24] : [40, 28];
  const names = small ? [["own", "column"], ["place"], ["query", "key"], ["scores"], ["exponentials"], ["weights"], ["value", "output"]] : Object.keys(REGISTERS).map((name) => [name]);
  const [left, pitch, top] = small ? [98, 28, 9] : [104, (tall - 26) / 10, 18];
  const box = { width: small ? width - 2 : 274, height: small ? 209 : tall - 2 };
  const columns = [left, box.width - 8 - DIM * cell];
  const registers = Object.fromEntries(names.flatMap((row, y) => row.map((name, i) => [name, { x: columns[i], y: top + y * pitch, name: i ? columns[1] - 8 : 12 }])));
  const tables = TABLES.map(([tensor, letter, look], i) => {
    const wide = { q: 23, k: 23, v: 26, out: 41 }[tensor];
    const y = 1 + (i * (tall - 77)) / 3;
    const apart = (width - 252) / 3;
    const x = { q: 25, k: 71 + apart, v: 117 + 2 * apart, out: 169 + 3 * apart }[tensor];
    return small ? { tensor, letter, look, x, y: 232, width: wide, height: 22, title: { x, y: 226 } }
      : { tensor, letter, look, x: 364, y, width: 36, height: 25, title: { x: 317, y: y + 19 } };
  });
  return { small, cell, high, box, registers, tables };
}

/** A row of boxes. @param {number} x @param {number} y @param {number} width @param {number} height @param {number} count @param {string} look @param {number} [opacity] */
const boxes = (x, y, width, height, count, look, opacity) =>
  path(`M${x} ${y}h${count * width}v${height}h${-count * width}z${range(count - 1).map((i) => `M${x + (i + 1) * width} ${y}v${height}`).join("")}`, `thin ${look}`, opacity);

/** Numbers in such a row. @param {number} x @param {number} y @param {number} width @param {number} height @param {number[]} row @param {string} look @param {number} [opacity] */
const inside = (x, y, width, height, row, look, opacity) =>
  row.map((number, i) => text(x + (i + 0.5) * width, y + height / 2 + 5.5, `cell middle ${look}`, shown(number, 2), opacity));

/** @param {string} name @param {Frame} f @param {Layout} at */
function drawRegister(name, { step, before, first, second }, at) {
  const [{ x, y, name: left }, [count, look]] = [at.registers[name], REGISTERS[name]];
  const writing = step.moments.find(({ writes }) => writes.includes(name));
  const made = writing?.touch ? Number(first === 1) : step.moments.some(({ touch }) => touch) ? second : first;
  const [now, old] = [step.held[name], before.program === step.program ? before.held[name] : undefined];
  const read = !writing && step.moments.some(({ reads }) => reads.includes(name));
  const row = (/** @type {number[] | undefined} */ numbers, /** @type {string} */ as, /** @type {number} */ opacity) => (numbers && opacity ? inside(x, y, at.cell, at.high, numbers, as, opacity) : nothing);
  return [
    text(left, y + at.high / 2 + 5, `small ${left < x && left > 12 ? "end" : ""} ${look}`, name),
    rect(x, y, count * at.cell, at.high, look, writing ? made : read ? 0.16 : 0),
    boxes(x, y, at.cell, at.high, count, `${look} ${now && look !== "rose" ? "" : "dashes"}`, now ? 1 : 0.45),
    writing ? [row(old, "ink", 1 - (writing.touch ? first : made)), row(now, "paper", made)] : row(now, "ink", 1),
  ];
}

/** @param {Layout["tables"][number]} table @param {Frame} f @param {Layout} at */
function drawTable({ tensor, letter, look, x, y, width, height, title }, { step, before, first }, at) {
  const arriving = step.moments.some(({ touch }) => touch?.tensor === "out") && first < 1;
  const numbers = tensor === "out" ? written(WORDS, arriving ? before : step) : WORDS[tensor].flat();
  const touched = step.moments.flatMap(({ touch }) => (touch?.tensor === tensor ? touch.places : []));
  const wanted = tensor === "out" ? range(PROGRAMS).flatMap((program) => right(WORDS, program)) : numbers;
  const place = (/** @type {number} */ i) => ({ x: x + (i % DIM) * width, y: y + Math.floor(i / DIM) * height });
  return [
    text(title.x, title.y, `${look} strong`, letter),
    range(numbers.length / DIM).map((row) => [
      boxes(x, y + row * height, width, height, DIM, `${look} ${numbers[row * DIM] === null ? "dashes soft" : ""}`),
      at.small && tensor !== "q" ? nothing : text(x - 6, y + (row + 0.5) * height + 5, "small end soft", `+${row * DIM}`),
      tensor === "out" ? nothing : range(loads(step, tensor, row, DIM)).map((i, _, { length }) => svg`<circle class="fill ${i === length - 1 && touched.some((each) => Math.floor(each / DIM) === row) ? "violet" : "soft"}" cx=${x + DIM * width + 7 + (i % PROGRAMS) * (at.small ? 6 : 9)} cy=${y + (row + 0.5) * height + (length > PROGRAMS ? (i < PROGRAMS ? -4 : 4) : 0)} r=${at.small ? 2.5 : 3} />`),
    ]),
    touched.filter(() => !arriving).map((i) => rect(place(i).x, place(i).y, width, height, look)),
    numbers.map((number, i) => {
      if (number === null) return nothing;
      const wrong = Math.abs(number - Number(wanted[i])) > 5e-3;
      return text(place(i).x + width / 2, place(i).y + height / 2 + 5.5, `cell middle ${touched.includes(i) && !arriving ? "paper" : "ink"} ${wrong ? "forgot" : ""}`, shown(number, 2));
    }),
  ];
}

/** The numbers on their way between memory and a register, and the wire that they took. @param {Frame} f @param {Layout} at */
function drawWay({ step, first, replay }, at) {
  const touch = step.moments.find((moment) => moment.touch)?.touch;
  if (!touch) return nothing;
  const [register, out] = [at.registers[touch.register], touch.tensor === "out"];
  const table = at.tables.find(({ tensor }) => tensor === touch.tensor) ?? at.tables[0];
  const look = REGISTERS[touch.register][1];
  const rows = [...new Set(touch.places.map((i) => Math.floor(i / DIM)))];
  const wires = at.small ? nothing : rows.map((row) => {
    const ends = [[at.box.width + 3, register.y + at.high / 2], [table.title.x - 5, table.y + (row + 0.5) * table.height]];
    const [[x, y], [toX, toY]] = out ? ends : ends.reverse();
    const [bend, tip] = [(toX - x) / 2, Math.sign(x - toX) * 7];
    return path(`M${x} ${y}C${x + bend} ${y} ${toX - bend} ${toY} ${toX} ${toY}m${tip} -5l${-tip} 5l${tip} 5`, look);
  });
  const flying = touch.numbers.map((number, c) => {
    const inside = [register.x + (c + 0.5) * at.cell, register.y + at.high / 2];
    const outside = [table.x + ((touch.places[c] % DIM) + 0.5) * table.width, table.y + (Math.floor(touch.places[c] / DIM) + 0.5) * table.height];
    const [from, to] = out ? [inside, outside] : [outside, inside];
    const [x, y] = from.map((place, axis) => place + (to[axis] - place) * first);
    return [rect(x - table.width / 2, y - table.height / 2, table.width, table.height, look), text(x, y + 5.5, "cell middle paper", shown(number, 2))];
  });
  return [wires, first < 1 && !replay ? flying : nothing];
}

/** @param {Frame} f @param {Layout} at @param {boolean} paper */
function draw(f, at, paper) {
  const over = f.step.moments.some(({ line }) => line === LINES.store);
  const kept = over && !paper ? 1 - 0.75 * f.second : 1; // first the row goes out, then the rest is forgotten
  const names = Object.keys(REGISTERS);
  return [
    svg`<rect class="stroke ink" x="1" y="1" width=${at.box.width} height=${at.box.height} />`,
    names.map((name) => group(name === "output" ? 1 : kept, drawRegister(name, f, at))),
    at.tables.map((table) => drawTable(table, f, at)),
    drawWay(f, at),
  ];
}

/** @param {Step} step */
function described({ program, held, moments, touched }) {
  const registers = Object.keys(REGISTERS).filter((name) => held[name]).map((name) => `${name} ${vector(held[name])}`);
  const out = written(WORDS, { program, held, moments, touched }).map((number) => (number === null ? "nothing" : shown(number, 2)));
  return `Registers of program ${program}: ${registers.join(", ") || "empty"}. The output in memory: ${out.join(", ")}.`;
}

/** A line with its names in colour, and behind a loop's head the turn it's in. @param {string} line @param {boolean} bug @param {number} turn */
const coloured = (line, bug, turn) => html`<code>${line.split(/(\b(?:q|query|k|key|v|value|scores|exponentials|weights|key_number)\b|#.*)/).map((part, i) => {
  const look = part[0] === "#" ? "soft" : bug && part === "key_number" ? "bug" : COLOURS[part];
  return i % 2 && look ? html`<span class=${look}>${part}</span>` : part;
})}${turn < 0 ? nothing : html` <span class="turn">now ${turn}</span>`}</code>`;

/** @param {boolean} wrong @param {Step} step */
function code(wrong, { moments }) {
  const [now, turn] = [moments.map(({ line }) => line), moments[0]?.turn ?? 0];
  const loop = [LINES.keys, LINES.values].find((head) => now.some((line) => line === head + 1 || line === head + 2));
  const first = Math.min(loop ?? Math.max(0, (now[0] ?? 0) - 1), LINES.values); // of the six that a phone shows
  let i = -1;
  return html`<ol class="hb-live__code" aria-label="The kernel, line by line">${source(wrong).flatMap((lines) => lines.map((line, place) => {
    i += 1;
    const look = `${place ? "" : "begins"} ${now.includes(i) ? "now" : ""} ${i < first ? "far" : ""}`;
    return html`<li class=${look} aria-current=${now.includes(i) ? "step" : "false"} style=${`--indent: ${line.search(/\S/)}`}>${coloured(line.trim(), wrong && i === LINES.key, i === loop ? turn : -1)}</li>`;
  }))}</ol>`;
}

/** A click on a program runs it to its end, and one more starts it again. @param {S} state @param {(change: Partial<S>) => void} set @param {Frame} frame */
const programs = ({ step, wrong }, set, { step: now, replay }) => html`<div class="hb-live__programs" role="group" aria-label="Programs">${range(PROGRAMS).map((program) => {
  const [over, here] = [step >= end(program, wrong), program === now.program];
  const press = () => set({ step: over && here && !program ? 1 : end(program, wrong) });
  return html`<button type="button" aria-pressed=${String(here)} @click=${press}>program ${program}<small>${here && (replay || (step && !over)) ? "running" : over ? "done" : "waiting"}</small></button>`;
})}</div>`;

/** @param {S} state @param {(change: Partial<S>) => void} set @param {import("./frame.js").At} at */
function picture(state, set, { width, t }) {
  const [now, done] = [frame(state, t), frame({ ...state, step: last(state.wrong) })];
  const drawn = (/** @type {number} */ wide, /** @type {number} */ high, /** @type {boolean} */ paper) => draw(paper ? done : now, layout(wide, high), paper);
  return html`<div class="hb-live__kernel">
    <p class="hb-live__launch"><code>${LAUNCH}</code></p>
    ${programs(state, set, now)}<span class="hb-live__memory soft" aria-hidden="true">memory</span>
    ${code(state.wrong, now.step)}
    <div class="hb-live__machine">${stage(width, described(now.step), drawn, [LOW, HIGH], WIDEST)}</div>
  </div>`;
}

/** @param {S} state */
function lasts({ step, wrong }) {
  const { program, moments } = launch(WORDS, wrong)[step];
  if (program) return LINE * run(WORDS, program, wrong).length;
  return moments.some(({ touch }) => touch) && (moments.length > 1 || moments[0].line === LINES.store) ? 2 * BEAT : BEAT;
}

/** @param {S} state @param {(change: Partial<S>) => void} set */
const more = ({ wrong }, set) => tick("forget * HEAD_DIM in a key’s address", wrong, (wrong) => set({ wrong }));

/** @type {import("./frame.js").Piece<S>} */
export default {
  title: "A kernel at work, line by line", start, picture, more, lasts,
  steps: ({ wrong }) => last(wrong),
  told: ({ step, wrong }) => told(WORDS, wrong, step),
  next: ({ step, wrong }) => (step < end(0, wrong) ? "Next line" : `Run program ${step - end(0, wrong) + 1}`),
  again: ({ wrong }) => [wrong ? "Fix the address" : "Forget * HEAD_DIM", { wrong: !wrong, step: wrong ? 0 : 4 }],
  done: ({ wrong }) => !wrong,
};

// One program of a grid: its rows, its addresses, its mask, and the sectors that a load of one of its warps touches.
import { html, nothing, svg } from "lit-html";
import { among, menu, number, shown, slider, table, textField } from "./parts.js";
import { cost, lanes, loads, program, sectors } from "./program.model.js";

const start = { rows: "2500", stride: 1, program: 2, load: 0, bytes: "4" };

/** @typedef {typeof start} S */

const SECTOR = 32; // bytes
const STRIDES = [1, 2, 4, 8, 16, 32];
/** @type {[string, string][]} */
const TYPES = [["2", "2 bytes: FP16"], ["4", "4 bytes: FP32"], ["8", "8 bytes: two FP32"], ["16", "16 bytes: four FP32"]];

/** What the state says, as numbers. @param {S} state */
function read(state) {
  const rows = number("Rows", state.rows, { least: 1, most: 10000, whole: true });
  const stride = number("Stride", String(state.stride), { least: 1, most: 32, whole: true });
  const bytes = Number(among("A lane takes", state.bytes, TYPES.map(([bytes]) => bytes)));
  const last = program(rows, stride, 0).programs - 1;
  const within = (/** @type {number} */ value, /** @type {number} */ most) => Math.max(0, Math.min(most, Math.round(value)));
  const [id, load] = [within(state.program, last), within(state.load, loads - 1)];
  return { rows, stride, bytes, id, last, load, own: program(rows, stride, id), asked: lanes(rows, stride, id, load) };
}

/** "1 sector", "4 sectors" @param {number} count @param {string} name */
const several = (count, name) => `${shown(count)} ${name}${count === 1 ? "" : "s"}`;
const percent = (/** @type {number} */ share) => `${shown(100 * share, 1)} %`;

/** The warp's lanes above, and below them the sectors that travel, with what is wanted of each. @param {ReturnType<typeof read>} now */
function drawing({ asked, bytes }) {
  const travelling = sectors(asked, bytes);
  const slot = 54 / (SECTOR / bytes);
  const lane = (/** @type {{reads: boolean}} */ { reads }, /** @type {number} */ index) => svg`
    <rect class=${reads ? "query fill" : "soft stroke thin"} x=${index * 15 + 1.5} y="20" width="12" height="12" />
    ${reads ? nothing : svg`<path class="soft stroke thin" d="M${index * 15 + 1.5} 32 l12 -12" />`}`;
  const sector = (/** @type {{lanes: number[], places: number[]}} */ { lanes, places }, /** @type {number} */ index) => {
    const [x, y] = [(index % 8) * 60.5, 66 + Math.floor(index / 8) * 46];
    const who = lanes.length === 1 ? lanes[0] : `${lanes[0]}–${lanes[lanes.length - 1]}`;
    return svg`<text class="small soft" x=${x} y=${y + 12}>${who}</text>
      <rect class="soft stroke thin" x=${x + 0.5} y=${y + 18} width="54" height="16" />
      ${places.map((place) => svg`<rect class="query fill" x=${x + 1 + place * slot} y=${y + 18.5} width=${slot - 1} height="15" />`)}`;
  };
  return html`<svg viewBox="0 0 480 248" role="img" aria-label="The 32 lanes of a warp, crossed out where they are masked off, and each sector that travels, filled where a lane wants something of it.">
    <text class="small ink" x="0" y="12">32 lanes, ${bytes} bytes each</text>
    ${asked.map(lane)}
    <text class="small ink" x="0" y="54">${travelling.length ? "sectors that travel, and for which lanes" : "no sector travels"}</text>
    ${travelling.map(sector)}
  </svg>`;
}

/** The lines of the kernel, with what they come to in this program. @param {ReturnType<typeof read>} now */
function lines({ rows, stride, id, load, own, asked }) {
  const all = (/** @type {number} */ from, /** @type {number} */ to) => `${from}, …, ${to}`;
  const [first, last] = [asked[0], asked[asked.length - 1]];
  return table("The lines of the kernel in this program", ["", `program ${id}`], [
    ["rows, stride", `${rows}, ${stride}`],
    ["programs", `${stride} · ${own.perColumn} = ${own.programs}`],
    ["column", `${id} div ${own.perColumn} = ${own.column}`],
    ["first_row", `(${id} mod ${own.perColumn}) · 1024 = ${own.firstRow}`],
    ["row", all(own.firstRow, own.lastRow)],
    ["row < rows", `${own.read} True, ${own.masked} False`],
    [`load ${load}: row`, all(first.row, last.row)],
    ["addresses", `x + ${first.address}, …, ${last.address}`],
  ]);
}

/** The same load at other strides; the one that was chosen stands among them. @param {ReturnType<typeof read>} now */
function strides({ rows, stride, bytes, load, own }) {
  const all = [...new Set([...STRIDES, stride])].sort((a, b) => a - b);
  const costs = all.map((other) => cost(lanes(rows, other, own.firstRow / 1024, load), bytes));
  const name = (/** @type {number} */ other) => (other === stride ? html`<b>${other}</b>` : other);
  return table("The same load at other strides", ["stride", ...all.map(name)], [
    ["sectors", ...costs.map(({ fetched }) => fetched / SECTOR)],
    ["used, %", ...costs.map(({ used }) => shown(100 * used, 1))],
  ]);
}

/** @param {S} state */
const picture = (state) => drawing(read(state));

/** @param {S} state */
const numbers = (state) => html`${strides(read(state))} ${lines(read(state))}`;

/** @param {S} state @param {(change: Partial<S>) => void} set */
const primary = (state, set) => slider("Stride", read(state).stride, (stride) => set({ stride }), { min: 1, max: 32 });

/** @param {S} state @param {(change: Partial<S>) => void} set */
function more(state, set) {
  const now = read(state);
  return html`
    ${menu("A lane takes", String(now.bytes), (bytes) => set({ bytes }), TYPES)}
    ${slider("Program", now.id, (id) => set({ program: id }), { min: 0, max: now.last })}
    ${slider("Which of its 32 loads", now.load, (load) => set({ load }), { min: 0, max: loads - 1 })}
    ${textField("Rows", state.rows, (rows) => set({ rows }), 6)}`;
}

/** @param {S} state */
function told(state) {
  const now = read(state);
  const { wanted, fetched, used } = cost(now.asked, now.bytes);
  const reading = now.asked.filter(({ reads }) => reads).length;
  if (!reading) return "All 32 lanes are behind the last row, so the mask is False for each of them and nothing travels.";
  const who = reading === 32 ? "The 32 lanes" : `${32 - reading} of the 32 lanes are masked off. The others`;
  const what = `${who} want ${wanted} bytes and touch ${several(fetched / SECTOR, "sector")}`;
  if (used === 1) return `${what}, and every byte there is wanted: the load is coalesced.`;
  return `${what}, so ${fetched} bytes travel and we use ${percent(used)} of them.`;
}

/** @type {import("./frame.js").Piece<S>} */
export default { title: "From a program's number to the sectors it touches", start, picture, numbers, primary, more, told };

// The clocks of a pair as one bar: in it, hollow, what each unit works. What no unit explains is hatched.
import { nothing, svg } from "lit-html";
import { group, hatch, path, rect, text } from "./strokes.js";

export const MOST = 137; // clocks, as wide as the picture
const [LANE, GAP] = [36, 6]; // pixels: of a unit's bar, and around it
export const HIGH = 4 * (LANE + GAP) + GAP; // of the bar
const ROOM = 900; // pixels, from which there's room for what a unit's work is for
const OUT = 4; // by which what is hollow begins left of the picture, which hides its edge there

/**
 * A unit's work: its name, its parts in clocks, each with what it's for, and how much of it is there, up to 1.
 * @typedef {{name: string, parts: [number, string][], there: number, before?: number}} Unit
 */

/** The two that the page begins with; FP32 units do more than the products. @param {number} width @returns {Unit[]} */
export const suspects = (width) => [
  { name: width < ROOM ? "memory" : "memory, at most", parts: [[16, ""]], there: 1 },
  { name: width < ROOM ? "FP32" : "multiplying 2, FP32 in all", parts: [[2, ""], [22, ""]], there: 1 },
];

/** @param {Unit} unit */
export const total = ({ parts }) => parts.reduce((sum, [clocks]) => sum + clocks, 0);

/**
 * The bar, which takes so many clocks, with its units.
 * @param {Unit[]} units @param {number} clocks @param {number} width
 */
export function drawBar(units, clocks, width) {
  const clock = width / MOST;
  const known = Math.max(...units.map((unit) => total(unit) * unit.there));
  return [
    rect(0, 0, width, HIGH, "track"),
    rect(0, 0, clocks * clock, HIGH, "violet"),
    path(hatch(known * clock, clocks * clock, 0, HIGH), "paper thin", 0.4),
    units.map((unit, lane) => drawUnit(unit, GAP + lane * (LANE + GAP), clock)),
    text(clocks * clock - 12, GAP + LANE + GAP + LANE / 2 - 8, "total paper halo end", svg`<tspan class="strong">${Math.round(clocks)}</tspan> clocks`),
  ];
}

/** @param {Unit} unit @param {number} y @param {number} clock pixels */
function drawUnit(unit, y, clock) {
  const { name, parts, there, before = 0 } = unit;
  const end = total(unit) * there * clock;
  if (!there) return nothing;
  let from = 0;
  const drawn = parts.map(([clocks, title], i) => {
    const [left, wide] = [from * there * clock, clocks * there * clock];
    from += clocks;
    const words = svg`<tspan class="strong">${clocks}</tspan> ${wide > 150 ? svg`<tspan class=${title.startsWith("tl.") ? "code" : ""}>${title}</tspan>` : ""}`;
    return [
      i ? path(`M${left} ${y + 1}v${LANE - 2}`, "paper") : nothing,
      title && wide > 40 ? text(left + 10, y + LANE / 2 + 5, "paper label", words, there) : nothing,
    ];
  });
  const words = svg`${name} <tspan class="strong">${Math.round(total(unit))}</tspan>`;
  return [
    before > total(unit) ? path(`M${end} ${y + 1}H${before * clock}v${LANE - 2}H${end}`, "paper dashes") : nothing,
    rect(-OUT, y + 1, Math.max(0, end + OUT - 1), LANE - 2, "paper hollow"),
    drawn,
    group(there, text(Math.max(end, before * clock) + 10, y + LANE / 2 + 5, "paper halo", words)),
  ];
}

/** The load-store unit's work and the ALU's, in little room without what they're for. @param {number} width */
export const names = (width) => (width < ROOM ? ["LSU", "ALU"] : ["loads and sums, LSU", "passes and loops, ALU"]);

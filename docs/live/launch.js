// A loop takes its six turns, and a launch deals the same six to as many SMs as the reader drags, side by side.
import { html, nothing, svg } from "lit-html";
import { grip, pluralize, requireInteger } from "./controls.js";
import { path, rect, stage, text } from "./strokes.js";

const initial = { sms: 3, step: 0 }; // step: how often it was launched
const QUERIES = 6; // and as many turns, programs and, at the most, SMs
const WORDS = ["one", "two", "three", "four", "five", "six"];
const PACE = 350; // milliseconds for a turn
/** From launch to launch, which program is dealt first, second and so on: a GPU promises no order. */
const ORDERS = [[0, 1, 2, 3, 4, 5], [2, 5, 0, 4, 1, 3], [4, 0, 3, 5, 2, 1], [1, 3, 5, 0, 4, 2]];
const [LANE, GAP, HEAD, NAMES] = [24, 4, 48, 52]; // pixels: of a lane, below it, between loop and launch, left of both
const [RAIL, STOP, KNOB, EDGE] = [160, 32, 10, 22]; // where the grip’s rail begins, to its next stop, its radius, half a finger
const [TOP, AXIS] = [LANE + HEAD, LANE + HEAD / 2]; // the first SM’s lane, and the middle of the rail
const FOOT = TOP + QUERIES * (LANE + GAP); // of the last
const HEIGHT = FOOT + 18; // with when it’s done

/** @typedef {typeof initial} State */
/** @typedef {{query: number, sm: number, turn: number}} Program which query is whose, where it runs, and in which turn */

/** When the launch is done, in turns, and its programs as they’re dealt. @param {State} state */
function deal(state) {
  const sms = requireInteger("SMs", state.sms, 1, QUERIES);
  const step = requireInteger("Launches", state.step, 0, Infinity);
  const order = ORDERS[Math.max(0, step - 1) % ORDERS.length];
  const programs = order.map((query, i) => ({ query, sm: i % sms, turn: Math.floor(i / sms) }));
  return { sms, step, programs, turns: Math.ceil(QUERIES / sms) };
}

/** The middle of a stop on the rail. @param {number} width @param {number} sms */
const stop = (width, sms) => RAIL + (sms - 1) * Math.min(STOP, (width - EDGE - RAIL) / (QUERIES - 1));

/** The rail, a stop for each number of SMs, and what is held. @param {number} width @param {number} sms */
function drawRail(width, sms) {
  const [from, at, to] = [1, sms, QUERIES].map((each) => stop(width, each));
  return [
    path(`M${from} ${AXIS}H${to}`, "line"),
    path(`M${from} ${AXIS}H${at}`, "ink"),
    WORDS.map((_, i) => svg`<circle class="fill ${i < sms ? "ink" : "grey"}" cx=${stop(width, i + 1)} cy=${AXIS} r="3" />`),
    svg`<circle class="ink knob" cx=${at} cy=${AXIS} r=${KNOB} />`,
  ];
}

/** A line at the end of the launch, with its turns beside it, where there’s room. @param {number} x @param {number} turns */
function drawDone(x, turns) {
  const [away, side] = turns < 3 ? [8, ""] : [-8, "end"];
  const words = svg`done after <tspan class="strong">${turns}</tspan> turn${turns > 1 ? "s" : ""}`;
  return [path(`M${x} ${TOP - 4}V${HEIGHT}`, "ink"), text(x + away, HEIGHT - 2, `label ink ${side}`, words)];
}

/** @param {State} state @param {(change: Partial<State>) => void} set @param {import("./frame.js").Canvas} canvas */
function picture(state, set, { width, elapsed }) {
  const { sms, step, programs, turns } = deal(state);
  const draw = (/** @type {number} */ wide, /** @type {number} */ _, /** @type {boolean} */ paper) => {
    const now = paper ? QUERIES : step && Math.min(QUERIES, elapsed / PACE);
    const x = (/** @type {number} */ turn) => NAMES + (turn * (wide - NAMES - 1)) / QUERIES;
    const wideAs = (/** @type {number} */ turn) => Math.max(0, x(Math.min(turn + 1, now)) - x(turn) - 1);
    const number = (/** @type {number} */ query, /** @type {number} */ turn, /** @type {number} */ y, /** @type {string} */ look) =>
      text((x(turn) + x(turn + 1)) / 2, y + LANE - 7, `label strong middle ${look}`, query);
    const lanes = WORDS.slice(0, sms).map((_, sm) => {
      const y = TOP + sm * (LANE + GAP);
      return [rect(x(0), y, x(QUERIES) - x(0), LANE, "track"), text(0, y + LANE - 7, "label ink", `SM ${sm}`)];
    });
    return [
      text(0, LANE - 7, "label ink strong", "loop"),
      text(0, AXIS + 5, "label ink", svg`<tspan class="strong">launch</tspan> on ${pluralize(sms, "SM")}`),
      paper ? nothing : drawRail(wide, sms),
      lanes,
      now < QUERIES ? path(`M${x(now)} 0.5H${wide - 1}V${LANE - 0.5}H${x(now)}`, "ink dashes thin") : nothing,
      WORDS.map((_, turn) => [
        now > turn ? nothing : path(`M${x(turn)} 1V${LANE}`, "ink dashes thin"),
        now > turn ? rect(x(turn), 0, wideAs(turn), LANE, "ink") : nothing,
        number(turn, turn, 0, now - turn > 0.5 ? "paper" : "ink"),
      ]),
      programs.map(({ query, sm, turn }) => {
        const y = TOP + sm * (LANE + GAP);
        return [
          now > turn ? rect(x(turn), y, wideAs(turn), LANE, "ink program") : nothing,
          now - turn > 0.5 ? number(query, turn, y, "paper") : nothing,
        ];
      }),
      now ? nothing : text(x(QUERIES / 2), TOP + (sms * (LANE + GAP) - GAP) / 2 + 7, "question ink middle", "When is it done?"),
      now >= turns ? drawDone(x(turns), turns) : nothing,
    ];
  };
  const place = { from: stop(width, 1), to: stop(width, QUERIES), y: AXIS };
  const hold = grip("SMs", sms, (sms) => set({ sms }), { min: 1, max: QUERIES }, place);
  const known = step && elapsed === Infinity ? `, done after ${pluralize(turns, "turn")}` : "";
  const label = `A loop of six turns, and a launch of six programs on ${pluralize(sms, "SM")}${known}.`;
  return html`<div class="hb-live__grips">${stage(width, label, draw, [HEIGHT, HEIGHT])}${width ? hold : nothing}</div>`;
}

/** @param {State} state @param {(change: (state: State) => Partial<State>) => void} set */
function primary(state, set) {
  const press = () => set(({ step }) => ({ step: step + 1 }));
  return html`<button type="button" class="hb-live__main" @click=${press}>${state.step ? "Launch again" : "Launch"}</button>`;
}

/** @param {State} state @param {State} previous */
function says(state, previous) {
  const { sms, step, turns } = deal(state);
  const idle = sms * turns - QUERIES;
  if (!step) return `Six queries, ${WORDS[sms - 1]} SM${sms > 1 ? "s" : ""}. Drag for more or fewer, then launch.`;
  if (step > 1 && previous.sms === sms) return "Another order, the same result: a GPU promises no order.";
  if (idle) return `On ${sms} SMs it’s ${turns} turns, as on 3. In the last, ${pluralize(idle, "SM")} had nothing to do.`;
  const ends = turns < QUERIES ? `done after ${pluralize(turns, "turn")}. The loop takes ${QUERIES}.` : `${turns} turns, just like the loop.`;
  return `Six programs on ${pluralize(sms, "SM")}: ${ends}`;
}

/** @type {import("./frame.js").Piece<State>} */
export default {
  title: "A loop and a launch", initial, picture, primary, says,
  meanwhile: () => "The loop takes all six turns.",
  duration: () => QUERIES * PACE,
  done: ({ step }) => step > 0,
};

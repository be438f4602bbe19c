// What all live pieces share and no browser is needed for: the state, the sentence and the buttons around a drawing.
import { html, nothing } from "lit-html";

/** A value that a piece cannot take: its message is shown beside the piece, which stays as it was. */
export class Refused extends Error {}

/**
 * A state is a plain object with the keys of `start`. The page, the address and the reader each set some of them; all
 * else that is shown is worked out from it.
 * @typedef {Record<string, string | number | boolean>} State
 */

/**
 * What a control sets; a function is given the state that it changes, in which another field may hold what was refused.
 * @template {State} S
 * @typedef {Partial<S> | ((state: S) => Partial<S>)} Change
 */

/**
 * A piece. Its module exports one by default and touches no browser: the build draws the first state with it.
 * @template {State} S
 * @typedef {object} Piece
 * @property {string} title what the gallery calls it
 * @property {S} start the state where nothing else is asked for
 * @property {(state: S, set: (change: Change<S>) => void) => unknown} view the controls and the drawing
 * @property {(state: S, earlier: S) => string} told what has just happened, in a sentence; the state before it, if that helps
 * @property {(state: S) => number} [steps] the last value of `state.step`; a piece that has it can be stepped and played
 */

/**
 * What the frame's buttons do; a drawing made by the build has none.
 * @typedef {{set: (change: any) => void, play: () => void, reset: () => void, link: () => void, playing: boolean, linked: string}} Buttons
 */

/**
 * A state from what was asked for as text; all else is as in `start`.
 * @template {State} S
 * @param {Piece<S>} piece @param {Record<string, string>} asked @param {S} [start] @returns {S}
 */
export function stateFrom(piece, asked, start = piece.start) {
  const entries = Object.entries(asked).map(([name, text]) => {
    if (!(name in start)) throw new Refused(`There is no ${name}; there are ${Object.keys(start).join(", ")}.`);
    return [name, typed(start[name], name, text)];
  });
  return within(piece, { ...start, ...Object.fromEntries(entries) });
}

/**
 * The state with a step that the piece has: a shorter row has fewer.
 * @template {State} S
 * @param {Piece<S>} piece @param {S} state @returns {S}
 */
export function within(piece, state) {
  const last = piece.steps?.(state);
  return last === undefined ? state : { ...state, step: Math.min(Math.max(Math.round(Number(state.step)), 0), last) };
}

/** `text` as the type of `like` @param {unknown} like @param {string} name @param {string} text */
function typed(like, name, text) {
  if (typeof like === "string") return text;
  if (typeof like === "boolean") return text === "true";
  if (text.trim() === "" || Number.isNaN(Number(text))) throw new Refused(`${name}: “${text}” is no number.`);
  return Number(text);
}

/** A sentence in which no line ends between a number and its unit. @param {string} text */
const unbroken = (text) => text.split(/(\d\S* (?:%|[kKMGTPE]?i?B\b))/).map((part, i) => (i % 2 ? html`<span class="hb-live__unbroken">${part}</span>` : part));

/**
 * The whole of a piece.
 * @template {State} S
 * @param {Piece<S>} piece @param {S} state @param {S} earlier @param {Buttons | null} buttons
 */
export function whole(piece, state, earlier, buttons) {
  const { set, play, reset, link, playing, linked } = buttons ?? { set() {}, play() {}, reset() {}, link() {}, playing: false, linked: "" };
  const last = piece.steps?.(state) ?? 0;
  const step = Number(state.step ?? 0);
  const go = (/** @type {number} */ to) => set({ step: Math.min(Math.max(to, 0), last) });
  // A button at its end stays a button: one that is disabled would lose the keyboard's focus.
  const steps = html`
    <button type="button" aria-disabled=${String(step <= 0)} @click=${() => go(step - 1)}>Back</button>
    <button type="button" aria-disabled=${String(step >= last)} @click=${() => go(step + 1)}>Step</button>
    <button type="button" aria-disabled=${String(step >= last)} @click=${play}>${playing ? "Pause" : "Play"}</button>
    <span>${step} of ${last}</span>`;
  return html`
    <div class="hb-live__view">${piece.view(state, set)}</div>
    <p class="hb-live__told">${unbroken(piece.told(state, earlier))}</p>
    <div class="hb-live__buttons ${piece.steps ? "steps" : ""}">
      ${piece.steps ? steps : nothing}
      <button type="button" class="hb-live__reset" @click=${reset}>Reset</button>
      <button type="button" @click=${link}>Link to this</button>
      <span>${linked}</span>
    </div>`;
}

// What all live pieces share and no browser is needed for: the state, and the frame around a picture.
import { html, nothing } from "lit-html";

/** A value that a piece can't take: its message is shown beside the piece, which stays as it was. */
export class Refused extends Error {}

/**
 * A state is a plain object with the keys of `initial`. The page, the address and the reader each set some of them;
 * everything else on the screen follows from it.
 * @typedef {Record<string, string | number | boolean>} State
 */

/**
 * What a control sets; a function is given the state that it changes, in which another field may hold what was refused.
 * @template {State} S
 * @typedef {Partial<S> | ((state: S) => Partial<S>)} Change
 */

/**
 * Where and when a picture is drawn: the width in pixels, which is 0 while the build draws, and the milliseconds since
 * the step began, which are infinite once nothing moves.
 * @typedef {{width: number, elapsed: number}} Canvas
 */

/**
 * A piece. Its module exports one by default and touches no browser: the build draws the first state with it. The frame
 * puts the picture on top, below it the primary control (or Back, the next step and Play) and the sentence, and
 * everything else behind "more", which isn't there while nothing has changed and nothing else can.
 * @template {State} S
 * @typedef {object} Piece
 * @property {string} title what the gallery calls it
 * @property {S} initial the state where nothing else is asked for
 * @property {(state: S, set: (change: Change<S>) => void, canvas: Canvas) => unknown} picture what to look at, and what
 *   in it can be touched
 * @property {(state: S, canvas: Canvas, set: (change: Change<S>) => void) => unknown} [numbers] a table of what the picture shows: beside it where there is room, below
 *   the sentence on a phone
 * @property {(state: S, set: (change: Change<S>) => void) => unknown} [primary] the one control that matters most; a
 *   piece with steps has a button for the next one
 * @property {(state: S, set: (change: Change<S>) => void) => unknown} [more] all other controls
 * @property {(state: S, previous: S) => string} says what has just happened, in one sentence, there before the picture
 *   moves; e^{…} is a power, and `previous` is the state before
 * @property {(state: S) => string} [meanwhile] what it says while the picture moves, where the sentence would give away
 *   what is to be seen; empty where it doesn’t
 * @property {(state: S) => number} [lastStep] the last value of `state.step`; a piece that has it can be stepped and,
 *   where there are more than three, played
 * @property {(state: S) => string} [next] what the button for the next step says
 * @property {(state: S) => [string, Change<S>]} [again] what it says after the last step, and what it sets then;
 *   without it, "Again", and the first step
 * @property {(state: S) => number} [duration] the milliseconds that its picture moves when it comes to this step
 * @property {(state: S) => boolean} [done] whether the caption may say how it ended; without it, the last step of a piece
 *   that has steps has ended well
 */

/**
 * What the frame's buttons do; a picture drawn by the build has none.
 * @typedef {{set: (change: any) => void, go: (step: number) => void, finish: () => void, play: () => void, fold: () =>
 *   void, reset: () => void, link: () => void, playing: boolean, open: boolean, changed: boolean, ended: boolean, linked:
 *   string}} Buttons
 */

/**
 * A state from what was asked for as text; everything else is as in `initial`.
 * @template {State} S
 * @param {Piece<S>} piece @param {Record<string, string>} asked @param {S} [initial] @returns {S}
 */
export function stateFrom(piece, asked, initial = piece.initial) {
  const entries = Object.entries(asked).map(([name, text]) => {
    if (!(name in initial)) throw new Refused(`There is no ${name}; there are ${Object.keys(initial).join(", ")}.`);
    return [name, coerce(initial[name], name, text)];
  });
  return clampStep(piece, { ...initial, ...Object.fromEntries(entries) });
}

/**
 * The state with a step that the piece has: a shorter row has fewer.
 * @template {State} S
 * @param {Piece<S>} piece @param {S} state @returns {S}
 */
export function clampStep(piece, state) {
  const last = piece.lastStep?.(state);
  return last === undefined ? state : { ...state, step: Math.min(Math.max(Math.round(Number(state.step)), 0), last) };
}

/** `text` as the type of `like` @param {unknown} like @param {string} name @param {string} text */
function coerce(like, name, text) {
  if (typeof like === "string") return text;
  if (typeof like === "boolean") return text === "true";
  if (text.trim() === "" || Number.isNaN(Number(text))) throw new Refused(`${name}: “${text}” is no number.`);
  return Number(text);
}

/** A sentence with its powers raised, in which no line ends between a number and its unit. @param {string} text */
export const typeset = (text) =>
  text.split(/(e\^\{.+?\}|\d\S* (?:%|ms\b|[kKMGTPE]?i?B\b))/).map((part, i) => {
    if (i % 2 === 0) return part;
    return part.startsWith("e^")
      ? html`<i>e</i><sup>${part.slice(3, -1)}</sup>`
      : html`<span class="hb-live__unbroken">${part}</span>`;
  });

/** @type {WeakMap<State, string[]>} */
const longestOf = new WeakMap();

/**
 * The longest sentences of all steps: they stand unseen where the sentence is, which so keeps its height.
 * @template {State} S
 * @param {Piece<S>} piece @param {S} state @param {number} last
 */
function longest(piece, state, last) {
  const known = longestOf.get(state);
  if (known) return known;
  const all = Array.from({ length: last + 1 }, (_, step) => piece.says({ ...state, step }, state));
  const three = all.sort((a, b) => b.length - a.length).slice(0, 3);
  longestOf.set(state, three);
  return three;
}

/**
 * Whether a press brings what moves to its end, and nothing else: where the sentence waits for it, and in the last step.
 * @template {State} S
 * @param {Piece<S>} piece @param {S} state @param {number} elapsed
 */
export function isHeld(piece, state, elapsed) {
  return elapsed < Infinity && Boolean(piece.meanwhile?.(state) || state.step === piece.lastStep?.(state));
}

/**
 * The whole of a piece. What is behind "more" isn't drawn by the build.
 * @template {State} S
 * @param {Piece<S>} piece @param {S} state @param {S} previous @param {Canvas} canvas @param {Buttons | null} buttons
 */
export function drawPiece(piece, state, previous, canvas, buttons) {
  const { set, go, finish, play, fold, playing, open, changed, ended } =
    buttons ?? { set() {}, go() {}, finish() {}, play() {}, fold() {}, playing: false, open: false, changed: false, ended: true };
  const last = piece.lastStep?.(state);
  const step = Number(state.step);
  const [afterwards, anew] = piece.again?.(state) ?? ["Again", { step: 0 }];
  const moves = canvas.elapsed < Infinity;
  const waits = moves && piece.meanwhile?.(state);
  const text = waits || piece.says(state, previous);
  const held = isHeld(piece, state, canvas.elapsed);
  // A last step is seen before it's left.
  const next = () => (held ? finish() : step !== last ? go(step + 1) : ended && set(anew));
  const onPicture = (/** @type {Event} */ event) => /** @type {Element} */ (event.target).closest("svg") && next();
  const pressed = step === last || held ? { ...state, step: step - 1 } : state; // what runs has the button's name
  const [look, onButton] = step === last && ended ? ["quiet", afterwards] : ["", piece.next?.(pressed) ?? "Next step"];
  // A button at its end stays a button: one that is disabled would lose the keyboard's focus.
  const [back, first, name] = [() => go(step - 1), String(step === 0), playing ? "Pause" : "Play"];
  const steps = () => html`<div class="hb-live__steps">
    <button type="button" class="back" aria-label="Back" aria-disabled=${first} @click=${back}></button>
    <button type="button" class="hb-live__main ${look}" @click=${next}>${onButton}</button>
    ${last && last > 3 ? html`<button type="button" class=${name.toLowerCase()} aria-label=${name} @click=${play}></button>` : nothing}
  </div>`;
  return html`<div class="hb-live__frame"><div class="hb-live__stage">
    <div class="hb-live__picture ${last ? "steps" : ""}" @click=${last ? onPicture : nothing}>${piece.picture(state, set, canvas)}</div>
    <div class="hb-live__bar">
      ${last === undefined ? piece.primary?.(state, set) ?? nothing : steps()}
      <div class="hb-live__said">
        <p class="hb-live__says ${waits ? "soft" : ""}" aria-busy=${String(Boolean(waits))} aria-live=${playing ? "off" : "polite"} aria-atomic="true">${typeset(text)}</p>
        ${last ? longest(piece, state, last).map((text) => html`<p aria-hidden="true">${typeset(text)}</p>`) : nothing}
      </div>
      <button type="button" class="hb-live__fold ${piece.more || changed || open ? "" : "idle"}" aria-expanded=${String(open)} @click=${fold}>more</button>
    </div>
    ${buttons ? drawMore(piece, state, buttons, step, last) : nothing}
  </div>${piece.numbers ? html`<div class="hb-live__numbers">${piece.numbers(state, canvas, set)}</div>` : nothing}</div>`;
}

/**
 * What is behind "more".
 * @template {State} S
 * @param {Piece<S>} piece @param {S} state @param {Buttons} buttons @param {number} step
 * @param {number | undefined} last
 */
function drawMore(piece, state, { set, reset, link, open, linked }, step, last) {
  return html`
    <div class="hb-live__more" ?hidden=${!open}>
      ${piece.more?.(state, set) ?? nothing}
      <div class="hb-live__buttons">
        ${last ? html`<span>step ${step} of ${last}</span>` : nothing}
        <button type="button" class="hb-live__reset" @click=${reset}>Reset</button>
        <button type="button" @click=${link}>Link to this</button>
        <span role="status">${linked}</span>
      </div>
    </div>`;
}

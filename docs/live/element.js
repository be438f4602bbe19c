// <live-piece name="online_softmax" state='{"block": "2"}'>: loads the piece when it comes near, and draws it anew with
// each change.
import { nothing, render } from "lit-html";
import { clampStep, drawPiece, isHeld, Refused, stateFrom } from "./frame.js";

/** @typedef {import("./frame.js").State} State */

const NEAR = "300px 0px"; // how far outside the view a piece starts
const [PACE, READ] = [1000, 3000]; // milliseconds that a step stands still while the piece plays: one whose sentence has
// been there since the step began, and one whose sentence only comes then
const VERDICT = 600; // milliseconds that the last sentence stands before the button begins anew
const TALL = 0.8; // the part of the screen from which on a picture counts as tall: then its controls stay in sight

const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** Everything that can have the keyboard's focus. @param {HTMLElement} place */
const controls = (place) => [
  .../** @type {NodeListOf<HTMLElement>} */ (place.querySelectorAll("button, input, select, [tabindex]")),
];

/** A piece that has started. */
class PieceController {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  timer;
  frameRequest = 0; // the frame that was asked for last
  elapsed = Infinity; // milliseconds since the step began
  ended = true; // whether the last step has stood for long enough
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  ending;
  open = false; // whether "more" is
  linked = ""; // what has become of the link, until something else changes

  /** @param {HTMLElement} place @param {string} name @param {import("./frame.js").Piece<any>} piece */
  constructor(place, name, piece) {
    this.place = place;
    this.name = name;
    this.piece = piece;
    /** @type {State} what the page asks for, where Reset comes back to */
    this.first = stateFrom(piece, JSON.parse(place.getAttribute("state") ?? "{}"));
    this.state = this.previous = this.first;
    this.asked = this.first; // the state, or what was asked for last and refused
    this.width = place.clientWidth;
    this.drawing = document.createElement("div");
    this.errorLine = Object.assign(document.createElement("p"), { className: "hb-live__wrong", role: "alert" });
    this.draw();
    const focused = controls(place).findIndex((control) => control === document.activeElement);
    place.replaceChildren(this.drawing, this.errorLine);
    controls(place)[focused]?.focus({ preventScroll: true }); // the build drew the same ones in this order
    place.addEventListener("keydown", (event) => this.key(event));
    this.attempt(() => this.fromAddress());
    this.rest();
    new ResizeObserver(() => {
      if (place.clientWidth === this.width) return;
      this.width = place.clientWidth;
      this.releaseHeights();
      this.draw();
    }).observe(place);
  }

  /**
   * Where another field holds what was refused, the change is drawn without it; what is asked for keeps both, since two
   * fields may have to change before they fit each other.
   * @param {import("./frame.js").Change<State>} change
   */
  set(change) {
    const changed = (/** @type {State} */ state) =>
      /** @type {State} */ ({ ...state, ...(typeof change === "function" ? change(state) : change) });
    const asked = changed(this.asked);
    this.attempt(() => this.become(asked));
    if (this.asked === this.state) return;
    try {
      this.become(changed(this.state));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
    this.asked = asked;
  }

  /**
   * Draws that state, and lets the picture move if it is the next step; a state that is refused leaves everything as it
   * is.
   * @param {State} asked
   */
  become(asked) {
    this.asked = asked;
    const next = clampStep(this.piece, asked);
    const before = [this.state, this.previous];
    [this.state, this.previous] = [next, this.state];
    this.linked = "";
    cancelAnimationFrame(this.frameRequest);
    clearTimeout(this.ending);
    const onward = Number(next.step) === Number(this.previous.step) + 1;
    this.ended = !(onward && next.step === this.piece.lastStep?.(next));
    const duration = onward && !calm.matches ? this.piece.duration?.(next) ?? 0 : 0;
    this.elapsed = duration ? 0 : Infinity;
    try {
      this.draw();
    } catch (error) {
      [this.state, this.previous] = before;
      this.elapsed = Infinity;
      this.ended = true;
      throw error;
    }
    this.asked = next;
    if (duration) this.move(performance.now(), duration);
    else this.rest();
  }

  /** Does it, or says beside the piece why it can't be done. @param {() => void} work */
  attempt(work) {
    this.errorLine.textContent = "";
    try {
      work();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.errorLine.textContent = error.message;
    }
  }

  draw() {
    const buttons = {
      set: (/** @type {Partial<State>} */ change) => this.set(change),
      go: (/** @type {number} */ step) => this.go(step),
      finish: () => this.finish(),
      play: () => this.play(),
      fold: () => this.fold(),
      reset: () => this.reset(),
      link: () => this.link(),
      playing: this.timer !== undefined,
      open: this.open,
      changed: this.changes().length > 0,
      ended: this.ended,
      linked: this.linked,
    };
    render(
      drawPiece(this.piece, this.state, this.previous, { width: this.width, elapsed: this.elapsed }, buttons),
      this.drawing,
    );
  }

  /** One frame after the other, until the picture rests. @param {number} start @param {number} duration milliseconds */
  move(start, duration) {
    this.frameRequest = requestAnimationFrame((now) => {
      const elapsed = Math.max(0, now - start);
      this.elapsed = elapsed < duration ? elapsed : Infinity;
      this.draw();
      if (elapsed < duration) this.move(start, duration);
      else this.rest();
    });
  }

  /** At once what moves is at its end; that ends the play, too. */
  finish() {
    cancelAnimationFrame(this.frameRequest);
    this.elapsed = Infinity;
    this.pause();
    this.rest();
  }

  /** The picture stands still: the caption may say how it ended, and what has grown stays as tall as it is. */
  rest() {
    if (!this.ended)
      this.ending = setTimeout(() => {
        this.ended = true;
        this.draw();
      }, VERDICT);
    const { piece, state, drawing, place } = this;
    const last = piece.lastStep?.(state);
    const done = (last === undefined || state.step === last) && (piece.done?.(state) ?? last !== undefined);
    place.closest("figure")?.toggleAttribute("data-done", done);
    place.classList.toggle(
      "tall",
      (drawing.querySelector(".hb-live__picture")?.clientHeight ?? 0) > TALL * innerHeight,
    );
    for (const part of this.heightHeldParts())
      part.style.minHeight = `${Math.max(part.offsetHeight, parseFloat(part.style.minHeight) || 0)}px`;
  }

  /**
   * What would else push its controls and the page below it up and down: the sentence, and the picture where it has no
   * steps.
   */
  heightHeldParts() {
    const selector = this.piece.lastStep ? ".hb-live__said" : ".hb-live__said, .hb-live__picture";
    return /** @type {NodeListOf<HTMLElement>} */ (this.drawing.querySelectorAll(selector));
  }

  releaseHeights() {
    for (const part of this.heightHeldParts()) part.style.minHeight = "";
  }

  /** By hand, which ends the play. @param {number} step */
  go(step) {
    if (this.timer !== undefined) this.pause();
    this.set({ step });
  }

  /** Arrows step while a button has the focus, and leave fields and tables alone. @param {KeyboardEvent} event */
  key(event) {
    const last = this.piece.lastStep?.(this.state);
    const step = Number(this.state.step);
    const to = { ArrowRight: step + 1, ArrowLeft: step - 1, Home: 0, End: last }[event.key];
    const plain = !(event.altKey || event.ctrlKey || event.metaKey || event.shiftKey);
    if (!last || to === undefined || !plain || !(event.target instanceof HTMLButtonElement)) return;
    event.preventDefault();
    if (event.key === "ArrowRight" && isHeld(this.piece, this.state, this.elapsed)) this.finish();
    else if (to <= last) this.go(to);
  }

  play() {
    if (this.timer !== undefined) return this.pause();
    const more = () => Number(this.state.step) < (this.piece.lastStep?.(this.state) ?? 0);
    if (!more()) this.set({ step: 0 });
    const tick = () => {
      this.set({ step: Number(this.state.step) + 1 });
      if (!more() || this.asked !== this.state) this.pause(); // what was refused has no next step
      else this.timer = setTimeout(tick, (this.piece.meanwhile ? READ : PACE) + (this.piece.duration?.(this.state) ?? 0));
    };
    this.timer = setTimeout(tick, 0);
    this.draw();
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.draw();
  }

  /** What differs from the page's state. */
  changes() {
    return Object.keys(this.first).filter((key) => this.state[key] !== this.first[key]);
  }

  fold() {
    this.open = !this.open;
    this.draw();
  }

  /** Begins anew: a field may hold a text that was refused, and no change of the state would overwrite it. */
  reset() {
    this.pause();
    render(nothing, this.drawing);
    this.state = this.first; // so that nothing is said of what was there before
    this.set(this.first);
    /** @type {HTMLElement | null} */ (this.drawing.querySelector(".hb-live__reset"))?.focus({ preventScroll: true });
  }

  /** Puts what differs from the page's state into the address, and on the clipboard where that is allowed. */
  async link() {
    const asked = new URLSearchParams(location.search);
    for (const key of Object.keys(this.first)) asked.delete(`${this.name}.${key}`);
    for (const key of this.changes()) asked.set(`${this.name}.${key}`, String(this.state[key]));
    history.replaceState(null, "", `${location.pathname}${asked.size ? `?${asked}` : ""}#live-${this.name}`);
    const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    this.linked = `The address now leads here${copied ? ", and it’s copied" : ""}.`;
    this.draw();
  }

  fromAddress() {
    const own = [...new URLSearchParams(location.search)].filter(([key]) => key.startsWith(`${this.name}.`));
    const asked = Object.fromEntries(own.map(([key, text]) => [key.slice(this.name.length + 1), text]));
    if (!own.length) return;
    this.open = Object.keys(asked).some((key) => key !== "step"); // what was set is then in sight
    this.draw();
    this.become(stateFrom(this.piece, asked, this.first));
    this.finish(); // a link shows what stands still
  }
}

class LivePiece extends HTMLElement {
  connectedCallback() {
    const near = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        near.disconnect();
        this.start();
      },
      { rootMargin: NEAR },
    );
    near.observe(this);
  }

  async start() {
    const name = this.getAttribute("name") ?? "";
    new PieceController(this, name, (await import(`./${name}.js`)).default);
    this.toggleAttribute("ready", true);
  }
}

customElements.define("live-piece", LivePiece);

// <live-piece name="stream" state='{"block": "2"}'>: loads the piece when it comes near, and draws it anew with each change.
import { nothing, render } from "lit-html";
import { Refused, stateFrom, whole, within } from "./frame.js";

/** @typedef {import("./frame.js").State} State */

const NEAR = "300px 0px"; // how far outside the view a piece starts
/** All that can have the keyboard's focus. @param {HTMLElement} place */
const controls = (place) => [.../** @type {NodeListOf<HTMLElement>} */ (place.querySelectorAll("button, input, select, [tabindex]"))];
const PACE = 1000; // milliseconds a step while it plays

/** A piece that has started. */
class Running {
  /** @type {ReturnType<typeof setInterval> | undefined} */
  timer;
  linked = ""; // what has become of the link, until something else changes

  /** @param {HTMLElement} place @param {string} name @param {import("./frame.js").Piece<any>} piece */
  constructor(place, name, piece) {
    this.name = name;
    this.piece = piece;
    /** @type {State} what the page asks for, where Reset comes back to */
    this.first = stateFrom(piece, JSON.parse(place.getAttribute("state") ?? "{}"));
    this.state = this.earlier = this.first;
    this.asked = this.first; // the state, or what was asked for last and refused
    this.drawing = document.createElement("div");
    this.wrong = Object.assign(document.createElement("p"), { className: "hb-live__wrong", role: "alert" });
    this.spoken = Object.assign(document.createElement("p"), { className: "hb-live__spoken", role: "status" });
    this.draw();
    const focused = controls(place).findIndex((control) => control === document.activeElement);
    place.replaceChildren(this.drawing, this.wrong, this.spoken);
    controls(place)[focused]?.focus({ preventScroll: true }); // the drawing that was there had the same ones
    this.attempt(() => this.fromAddress());
  }

  /**
   * Where another field holds what was refused, the change is drawn without it; what is asked for keeps both, since two
   * fields may have to change before they fit each other.
   * @param {import("./frame.js").Change<State>} change
   */
  set(change) {
    const changed = (/** @type {State} */ state) => /** @type {State} */ ({ ...state, ...(typeof change === "function" ? change(state) : change) });
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

  /** Draws that state; one that is refused leaves the drawing as it is. @param {State} asked */
  become(asked) {
    this.asked = asked;
    const next = within(this.piece, asked);
    const before = [this.state, this.earlier];
    [this.state, this.earlier] = [next, this.state];
    this.linked = "";
    try {
      this.draw();
    } catch (error) {
      [this.state, this.earlier] = before;
      throw error;
    }
    this.asked = next;
    this.spoken.textContent = this.piece.told(this.state, this.earlier);
  }

  /** Does it, or says beside the piece why it cannot be done. @param {() => void} work */
  attempt(work) {
    this.wrong.textContent = "";
    try {
      work();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.wrong.textContent = error.message;
    }
  }

  draw() {
    const buttons = {
      set: (/** @type {Partial<State>} */ change) => this.set(change),
      play: () => this.play(),
      reset: () => this.reset(),
      link: () => this.link(),
      playing: this.timer !== undefined,
      linked: this.linked,
    };
    render(whole(this.piece, this.state, this.earlier, buttons), this.drawing);
  }

  play() {
    const more = () => Number(this.state.step) < (this.piece.steps?.(this.state) ?? 0);
    if (this.timer !== undefined || !more()) return this.pause();
    this.timer = setInterval(() => {
      this.set({ step: Number(this.state.step) + 1 });
      if (!more() || this.asked !== this.state) this.pause(); // what was refused has no next step
    }, PACE);
    this.draw();
  }

  pause() {
    clearInterval(this.timer);
    this.timer = undefined;
    this.draw();
  }

  /** Begins anew: a field may hold a text that was refused, and no change of the state would overwrite it. */
  reset() {
    this.pause();
    render(nothing, this.drawing);
    this.set(this.first);
    /** @type {HTMLElement | null} */ (this.drawing.querySelector(".hb-live__reset"))?.focus({ preventScroll: true });
  }

  /** Puts the state into the address, and on the clipboard where that is allowed. */
  async link() {
    const asked = new URLSearchParams(location.search);
    for (const key of Object.keys(this.first)) {
      if (this.state[key] === this.first[key]) asked.delete(`${this.name}.${key}`);
      else asked.set(`${this.name}.${key}`, String(this.state[key]));
    }
    history.replaceState(null, "", `${location.pathname}${asked.size ? `?${asked}` : ""}#live-${this.name}`);
    const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    this.linked = `The address now leads here${copied ? ", and is copied" : ""}.`;
    this.spoken.textContent = this.linked;
    this.draw();
  }

  fromAddress() {
    const own = [...new URLSearchParams(location.search)].filter(([key]) => key.startsWith(`${this.name}.`));
    const asked = Object.fromEntries(own.map(([key, text]) => [key.slice(this.name.length + 1), text]));
    if (own.length) this.become(stateFrom(this.piece, asked, this.first));
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
    new Running(this, name, (await import(`./${name}.js`)).default);
    this.toggleAttribute("ready", true);
  }
}

customElements.define("live-piece", LivePiece);

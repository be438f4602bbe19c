// A sentence that looks at itself: the build draws it, and `start` makes it answer. Words run across; on a phone they
// run down, and the same cells change places.
import { html, render, svg } from "lit-html";
import { attend, endings, features, sentence } from "./home.model.js";

/**
 * shown: the shares as they're drawn, on their way from one row to the next
 * blended: those that the output is drawn with   grown: how far the ribbons have grown, up to 1
 * event: what has just happened   said: whether the sentence says so yet
 * @typedef {{ending: string, asker: number, event: "start" | "swap" | "pick", said: boolean, shown: number[],
 *   blended: number[], grown: number}} State
 */
/** @typedef {{pick: (asker: number) => void, swap: () => void}} Answers */

const MOVE = 400; // milliseconds
const TOTAL_PER_WORD = 10; // of each word's four numbers together
const HIDDEN_SHARE = 0.05; // below it a share is drawn, and its number stays unseen
const RIBBONS_ABOVE = { length: 860, room: 150, down: false }; // where they lie above the words
const RIBBONS_BESIDE = { length: 440, room: 56, down: true }; // and beside the words, on a phone

/** @param {string} ending */
const indexOfIt = (ending) => sentence(ending).findIndex(({ word }) => word === "it");
/** @param {string} ending */
const otherEnding = (ending) => endings[1 - endings.indexOf(ending)];
/** @param {number} share */
const percent = (share) => `${Math.round(100 * share)} %`;
/** @param {number} x @param {number} [digits] */
const signed = (x, digits = 0) => x.toFixed(digits).replace("-", "−");
/** @param {number[]} vector */
const list = (vector) => vector.map((x) => signed(x)).join(", ");
/** @param {number[]} from @param {number[]} to @param {number} part */
const mix = (from, to, part) => to.map((x, i) => from[i] + part * (x - from[i]));

/** @returns {State} */
function first() {
  const asker = indexOfIt(endings[0]);
  const { shares } = attend(sentence(endings[0]), asker);
  return { ending: endings[0], asker, event: "start", said: true, shown: shares, blended: shares, grown: 1 };
}

/**
 * The outline of a ribbon to each word, as wide as its share. All leave side by side: together they're the whole.
 * @param {number[]} shares @param {number} asker @param {{length: number, room: number, down: boolean}} where
 * @param {number} grown
 */
export function ribbons(shares, asker, { length, room, down }, grown) {
  const place = (/** @type {number} */ along, /** @type {number} */ up) =>
    (down ? [room - up, along] : [along, room - up]).map((x) => Number(x.toFixed(1))).join(" ");
  const step = length / shares.length;
  const whole = Math.min(60, 0.8 * step);
  const wide = shares.map((share) => Math.max(share * whole, 0.75) * grown);

  // Each ribbon passes over all that are nearer, so its peak is above theirs.
  /** @type {number[]} */
  const peak = [];
  for (const side of [-1, 1]) {
    let above = 0.12 * room;
    for (let i = asker; i >= 0 && i < shares.length; i += side) {
      peak[i] = above + wide[i];
      above = peak[i] + 0.09 * room;
    }
  }
  const fit = Math.min(1, room / Math.max(...peak)) * grown;

  // They leave in an order in which none crosses another: left near to far, right far to near, itself.
  const all = [...shares.keys()];
  /** @type {string[]} */
  const outlines = [];
  let start = (asker + 0.5) * step - whole / 2;
  for (const i of [...all.slice(0, asker).reverse(), ...all.slice(asker + 1).reverse(), asker]) {
    const target = (i + 0.5) * step + (i === asker ? whole / 2 + 5 : 0);
    const half = i < asker ? -wide[i] / 2 : wide[i] / 2;
    const [inner, outer] = i < asker ? [start, start + wide[i]] : [start + wide[i], start];
    const high = (peak[i] * fit) / 0.75; // a cubic reaches three quarters of the way to its handles
    const low = Math.max(0, peak[i] * fit - wide[i]) / 0.75;
    outlines[i] =
      `M${place(outer, 0)}C${place(outer, high)} ${place(target + half, high)} ${place(target + half, 0)}` +
      `L${place(target - half, 0)}C${place(target - half, low)} ${place(inner, low)} ${place(inner, 0)}Z`;
    start += shares[i] * whole * grown;
  }
  return outlines;
}

/** @param {State} state @param {typeof RIBBONS_ABOVE} where @param {string} name */
function arcs({ shown, asker, grown }, where, name) {
  const box = where.down ? `0 0 ${where.room} ${where.length}` : `0 0 ${where.length} ${where.room}`;
  const outlines = ribbons(shown, asker, where, grown);
  return html`<svg class="arcs ${name}" viewBox=${box} preserveAspectRatio="none" aria-hidden="true">${outlines.map((d) => svg`<path d=${d}></path>`)}</svg>`;
}

/** Says in one breath what happened, and at first asks for a guess. @param {State} state */
function says({ ending, asker, event }) {
  const words = sentence(ending);
  const { shares, output } = attend(words, asker);
  const most = [...shares.keys()]
    .sort((a, b) => shares[b] - shares[a])
    .slice(0, 3)
    .filter((i) => shares[i] >= 0.1);
  const from = most.map(
    (i, n) =>
      html`${n ? ", " : ""}${percent(shares[i])} from ${i === asker ? "itself" : html`<em>${words[i].word}</em>`}`,
  );
  const largest = Math.max(...output);
  const together = html`Together that’s above all <b>${features[output.indexOf(largest)]}</b>, ${largest.toFixed(1)} of 10.`;
  const { word, asks } = words[asker];
  if (event === "start")
    return html`<em>${word}</em> takes ${from} and a little from everyone else. Guess first: where will the thick ribbon go?`;
  if (event === "swap")
    return html`One word changed, and the ribbon moved. <em>${word}</em> takes ${from}. ${together} Now pick another word.`;
  return html`<em>${word}</em> asks: ${asks} It takes ${from} and a little from everyone else. ${together}`;
}

/** How the shares come about, number by number. @param {State} state */
function sums({ ending, asker }) {
  const words = sentence(ending);
  const { query, scores, scaled, shares } = attend(words, asker);
  const powers = scaled.map(Math.exp);
  const row = (
    /** @type {import("./home.model.js").Word} */ { word, key },
    /** @type {number} */ i,
  ) => html`<tr><th scope="row"><em>${word}</em></th><td class="key">${list(key)}</td><td>${signed(scores[i])}</td>
    <td>${signed(scaled[i], 1)}</td><td>${powers[i].toFixed(2)}</td><td class="rose">${(100 * shares[i]).toFixed(1)} %</td></tr>`;
  const looksFor = html`<em>${words[asker].word}</em> looks for <b class="query">q = (${list(query)})</b>`;
  return html`<table class="sums"><caption>${looksFor}: ${features.join(", ")}</caption>
    <thead><tr><th scope="col">word</th><th scope="col" class="key">key k</th><th scope="col">q · k</th>
      <th scope="col">÷ √4</th><th scope="col">e<sup>x</sup></th><th scope="col">share</th></tr></thead>
    <tbody>${words.map(row)}</tbody>
    <tfoot><tr><th scope="row">sum</th><td></td><td></td><td></td>
      <td>${powers.reduce((a, b) => a + b).toFixed(2)}</td><td>100 %</td></tr></tfoot></table>`;
}

/**
 * What a track means, said on one: of the words that are all one thing, that from which most is taken.
 * @param {State} state
 */
function example({ ending, asker, shown }) {
  const words = sentence(ending);
  const one = words.map(({ value }, i) => (Math.max(...value) === TOTAL_PER_WORD ? shown[i] : 0));
  const i = one.indexOf(Math.max(...one));
  const takes = html`<span><em>${words[asker].word}</em> takes </span>${percent(shown[i])} of ${TOTAL_PER_WORD}`;
  const style = `--i: ${i}; --f: ${words[i].value.indexOf(TOTAL_PER_WORD)}`;
  return html`<span class="example" aria-hidden="true" style=${style}>${takes}</span>`;
}

/** All of it. Without `answers` it's a drawing. @param {State} state @param {Answers} [answers] */
function view(state, answers) {
  const { ending, asker, shown, blended } = state;
  const words = sentence(ending);
  const { shares } = attend(words, asker);
  const most = 0.99 * Math.max(...shares);
  const column = (/** @type {import("./home.model.js").Word} */ { word, value }, /** @type {number} */ i) => html`
    <label class="word" style="--i: ${i}"><input type="radio" name="asker" .checked=${i === asker} @change=${() => answers?.pick(i)}><span>${word}</span></label>
    <span class="share ${shares[i] > most ? "most" : shares[i] < HIDDEN_SHARE ? "little" : ""}" style="--i: ${i}">${percent(shown[i])}</span>
    ${value.map((amount, feature) => {
      const style = `--i: ${i}; --f: ${feature}; --amount: ${amount}; --share: ${shown[i].toFixed(4)}`;
      return html`<span class="cell" aria-hidden="true" style=${style}><i></i><b></b></span>`;
    })}`;
  const output = (/** @type {string} */ name, /** @type {number} */ feature) => {
    const parts = words.map(({ value }, i) => blended[i] * value[feature]);
    const bars = parts.map((part) => html`<i style="--part: ${part.toFixed(3)}"></i>`);
    const total = parts.reduce((a, b) => a + b).toFixed(1);
    return html`<span class="feature" style="--f: ${feature}">${name}</span>
      <span class="out" style="--f: ${feature}">${bars}<span>${total}</span></span>`;
  };
  return html`
    <fieldset class="stage" ?disabled=${!answers}>
      <legend>Which word asks?</legend>
      ${arcs(state, RIBBONS_ABOVE, "across")}${arcs(state, RIBBONS_BESIDE, "down")}
      ${words.map(column)}
      ${example(state)}
      ${features.map(output)}
      <span class="outname">what <em>${words[asker].word}</em> takes home</span>
    </fieldset>
    <div class="controls">
      <button type="button" class="md-button md-button--primary" @click=${() => answers?.swap()}>Change <em>${ending}</em> to <em>${otherEnding(ending)}</em></button>
      <p class="says ${state.said ? "" : "soon"}" role="status">${says(state)}</p>
    </div>
    <details><summary>Show the dot products</summary><div class="scroll">${sums(state)}</div></details>`;
}

/** What the build draws. */
export const drawStatic = () => view(first());

/** Puts the same into this place, and lets the reader ask. @param {HTMLElement} place */
export function start(place) {
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const box = document.createElement("div");
  let state = first();
  let frame = 0;
  const draw = (/** @type {Partial<State>} */ change) => {
    state = { ...state, ...change };
    render(view(state, answers), box);
  };

  /**
   * Runs a step from 0 to 1, easing out; a new movement replaces one that's under way.
   * @param {(part: number) => void} step
   */
  const move = (step) => {
    cancelAnimationFrame(frame);
    return new Promise((done) => {
      const begin = performance.now();
      const tick = (/** @type {number} */ now) => {
        const part = calm.matches ? 1 : Math.min(1, Math.max(0, now - begin) / MOVE);
        step(1 - (1 - part) ** 3);
        if (part < 1) frame = requestAnimationFrame(tick);
        else done(undefined);
      };
      tick(begin);
    });
  };

  /** Sends a copy of each part that's wide enough to see to its place in the output. */
  const fly = () => {
    if (calm.matches) return;
    const stage = /** @type {HTMLElement} */ (box.querySelector(".stage"));
    const home = stage.getBoundingClientRect();
    const outputBars = [...stage.querySelectorAll(".out")].map((out) => out.querySelectorAll("i"));
    stage.querySelectorAll(".cell > b").forEach((part, n) => {
      const from = part.getBoundingClientRect();
      if (from.width < 1) return;
      const to = outputBars[n % features.length][Math.floor(n / features.length)].getBoundingClientRect();
      const copy = document.createElement("i");
      copy.className = "flying";
      Object.assign(copy.style, {
        left: `${from.x - home.x}px`,
        top: `${from.y - home.y}px`,
        width: `${from.width}px`,
        height: `${from.height}px`,
      });
      stage.append(copy);
      const there = { transform: `translate(${to.x - from.x}px, ${to.y - from.y}px)`, opacity: 0.4 };
      copy.animate([{}, there], { duration: MOVE, easing: "ease-out" }).finished.then(() => copy.remove());
    });
  };

  /** First the shares move, then what they take flies to the output. @param {Partial<State>} next */
  const change = async (next) => {
    const { shown: from, blended: before, asker } = state;
    draw({ ...next, said: false });
    const { shares } = attend(sentence(state.ending), state.asker);
    await move((part) => draw({ shown: mix(from, shares, part), grown: state.asker === asker ? 1 : part }));
    draw({ blended: shares, said: true }); // so that fly() can see where the parts will lie
    fly();
    await move((part) => draw({ blended: mix(before, shares, part) }));
  };

  /** @type {Answers} */
  const answers = {
    pick: (asker) => change({ asker, event: "pick" }),
    swap: () => change({ ending: otherEnding(state.ending), asker: indexOfIt(state.ending), event: "swap" }),
  };
  draw({});
  place.replaceChildren(box);
}

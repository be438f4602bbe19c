// Scores arrive in blocks; maximum, sum and blend are all that is kept.
import { html, nothing, svg } from "lit-html";
import { button, numbers, shown, slider, table, textField, tick, whole } from "./parts.js";
import { mergeAll, output, read } from "./stream.model.js";

const start = { scores: "1 0 2 1 0 2", block: 2, readers: 1, forget: false, step: 1 };

/** @typedef {typeof start} S */

const MOST = 24; // scores in the row
const [MOST_BLOCK, MOST_READERS] = [8, 4];

/** @param {S} state */
const scoresOf = (state) => numbers("Scores", state.scores, { most: 1e4, count: [1, MOST] });

/** Whose turn each block is: the readers take neighbouring pieces of the row and read them at the same time. @param {S} state */
function cut(state) {
  const scores = scoresOf(state);
  const readers = whole("Readers", state.readers, 1, MOST_READERS);
  const each = Math.ceil(scores.length / readers);
  return Array.from({ length: readers }, (_, reader) => ({
    from: reader * each,
    scores: scores.slice(reader * each, (reader + 1) * each),
  }));
}

/** The value of a score: 10 in the first half of the row, 0 in the second. @param {number} index @param {number} length */
const valueOf = (index, length) => (index < Math.ceil(length / 2) ? 10 : 0);

/** What each reader has after so many steps. @param {S} state @param {number} step @param {boolean} [forget] */
function states(state, step, forget = state.forget) {
  const { length } = scoresOf(state);
  return cut(state).map(({ from, scores }) => {
    const values = scores.map((_, i) => [valueOf(from + i, length)]);
    return read(scores, values, state.block, step, forget);
  });
}

/** @param {S} state */
function steps(state) {
  const block = whole("Scores a block", state.block, 1, MOST_BLOCK);
  return Math.ceil(Math.max(...cut(state).map(({ scores }) => scores.length)) / block);
}

/** @param {S} state */
function drawing(state) {
  const scores = scoresOf(state);
  const finite = scores.filter(Number.isFinite);
  const [low, high] = [Math.min(0, ...finite), Math.max(1, ...finite)];
  const y = (/** @type {number} */ score) => 112 - (84 * (Math.max(score, low) - low)) / (high - low);
  const width = 480 / scores.length;
  const many = scores.length > 12; // their numbers take turns on two lines
  const below = many ? 172 : 155;
  const half = Math.ceil(scores.length / 2);
  const value = (/** @type {number} */ from, /** @type {number} */ to) => svg`<path class="value stroke thin" d="M${from * width + 2} ${below - 15} H${to * width - 2}" />
    <text class="middle small value" x=${(from + to) * 0.5 * width} y=${below}>v = ${valueOf(from, scores.length)}</text>`;
  const now = states(state, state.step);
  const pieces = cut(state);
  const column = (/** @type {number} */ score, /** @type {number} */ index) => {
    const reader = pieces.findLastIndex(({ from }) => from <= index);
    const read = index < pieces[reader].from + now[reader].seen;
    const top = Math.min(y(score), y(0));
    return svg`<rect class="query fill moves ${read ? "" : "faint"}" x=${index * width + 2} y=${top} width=${width - 4} height=${Math.max(2, Math.abs(y(score) - y(0)))} />
      <text class="middle small ${read ? "ink" : "soft"}" x=${(index + 0.5) * width} y=${132 + (many && index % 2 ? 17 : 0)}>${shown(score, many ? 0 : 1)}</text>`;
  };
  const mark = (/** @type {{from: number, scores: number[]}} */ { from, scores: part }, /** @type {number} */ reader) =>
    now[reader].max > -Infinity
      ? svg`<path class="accent stroke moves" d="M${from * width} ${y(now[reader].max)} h${part.length * width}" />`
      : nothing;
  return html`<svg viewBox="0 0 480 ${below + 8}" role="img" aria-label="The scores as columns; the first half of them has the value 10 and the second 0. Those not yet read are faint; a line marks the largest so far.">
    ${scores.map(column)} ${pieces.map(mark)}
    ${value(0, half)} ${half < scores.length ? value(half, scores.length) : nothing}
    ${pieces.slice(1).map(({ from }) => svg`<path class="soft stroke thin" d="M${from * width} 0 V136" />`)}
  </svg>`;
}

/** @param {S} state */
function kept(state) {
  const now = states(state, state.step);
  const row = (/** @type {string} */ name, /** @type {import("./stream.model.js").State} */ each, factor = "") =>
    [name, shown(each.max), factor, shown(each.sum), shown(each.blend[0]), shown(output(each)[0])];
  const rows = now.map((each, reader) => row(now.length > 1 ? `reader ${reader + 1}` : "now", each, shown(each.factor)));
  if (now.length > 1) rows.push(row("merged", mergeAll(now)));
  if (state.forget) rows.push(row("true", mergeAll(states(state, state.step, false))));
  return table("What is kept", ["", "max", "factor", "sum", "accumulator", "output"], rows);
}

/** @param {S} state @param {(change: Partial<S>) => void} set */
function view(state, set) {
  const more = () => {
    const block = Array.from({ length: state.block }, () => Math.round(Math.random() * 60 - 20) / 10);
    const all = [...scoresOf(state), ...block].slice(-MOST);
    set({ scores: all.join(" "), step: steps({ ...state, scores: all.join(" ") }) });
  };
  return html`
    <div class="hb-live__row">
      ${textField("Scores", state.scores, (scores) => set({ scores, step: 0 }), 22)}
      ${slider("Scores a block", state.block, (block) => set({ block, step: 0 }), { min: 1, max: MOST_BLOCK })}
      ${slider("Readers", state.readers, (readers) => set({ readers, step: 0 }), { min: 1, max: MOST_READERS })}
    </div>
    <div class="hb-live__row">
      ${button("A random block arrives", more)}
      ${tick("forget to rescale", state.forget, (forget) => set({ forget }))}
    </div>
    ${drawing(state)} ${kept(state)}`;
}

/** @param {S} state */
function told(state) {
  const [now, before] = [states(state, state.step), states(state, state.step - 1)];
  if (state.step <= 0) return "Nothing has been read. Values are 10 in the first half of the row and 0 in the second, so the output says what part of the shares lies in front.";
  const [all, right] = [now, states(state, state.step, false)].map(mergeAll);
  const wrong = Math.abs(all.sum - right.sum) > 1e-9 * right.sum;
  if (now.length > 1) {
    if (wrong) return `Each reader has forgotten to rescale for itself, and merging does not mend it: the sum is ${shown(all.sum)} and should be ${shown(right.sum)}.`;
    return `Each reader knows only its own piece. Merged: maximum ${shown(all.max)}, sum ${shown(all.sum)}, whatever the order.`;
  }
  const [one, was] = [now[0], before[0]];
  if (one.max === -Infinity) return "All that was read is masked: no mark is set and nothing is added. A kernel has to guard this case, for −∞ − (−∞) is NaN.";
  if (was.seen === 0) return `The first block sets the mark: maximum ${shown(one.max)}, sum ${shown(one.sum)}.`;
  if (!one.moved && wrong) return `The maximum stays at ${shown(one.max)}, so nothing has to shrink in this step. But what was forgotten before is never made good: the sum is ${shown(one.sum)} and should be ${shown(right.sum)}.`;
  if (!one.moved) return `The maximum stays at ${shown(one.max)}, so nothing shrinks: the block only adds ${shown(one.sum - was.sum)} to the sum.`;
  const moved = `A larger score moves the maximum from ${shown(was.max)} to ${shown(one.max)}.`;
  if (state.forget) return `${moved} The sum ${shown(was.sum)} should now be worth ${shown(was.sum * one.factor)}; it was kept as it was, and the output is wrong.`;
  return `${moved} All that was kept is worth ${shown(one.factor)} of what it was: the sum ${shown(was.sum)} becomes ${shown(was.sum * one.factor)} before the block is added.`;
}

/** @type {import("./frame.js").Piece<S>} */
export default { title: "A softmax while its row is still arriving", start, view, told, steps };

// Scores arrive in blocks; maximum, sum and blend are all that is kept.
import { html, nothing, svg } from "lit-html";
import { button, numbers, shown, slider, table, textField, tick, whole } from "./parts.js";
import { mergeAll, output, read } from "./stream.model.js";

// front: how many words have the value 10, or 0 for half of them. arrived: how many of the scores came after the row was cut.
const start = { scores: "1 0 2 1 0 2", block: 2, readers: 1, forget: false, step: 1, front: 0, arrived: 0 };

/** @typedef {typeof start} S */

const MOST = 24; // scores in the row
const [MOST_BLOCK, MOST_READERS] = [8, 4];

/** @param {S} state */
const scoresOf = (state) => numbers("Scores", state.scores, { most: 1e4, count: [1, MOST] });

/**
 * Whose turn each block is: the readers take neighbouring pieces of the row and read them at the same time. What arrives
 * later is the last one's, in blocks of its own, so that nothing that was read is cut anew.
 * @param {S} state
 */
function cut(state) {
  const scores = scoresOf(state);
  const readers = whole("Readers", state.readers, 1, MOST_READERS);
  const first = scores.length - whole("Arrived", state.arrived, 0, scores.length - 1);
  const ends = Array.from({ length: readers + 1 }, (_, reader) => Math.min(reader * Math.ceil(first / readers), first));
  return Array.from({ length: readers }, (_, reader) => ({
    from: ends[reader],
    first: ends[reader + 1] - ends[reader],
    scores: scores.slice(ends[reader], reader === readers - 1 ? MOST : ends[reader + 1]),
  }));
}

/** How many words are in front. @param {S} state */
function frontOf(state) {
  const { length } = scoresOf(state);
  return whole("Front", state.front, 0, length) || Math.ceil(length / 2);
}

/** The value of a score: 10 in front and 0 behind. @param {number} index @param {number} front */
const valueOf = (index, front) => (index < front ? 10 : 0);

/** What each reader has after so many steps. @param {S} state @param {number} step @param {boolean} [forget] */
function states(state, step, forget = state.forget) {
  const front = frontOf(state);
  return cut(state).map(({ from, first, scores }) => {
    const values = scores.map((_, i) => [valueOf(from + i, front)]);
    return read(scores, values, state.block, step, forget, first);
  });
}

/** @param {S} state */
function steps(state) {
  const block = whole("Scores a block", state.block, 1, MOST_BLOCK);
  return Math.max(...cut(state).map(({ first, scores }) => Math.ceil(first / block) + Math.ceil((scores.length - first) / block)));
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
  const front = frontOf(state);
  const value = (/** @type {number} */ from, /** @type {number} */ to) => svg`<path class="value stroke thin" d="M${from * width + 2} ${below - 15} H${to * width - 2}" />
    <text class="middle small value" x=${(from + to) * 0.5 * width} y=${below}>v = ${valueOf(from, front)}</text>`;
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
  return html`<svg viewBox="0 0 480 ${below + 8}" role="img" aria-label="The scores as columns; those in front have the value 10 and the others 0. Those not yet read are faint; a line marks the largest so far.">
    ${scores.map(column)} ${pieces.map(mark)}
    ${value(0, front)} ${front < scores.length ? value(front, scores.length) : nothing}
    ${pieces.slice(1).filter(({ from }) => from < scores.length).map(({ from }) => svg`<path class="soft stroke thin" d="M${from * width} 0 V136" />`)}
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
  const { length } = scoresOf(state);
  const room = Math.min(state.block, MOST - length);
  const more = () => {
    if (room === 0) return;
    const block = Array.from({ length: room }, () => Math.round(Math.random() * 60 - 20) / 10);
    const longer = { scores: [state.scores.trim(), ...block].join(" "), front: frontOf(state), arrived: state.arrived + room };
    set({ ...longer, step: steps({ ...state, ...longer }) });
  };
  return html`
    <div class="hb-live__row">
      ${textField("Scores", state.scores, (scores) => set({ scores, step: 0, front: 0, arrived: 0 }), 22)}
      ${slider("Scores a block", state.block, (block) => set({ block, step: 0, arrived: 0 }), { min: 1, max: MOST_BLOCK })}
      ${slider("Readers", state.readers, (readers) => set({ readers, step: 0, arrived: 0 }), { min: 1, max: MOST_READERS })}
    </div>
    <div class="hb-live__row">
      ${button(room === 0 ? "The row is full" : "A random block arrives", more, room === 0)}
      ${tick("forget to rescale", state.forget, (forget) => set({ forget }))}
    </div>
    ${drawing(state)} ${kept(state)}`;
}

/** @param {S} state */
function told(state) {
  const [now, before] = [states(state, state.step), states(state, state.step - 1)];
  if (state.step <= 0) return "Nothing has been read. Values are 10 for the words in front and 0 for the others, so the output says what part of the shares lies in front.";
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

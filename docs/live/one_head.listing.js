// The kernel's lines, with the one that runs lit; on a phone only that one and its loop's head.
import { html, nothing } from "lit-html";
import { LINES, source } from "./one_head.model.js";

/** What each paragraph does; its first word is in the source, too. */
const STEPS = ["Load my query", "Score it against every key", "Normalize the row", "Blend the values", "Store my row"];
/** In the code a name has the colour of the tensor that it comes from. @type {Record<string, string>} */
const COLOURS = {
  q: "query",
  query: "query",
  k: "key",
  key: "key",
  v: "value",
  value: "value",
  scores: "rose",
  exponentials: "rose",
  weights: "rose",
};
const NAMES = /(\b(?:q|query|k|key|v|value|scores|exponentials|weights|key_number)\b)/;
const LONG = 48; // signs of a line; a longer one breaks after its first comma, or before its last sum

/** @param {string} line @param {boolean} bug whether its key_number is multiplied by too little */
const coloured = (line, bug) =>
  line.split(NAMES).map((part, i) => {
    const look = bug && part === "key_number" ? "bug" : COLOURS[part];
    return i % 2 && look ? html`<span class=${look}>${part}</span>` : part;
  });

/** A line of code, broken by hand. @param {string} line @param {boolean} bug @param {number} turn of its loop, or -1 */
function written(line, bug, turn) {
  const code = line.replace(/ +#.*/, "").trim();
  const at = code.length > LONG ? code.indexOf(",") + 1 || code.lastIndexOf(" +") : code.length;
  const rest = at < code.length ? html`<br>${coloured(code.slice(at), bug)}` : nothing;
  const now = turn < 0 ? nothing : html` <span class="turn">now ${turn}</span>`;
  return html`<code>${coloured(code.slice(0, at), bug)}${rest}${now}</code>`;
}

/** @param {boolean} wrong @param {import("./one_head.model.js").Step} step */
export function listing(wrong, { moments }) {
  const [now, turn] = [moments.map(({ line }) => line), moments[0]?.turn ?? 0];
  const loop = [LINES.keys, LINES.values].find((head) => now.some((line) => line === head + 1 || line === head + 2));
  let i = -1;
  return html`<ol class="hb-live__code" aria-label="The kernel, step by step">${source(wrong).map((lines, number) => {
    const from = i + 1;
    const items = lines.map((line) => {
      i += 1;
      const code = written(line, wrong && i === LINES.key, i === loop ? turn : -1);
      const look = now.includes(i) ? "now" : i === loop ? "head" : "";
      const indent = `--indent: ${line.search(/\S/)}`;
      return html`<li class=${look} aria-current=${now.includes(i) ? "step" : "false"} style=${indent}>${code}</li>`;
    });
    const open = now.length ? now[0] >= from && now[0] <= i : number === 0;
    return html`<li class=${open ? "open" : ""}><p># ${STEPS[number]}</p><ol>${items}</ol></li>`;
  })}</ol>`;
}

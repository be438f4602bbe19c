// lit-html's `html` and `svg` where there is no browser: the text that a browser would make of a template.
// A template may bind text, attributes, `.value`, `.checked`, `.selected` and `?boolean` attributes, and events, which are left out.

class Markup {
  constructor(text) {
    this.text = text;
  }
}

const ESCAPED = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (value) => String(value).replace(/[&<>"]/g, (letter) => ESCAPED[letter]);

function inner(value) {
  if (value instanceof Markup) return value.text;
  if (Array.isArray(value)) return value.map(inner).join("");
  return value === nothing || value === null || value === undefined ? "" : escaped(value);
}

export const nothing = Symbol("nothing");

const FLAGS = new Set(["checked", "selected"]); // properties that a static drawing spells as attributes without a value

export function html(strings, ...values) {
  let text = strings[0];
  values.forEach((value, index) => {
    const after = strings[index + 1];
    const bound = /\s([@.?])([\w-]+)=$/.exec(text);
    if (bound) {
      const [whole, kind, name] = bound;
      text = text.slice(0, -whole.length);
      if (kind === "." && !FLAGS.has(name)) text += ` ${name}="${escaped(value)}"`;
      else if (kind !== "@" && value) text += ` ${name}`;
    } else if (/=$/.test(text)) text += `"${escaped(value)}"`;
    else if (inTag(text)) text += escaped(value);
    else text += inner(value);
    text += after;
  });
  return new Markup(text);
}

const inTag = (text) => text.lastIndexOf("<") > text.lastIndexOf(">");

export const svg = html;
export const text = (template) => template.text;

// Between Python and the modules: JSON has no NaN, no infinities and no negative zero, so they travel as these words.
const modules = {};
const WORDS = { NaN: NaN, Infinity: Infinity, "-Infinity": -Infinity, "-0": -0 };

const read = (text) => JSON.parse(text, (key, value) => (typeof value === "string" && Object.hasOwn(WORDS, value) ? WORDS[value] : value));

const written = (value) =>
  JSON.stringify(value, (key, each) => {
    if (Object.is(each, -0)) return "-0";
    return typeof each === "number" && !Number.isFinite(each) ? String(each) : each;
  });

/** What a function of a module returns for each row of arguments. */
const calls = (module, name, rows) => written(read(rows).map((row) => modules[module][name](...row)));

/** The drawing of a piece in a state, as JSON: Python cannot take a long text that QuickJS keeps in parts. */
function still(name, asked) {
  const { stateFrom, whole } = modules["frame.js"];
  const piece = modules[`${name}.js`].default;
  const state = stateFrom(piece, read(asked));
  return JSON.stringify(modules["lit-html"].text(whole(piece, state, state, null)));
}

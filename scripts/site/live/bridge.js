// Between Python and the modules: JSON has no NaN and no infinities, so they travel as these words, and so does a
// negative zero on its way back, since JSON.stringify drops its sign. A reviver is slow, and most texts need none.
const modules = {};
const WORDS = { NaN: NaN, Infinity: Infinity, "-Infinity": -Infinity };

const revived = (key, value) => (typeof value === "string" && Object.hasOwn(WORDS, value) ? WORDS[value] : value);

const read = (text) => JSON.parse(text, /"(?:NaN|-?Infinity)"/.test(text) ? revived : undefined);

const written = (value) =>
  JSON.stringify(value, (key, each) => {
    if (Object.is(each, -0)) return "-0";
    return typeof each === "number" && !Number.isFinite(each) ? String(each) : each;
  });

/** What a function of a module returns for each row of arguments. */
const calls = (module, name, rows) => written(read(rows).map((row) => modules[module][name](...row)));

/** The drawing of a piece in a state, as JSON: Python cannot take a long text that QuickJS keeps in parts. */
function drawStatic(name, asked) {
  const { stateFrom, drawPiece } = modules["frame.js"];
  const piece = modules[`${name}.js`].default;
  const state = stateFrom(piece, read(asked));
  return JSON.stringify(modules["lit-html"].text(drawPiece(piece, state, state, { width: 0, elapsed: Infinity }, null)));
}

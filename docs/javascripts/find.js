// A field above the tables of all records: it leaves the runs, tables and rows that have all of the words typed.

const FEW = 6; // so many tables are opened for the reader

/** @param {Element} element */
const text = (element) => element.textContent.toLowerCase();

const sections = [...document.querySelectorAll(".hb-record")].map((record) => {
  const heading = record.previousElementSibling;
  const tables = [...record.querySelectorAll("details.hb-folded")].map((details) => {
    const title = text(details.querySelector("summary"));
    const rows = [...details.querySelectorAll("tbody tr")].map((row) => ({ row, words: text(row) }));
    return { details, title, rows };
  });
  return { parts: [heading, record], title: `${text(heading)} ${text(record.firstElementChild)}`, tables };
});

const form = document.createElement("form");
form.className = "hb-find";
form.innerHTML = `<label>Find in the tables <input type="search" autocomplete="off" spellcheck="false"></label>
<output>Words that a row has, or the title of its table or run: cuDNN 8192, or nvfp4 error.</output>`;
const field = form.querySelector("input");
const said = form.querySelector("output");
const hint = said.textContent;

function find() {
  const wanted = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (/** @type {string} */ words) => wanted.every((word) => words.includes(word));
  const found = { rows: 0, tables: [], runs: 0 };
  for (const { parts, title, tables } of sections) {
    let any = !tables.length && has(title);
    for (const { details, title: own, rows } of tables) {
      const kept = rows.filter(({ row, words }) => !(row.hidden = !has(`${title} ${own} ${words}`)));
      details.hidden = !kept.length;
      found.rows += kept.length;
      if (kept.length) found.tables.push(details);
      any ||= kept.length > 0;
    }
    for (const part of parts) part.hidden = !any;
    found.runs += any;
  }
  const open = wanted.length > 0 && found.tables.length <= FEW;
  for (const details of found.tables) details.open = open;
  const count = (/** @type {number} */ number, /** @type {string} */ name) => `${number} ${name}${number === 1 ? "" : "s"}`;
  const told = `${count(found.rows, "row")} in ${count(found.tables.length, "table")} of ${count(found.runs, "run")}`;
  said.textContent = wanted.length ? told : hint;
}

form.addEventListener("submit", (event) => event.preventDefault());
field.addEventListener("input", find);
sections[0]?.parts[0].before(form);

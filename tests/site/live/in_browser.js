// What the tests of all pieces look at, in the browser.
({
  shown: (piece) => ["picture", "says", "numbers"].map((part) => piece.querySelector(`.hb-live__${part}`)?.innerHTML.replace(/<!--.*?-->/g, "")).join(),
  read: (piece) => ["picture", "bar"].map((part) => piece.querySelector(`.hb-live__${part}`).innerText.split(/\s+/)),
  fields: (piece) => [...piece.querySelectorAll("input, select")].map(({ value, checked }) => `${value} ${checked}`),
  wide: (piece) => piece.scrollWidth > piece.clientWidth,
  small: (piece) =>
    [...piece.querySelectorAll("button, input, select, .hold")].map((control) => control.closest(".hb-live__tick") ?? control)
      .filter((control) => control.checkVisibility()).map((control) => [control.outerHTML.slice(0, 90), control.getBoundingClientRect()])
      .filter(([, { width, height }]) => Math.round(Math.min(width, height)) < 44).map(([what]) => what),
  places: (piece) => [...piece.querySelectorAll("button, input, select, [tabindex]")].filter((each) => each.checkVisibility()),
  many() {
    return this.places(...arguments).length;
  },
  place() {
    return this.places(...arguments).indexOf(document.activeElement);
  },
})

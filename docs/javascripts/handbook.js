// What the pages do in the browser: draw figures when they come near, in the colours of the scheme; turn Plotly's own
// controls into native ones; make every control reachable by keyboard; print with all figures drawn.
(() => {
  "use strict";

  const LIBRARY = new URL("../vendor/plotly.min.js", document.currentScript.src).href;
  const CHARTS = new URL("charts.js", document.currentScript.src).href;
  const NEAR = "300px"; // how far below the view a figure starts to load
  const AHEAD = "3600px"; // and once somebody scrolls: then it's there before they are
  const TOKENS = ["paper", "shade", "line", "ink", "soft", "query", "key", "value", "rose", "rose-fill", "violet", "grey", "faint"];
  let onPaper = false;

  let library;
  const loaded = (source) => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = source;
    script.onload = resolve;
    script.onerror = () => {
      library = undefined; // the next figure tries again
      reject(new Error(`${source} did not load`));
    };
    document.head.append(script);
  });
  const plotly = () => (library ??= Promise.all([...[LIBRARY, CHARTS].map(loaded), document.fonts.ready])); // words are measured

  // Drawing takes long on a phone: one step at a time, each when the browser has nothing else to do.
  let turn = Promise.resolve();
  const idle = () => new Promise((done) => window.requestIdleCallback?.(done, { timeout: 1000 }) ?? setTimeout(done)); // not in Safari

  // Each is a pair, light and dark, of which the scheme picks one where it is used; paper wants the light ones.
  function colours() {
    const probe = document.createElement("i");
    probe.style.colorScheme = onPaper ? "light" : "";
    document.body.append(probe);
    const found = TOKENS.map((name) => {
      probe.style.color = `var(--hb-${name})`;
      return [name, getComputedStyle(probe).color];
    });
    probe.remove();
    return Object.fromEntries(found);
  }

  class Plot {
    constructor(place) {
      this.place = place;
      this.controls = []; // each a function that applies what is chosen
    }

    // Once more after whatever is being drawn; resolves also where the library did not load and the alternative stays.
    draw() {
      this.drawing = turn.then(plotly).then(() => this.paint(), () => this.giveUp());
      turn = this.drawing.catch(() => {}); // one that fails holds up no other
      return this.drawing;
    }

    giveUp() {
      this.drawing = undefined;
      document.documentElement.classList.add("hb-undrawn");
    }

    async paint() {
      if (!this.canvas) this.prepare();
      const colour = colours();
      this.width = this.canvas.clientWidth;
      const { data, layout } = charts.styled(this.figure, colour, this.width);
      const options = { displayModeBar: false, responsive: !onPaper };
      this.say = () => Plotly.relayout(this.canvas, { annotations: charts.words(this.canvas, this.figure, colour) });
      for (const step of [() => Plotly.newPlot(this.canvas, data, layout, options), ...this.controls, this.say]) {
        if (!onPaper) await idle(); // a print takes what stands when the event has been handled
        const done = step();
        if (!onPaper) await done;
      }
      this.place.classList.add("hb-plot--drawn");
      if (onPaper) this.fitPaper();
    }

    // A drawing has the screen's size in pixels; on paper it must scale to the column.
    fitPaper() {
      const { width, height } = this.canvas.getBoundingClientRect();
      this.canvas.style.setProperty("--hb-ratio", `${width} / ${height}`);
      for (const svg of this.canvas.querySelectorAll(".main-svg")) svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    }

    prepare() {
      this.figure = JSON.parse(this.place.querySelector("script").textContent);
      const bar = document.createElement("div");
      bar.className = "hb-controls";
      this.canvas = document.createElement("div");
      this.canvas.style.height = `${this.figure.layout.height ?? 400}px`;
      this.canvas.setAttribute("aria-hidden", "true"); // its text alternative stands beside it
      this.place.append(bar, this.canvas);
      for (const menu of this.figure.layout.updatemenus ?? []) this.offer(bar, menu);
    }

    offer(bar, menu) {
      const label = document.createElement("label");
      const select = document.createElement("select");
      menu.buttons.forEach((button, index) => select.append(new Option(button.label, index, false, index === (menu.active ?? 0))));
      label.append(menu.name, select);
      bar.append(label);
      const apply = () => {
        const { method = "restyle", args } = menu.buttons[select.value];
        return Plotly[method](this.canvas, ...structuredClone(args));
      };
      select.addEventListener("input", async () => {
        await apply();
        this.say();
      });
      this.controls.push(apply);
    }
  }

  const plots = [...document.querySelectorAll(".hb-plot")].map((place) => new Plot(place));
  const drawn = () => plots.filter((plot) => plot.place.classList.contains("hb-plot--drawn"));
  const drawBefore = (margin) => {
    const near = new IntersectionObserver(
      (entries) => {
        for (const { target } of entries.filter((entry) => entry.isIntersecting)) {
          near.unobserve(target);
          const plot = plots.find((plot) => plot.place === target);
          if (!plot.drawing) plot.draw();
        }
      },
      { rootMargin: `0px 0px ${margin} 0px` },
    );
    for (const plot of plots) near.observe(plot.place);
  };
  drawBefore(NEAR);
  addEventListener("scroll", () => drawBefore(AHEAD), { once: true, passive: true });
  addEventListener("resize", () => drawn().filter((plot) => plot.canvas.clientWidth !== plot.width).forEach((plot) => plot.draw()));

  // A live piece starts when it comes near: until then, and without scripts, its first state stands there as a drawing.
  // So do the questions: until then they are a list, and the answers are folded.
  const LIVE = new URL("../live/", document.currentScript.src).href;
  for (const [module, what] of [["element.js", "live-piece"], ["quiz.js", "details.question"]]) {
    const near = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        near.disconnect();
        import(`${LIVE}${module}`);
      },
      { rootMargin: `0px 0px ${NEAR} 0px` },
    );
    for (const each of document.querySelectorAll(what)) near.observe(each);
  }

  // The page of all records gets a field that finds rows.
  const FIND = new URL("find.js", document.currentScript.src).href;
  if (document.querySelectorAll(".hb-record").length > 1) import(FIND);

  // The scheme that the reader chooses is kept; until one is chosen, the system's is followed.
  const show = (scheme) => {
    document.body.dataset.mdColorScheme = scheme;
    document.documentElement.style.colorScheme = scheme === "slate" ? "dark" : "light";
    for (const plot of plots.filter((plot) => plot.drawing)) plot.draw();
  };
  const switches = [...document.querySelectorAll(".hb-scheme")];
  for (const button of switches) {
    button.addEventListener("click", () => {
      __md_set("scheme", button.dataset.scheme);
      show(button.dataset.scheme);
      switches.find((other) => other !== button).focus(); // the one that was pressed is hidden now
    });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ({ matches }) => {
    if (!__md_get("scheme")) show(matches ? "slate" : "default");
  });

  // A picture further down is fetched when it comes near, or when it is to be printed.
  const pictures = () => [...document.querySelectorAll("img[loading=lazy]")].map((picture) => new Promise((done) => {
    if (picture.complete && picture.naturalWidth) return done(); // one that is awaited has its place already
    for (const end of ["load", "error"]) picture.addEventListener(end, done, { once: true });
    picture.loading = "eager";
  }));

  // Print: Ctrl/Cmd+P waits for every figure and picture; a print from the menu prints what is drawn, and the others' alternatives.
  addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "p" || event.shiftKey || event.altKey) return;
    event.preventDefault();
    Promise.allSettled([...plots.map((plot) => plot.draw()), ...pictures()]).then(() => print());
  });
  let closed = [];
  addEventListener("beforeprint", () => {
    onPaper = true;
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const details of closed) details.open = true;
    for (const plot of drawn()) plot.paint();
  });
  addEventListener("afterprint", () => {
    onPaper = false;
    for (const details of closed) details.open = false;
    for (const plot of drawn()) plot.draw();
  });

  // Keyboard: what scrolls sideways can be focused, also what Material wraps and what grows once its font is there.
  const wide = ".md-typeset pre > code, .hb-output, .hb-table, .md-typeset__scrollwrap, .katex-display";
  const sized = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  const measure = () => {
    sized.disconnect();
    for (const box of document.querySelectorAll(wide)) sized.observe(box);
  };
  measure();
  addEventListener("load", () => document.fonts.ready.then(measure));

  // Material makes a landmark of every copy button's box, all without a name.
  new MutationObserver(() => {
    for (const box of document.querySelectorAll(".md-code__nav:not([role])")) box.setAttribute("role", "none");
  }).observe(document.querySelector("article"), { childList: true, subtree: true });

  // Material's drawer and search labels become the buttons they look like.
  for (const label of document.querySelectorAll(".md-header__button[for=__drawer], .md-header__button[for=__search]")) {
    const button = document.createElement("button");
    const toggle = document.getElementById(label.htmlFor);
    const name = toggle.id === "__drawer" ? "Contents" : "Search";
    Object.assign(button, { type: "button", className: label.className, innerHTML: label.innerHTML, ariaLabel: name });
    button.dataset.opens = toggle.id;
    const say = () => (button.ariaExpanded = String(toggle.checked));
    say();
    toggle.addEventListener("change", say);
    button.addEventListener("click", () => toggle.click());
    const close = (event) => {
      if (event.key !== "Escape" || !toggle.checked || !button.checkVisibility()) return;
      toggle.click();
      button.focus();
    };
    addEventListener("keydown", close, true); // before Material, which would close the search and forget the focus
    label.replaceWith(button);
  }

  // What is out of sight takes no focus: on a narrow screen the closed drawer, its closed sections, what an
  // open one covers, and the search; on any the search's empty results.
  const narrow = (id) => document.querySelector(`[data-opens=${id}]`).checkVisibility();
  const opened = (id) => document.getElementById(id).checked;
  const settle = () => {
    const [drawer, search] = ["__drawer", "__search"].map(narrow); // before the first write, or styles are worked out twice
    document.querySelector(".md-sidebar--primary").inert = drawer && !opened("__drawer");
    document.querySelector(".md-search__inner").inert = search && !opened("__search");
    document.querySelector(".md-search__output").inert = !opened("__search");
    for (const list of document.querySelectorAll(".md-sidebar--primary .md-nav__list")) {
      const open = drawer && [...list.children].find((item) => item.querySelector(":scope > .md-nav__toggle:checked"));
      for (const beside of list.parentElement.children) if (beside !== list) beside.inert = Boolean(open);
      for (const item of list.children) {
        item.inert = Boolean(open) && item !== open;
        for (const part of item.querySelectorAll(":scope > :not(.md-nav)")) part.inert = item === open;
        const section = item.querySelector(":scope > .md-nav");
        if (section) section.inert = drawer && item !== open;
      }
    }
    for (const label of document.querySelectorAll(".md-sidebar--primary label[for]")) {
      // Material folds a section at Enter, but lets no key come to it; beside a page only inner sections fold.
      const folds = drawer || label.matches(".md-nav__item:not(.md-nav__item--section) > .md-nav__link");
      label.tabIndex = folds ? 0 : -1;
    }
  };
  settle();
  addEventListener("change", ({ target }) => {
    const item = narrow("__drawer") && target.matches(".md-nav__toggle") && target.parentElement;
    const held = item && item.contains(document.activeElement); // what has the focus is about to be covered
    settle();
    const where = target.checked ? ":scope > .md-nav > .md-nav__title" : ":scope > label, :scope > .md-nav__container > label";
    if (held) item.querySelector(where).focus({ preventScroll: true });
  });
  addEventListener("resize", settle);

  // Material waits for DOMContentLoaded, which has passed, since scripts come after the first paint: start it.
  setTimeout(() => document$.next(document));
})();

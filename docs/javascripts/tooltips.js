// What a title says, in Material's tooltip: at once, and by tap and focus too. A few listeners serve the whole page, since
// Material's own, a dozen for each element with a title, keep a phone busy for half a second while a chapter starts.
(() => {
  "use strict";

  const LINGER = 250; // milliseconds that a tooltip stays once its element was left
  let host; // the element whose title is shown
  let tip;
  let leaving;

  function place() {
    const { left, top, width, height } = host.getBoundingClientRect();
    const lengths = { "host-x": left + scrollX, "host-y": top + scrollY, x: width / 2, y: height + 8, tail: 0 };
    for (const [name, length] of Object.entries(lengths)) tip.style.setProperty(`--md-tooltip-${name}`, `${length}px`);
    tip.classList.toggle("hb-tooltip--top", top + height > 0.75 * innerHeight);
    tip.style.setProperty("--md-tooltip-width", `${tip.firstChild.offsetWidth}px`);
  }

  function show(element) {
    hide();
    host = element;
    tip = Object.assign(document.createElement("div"), { className: "md-tooltip2 md-tooltip2--bottom", role: "tooltip" });
    tip.id = "hb-tooltip";
    tip.append(Object.assign(document.createElement("div"), { className: "md-tooltip2__inner md-typeset" }));
    tip.firstChild.textContent = host.title;
    document.body.append(tip);
    host.removeAttribute("title"); // or the browser would show it a second time
    host.setAttribute("aria-describedby", tip.id);
    place();
    tip.classList.add("md-tooltip2--active");
  }

  function hide() {
    clearTimeout(leaving);
    if (!tip) return;
    host.title = tip.textContent;
    host.removeAttribute("aria-describedby");
    tip.remove();
    host = tip = undefined;
  }

  // The pointer or the focus has come to an element; a finger that was lifted has gone to none.
  function arrive({ target, pointerType }) {
    if (host?.contains(target)) return;
    const titled = target.closest("[title]");
    if (titled?.title) show(titled);
    else if (pointerType === "touch") hide(); // until it is lifted, what it touched before counts as hovered over
    else leave();
  }

  function leave() {
    clearTimeout(leaving);
    leaving = setTimeout(() => {
      if (!host?.matches(":hover, :focus-within")) hide();
    }, LINGER);
  }

  document.addEventListener("pointerover", arrive);
  document.addEventListener("focusin", arrive);
  document.addEventListener("focusout", leave);
  document.addEventListener("pointercancel", hide); // the finger scrolls
  document.documentElement.addEventListener("mouseleave", leave);
  addEventListener("scroll", () => tip && place(), { capture: true, passive: true });
})();

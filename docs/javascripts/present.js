// Presents a whiteboard sheet: one step a screen, with the sentence, the speech, and clocks that count down for the step
// and for the lesson.  Keys: ← and → go back and on, ↑ and ↓ scroll the notes, space starts and pauses, a shows the next answer and moves the notes on to it, q moves
// them to the questions of the step and back, n hides the notes, b or . blanks the board, p opens a window for the projector, which has the picture alone; Esc twice closes.  After a reload the lesson
// goes on where it was, as long as the tab is open.  A classic script, so that it runs from a file as well.
(() => {
  "use strict";

  const button = document.querySelector(".hb-present");
  if (!button) return;

  const SKELETON = `
    <header>
      <p class="hb-presenter__where"></p>
      <p class="hb-presenter__clocks">
        <span>Step <b class="hb-presenter__step" role="timer"></b></span>
        <span>Lesson <b class="hb-presenter__whole" role="timer"></b></span>
        <span class="hb-presenter__late"></span>
      </p>
      <p class="hb-presenter__said" role="status"></p>
      <p class="hb-presenter__buttons">
        <label>Lesson of <select></select></label>
        <button type="button" data-does="pause"></button>
        <button type="button" data-does="back">← Back</button>
        <button type="button" data-does="next">Next →</button>
        <button type="button" data-does="answer">Draw on <kbd>a</kbd> </button>
        <button type="button" data-does="questions">Questions <kbd>q</kbd></button>
        <button type="button" data-does="notes">Notes <kbd>n</kbd></button>
        <button type="button" data-does="smaller" aria-label="Smaller notes">A−</button>
        <button type="button" data-does="larger" aria-label="Larger notes">A+</button>
        <span class="hb-presenter__scrolls"><kbd>↑</kbd> <kbd>↓</kbd> scroll the notes</span>
        <button type="button" data-does="projector">Projector <kbd>p</kbd></button>
        <button type="button" data-does="close">Close</button>
      </p>
    </header>
    <main tabindex="-1">
      <div class="hb-presenter__stage"></div>
      <div class="hb-presenter__say md-typeset"></div>
    </main>
    <aside class="md-typeset">
      <div class="hb-presenter__notes"></div>
      <p class="hb-presenter__next"></p>
    </aside>`;
  const KEYS = { ArrowRight: "next", PageDown: "next", ArrowLeft: "back", PageUp: "back", " ": "pause", a: "answer", b: "blank", ".": "blank", n: "notes", q: "questions", p: "projector", Escape: "leave" };
  const SCROLLS = { ArrowUp: -1, ArrowDown: 1 };
  const OF_A_POLL = "<p>Thirty seconds, then hands up for a letter. If two in three don't agree: one minute with a neighbour who has another one, and again.</p><p>The poll belongs to this step, whose clock goes on. <kbd>a</kbd> opens its answers: the right one, and what each wrong one shows of whoever chose it.</p>";
  const OF_ONE_POLL = 2; // minutes
  const AGAIN = 2000; // milliseconds in which the second Esc must come
  const KEPT = `hb-present ${location.pathname}`;
  const PROJECTOR = `
    <style>
      body { align-items: center; background: #fff; color: #1c2430; display: flex; font: 4vmin/1.4 system-ui, sans-serif; height: 100vh; justify-content: center; margin: 0; }
      img { display: block; height: 98vh; object-fit: contain; width: 98vw; }
      div:not(:has(img)) { font-size: 6vmin; line-height: 1.25; max-width: 90vw; }
      p { margin: 0; }
      ul { list-style: upper-alpha; margin: 0.4em 0 0; padding-left: 1.6em; }
      .hb-poll__why { font-size: 3.6vmin; }
      .hb-poll__why { display: none; }
      .hb-answered .hb-poll__why { display: inline; }
      .hb-poll__answer strong { font-weight: inherit; }
      .hb-answered .hb-poll__answer strong { font-weight: 700; text-decoration: underline; }
    </style>`;

  /** What the page has: each step with the minutes that it takes, by version, 0 the whole. */
  const steps = [...document.querySelectorAll(".hb-strip .hb-step")].map((place, index) => ({
    number: index + 1,
    minutes: Object.fromEntries(Object.entries(place.dataset).filter(([key]) => /^m\d+$/.test(key)).map(([key, text]) => [key.slice(1), Number(text)])),
    title: place.querySelector(".hb-step__draw strong").textContent,
    picture: place.querySelector("img"),
    draw: place.querySelector(".hb-step__draw").innerHTML,
    say: place.querySelector(".hb-step__say").innerHTML,
    speech: place.querySelector(".hb-speech"),
    polls: [...document.querySelectorAll(`.hb-poll[data-step="${index + 1}"]`)],
  }));
  const total = (version) => steps.reduce((sum, { minutes }) => sum + (minutes[version] ?? 0), 0);

  /** The pictures with no answer, with one, and so on to all but the last. */
  const asks = ({ picture }) => picture.dataset.ask?.split(" ") ?? [];

  /** Whether a note says what the room answers, and is shown with the answers. */
  const answers = (note) => note.textContent.startsWith("They answer.");

  /** m:ss; what is over the time has a minus. */
  function clock(seconds) {
    const whole = Math.abs(Math.ceil(seconds));
    return `${seconds <= -1 ? "−" : ""}${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
  }

  /** Where the lesson stood when the page was reloaded, if one did. */
  function kept() {
    try {
      const state = JSON.parse(sessionStorage.getItem(KEPT));
      return state?.spent.length === steps.length && total(state.version) ? state : undefined;
    } catch {
      return undefined; // no storage, or not ours
    }
  }

  class Presenter {
    constructor() {
      this.dialog = Object.assign(document.createElement("dialog"), { className: "hb-presenter", innerHTML: SKELETON });
      this.dialog.setAttribute("aria-label", `Present: ${document.querySelector("h1").textContent.replace("¶", "")}`);
      this.version = 0;
      this.screen = 0;
      this.spent = steps.map(() => 0); // milliseconds in each step
      this.since = undefined; // when the clock last began to run
      this.begun = false; // whether it ever did
      this.shown = {}; // how many answers of each screen
      this.blanked = false;
      this.size = 0; // of the notes
      this.asked = 0; // when Esc was pressed
      this.left = undefined; // where the notes were before the questions
      const select = this.part("select");
      for (const version of [0, ...Object.keys(Object.assign({}, ...steps.map(({ minutes }) => minutes))).map(Number).filter(Boolean).sort((a, b) => b - a)]) {
        select.append(new Option(`${total(version)} minutes`, version));
      }
      select.addEventListener("input", () => {
        this.cut(Number(select.value));
        this.part("main").focus();
      });
      this.dialog.addEventListener("click", (event) => {
        const asked = event.target.closest("button");
        if (asked) this[asked.dataset.does]();
        // Clicked, not reached by keyboard: space is the pause again.
        if (event.detail && this.dialog.open && !event.target.closest("select, label, a")) this.part("main").focus();
      });
      // Before anything of the page has the key: wherever the focus is, Material would turn the page at n and p.
      addEventListener("keydown", (event) => this.dialog.open && this.key(event), true);
      this.dialog.addEventListener("cancel", (event) => {
        event.preventDefault(); // what a telephone has for Esc
        this.leave();
      });
      this.dialog.addEventListener("close", () => this.closed());
      document.body.append(this.dialog);
    }

    part(selector) {
      return this.dialog.querySelector(selector);
    }

    open() {
      this.dialog.showModal();
      this.part("main").focus(); // and not the first control, which would take the keys for itself
      this.ticking = setInterval(() => this.tick(), 250);
      navigator.wakeLock?.request("screen").then((lock) => (this.lock = lock), () => {});
      this.draw();
    }

    close() {
      this.dialog.close();
      this.closed(); // its event comes later, and a reload in between would go on with the lesson
    }

    /** Esc: a lesson does not end at one key pressed by mistake. */
    leave() {
      if (Date.now() - this.asked < AGAIN) return this.close();
      this.asked = Date.now();
      this.tell("Press Esc again to close the lesson.");
    }

    /** As it was before the page was reloaded: the clock has run on, and the projector follows again. */
    resume({ projecting, ...state }) {
      Object.assign(this, state);
      this.screen = Math.min(this.screen, this.screens.length - 1);
      this.part("select").value = this.version;
      this.scale(0);
      this.open();
      if (projecting) this.projector();
    }

    /** For a reload; what is undefined is left out. */
    keep() {
      const { version, screen, spent, since, begun, shown, size } = this;
      const projecting = Boolean(this.window && !this.window.closed);
      try {
        sessionStorage.setItem(KEPT, JSON.stringify({ version, screen, spent, since, begun, shown, size, projecting }));
      } catch {
        // no storage: a reload begins anew
      }
    }

    closed() {
      if (this.since !== undefined) this.pause();
      clearInterval(this.ticking);
      this.lock?.release();
      this.window?.close();
      try {
        sessionStorage.removeItem(KEPT);
      } catch {
        // nothing was kept
      }
      button.focus();
    }

    key(event) {
      event.stopPropagation();
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const does = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (does === "leave" && (event.repeat || event.currentTarget !== window)) return event.preventDefault();
      if (event.key === " " && event.target.matches?.("button, summary")) return;
      // A remote's keys and letters would choose another version; up and down still do, and Tab leads on.
      const select = event.target.matches?.("select");
      const scrolls = !select && event.key in SCROLLS && this.scroll(SCROLLS[event.key]);
      const chooses = select && !["ArrowUp", "ArrowDown", "Tab", "Enter", "Escape"].includes(event.key);
      if (does || scrolls || chooses) event.preventDefault();
      if (does) this[does]();
    }

    /** The steps of this version. */
    get own() {
      return steps.filter(({ minutes }) => this.version in minutes);
    }

    /** The screens of this version: its steps, each with its polls behind it. A step that gives up a poll's minutes gives up its polls, and a lesson of 20 minutes has no time for any. */
    get screens() {
      const polls = ({ minutes, polls }) => (this.version !== 20 && minutes[0] - minutes[this.version] < OF_ONE_POLL ? polls : []);
      return this.own.flatMap((step) => [{ step }, ...polls(step).map((poll) => ({ step, poll }))]);
    }

    /** How many answers are shown; a screen that is left keeps its own. */
    get answered() {
      return this.shown[`${this.version}:${this.screen}`] ?? 0;
    }

    /** How many there are. */
    get toAnswer() {
      const { step, poll } = this.here;
      return poll ? 1 : asks(step).length || Number([...step.speech.children].some(answers));
    }

    get here() {
      return this.screens[this.screen];
    }

    next() {
      if (!this.begun) this.pause(); // the lesson begins
      this.go(this.screen + 1);
    }

    back() {
      this.go(this.screen - 1);
    }

    go(screen) {
      if (screen < 0 || screen >= this.screens.length) return;
      this.count();
      this.turn(screen);
    }

    /** Another screen, from the top of its notes. */
    turn(screen) {
      this.screen = screen;
      this.blanked = false;
      this.left = undefined;
      this.part("aside").scrollTop = 0;
      this.draw();
    }

    /** Another version; the step stays, or the one before it that this version has. */
    cut(version) {
      this.count();
      const { step } = this.here;
      this.version = version;
      this.turn(Math.max(0, this.screens.findLastIndex((screen) => !screen.poll && screen.step.number <= step.number)));
    }

    pause() {
      this.count();
      this.since = this.since === undefined ? Date.now() : undefined;
      this.begun = true;
      this.draw();
    }

    /** One answer more; where the notes mark what's drawn, they go on from there. */
    answer() {
      if (this.answered === this.toAnswer) return;
      this.shown[`${this.version}:${this.screen}`] = this.answered + 1;
      this.draw();
      const drawn = this.dialog.querySelectorAll(".hb-presenter__notes .hb-draw")[this.answered - 1];
      const notes = this.part("aside");
      if (drawn) notes.scrollTop += drawn.getBoundingClientRect().top - notes.getBoundingClientRect().top;
    }

    /** To what the room may ask in this step, and at the next press back to the line where we were. */
    questions() {
      const first = this.part(".hb-presenter__notes .hb-asked");
      if (!first) return;
      this.dialog.classList.remove("hb-presenter--bare");
      const notes = this.part("aside");
      const scroller = notes.scrollHeight > notes.clientHeight ? notes : this.dialog; // a narrow window scrolls as a whole
      const { top, bottom } = scroller.getBoundingClientRect();
      const line = first.getBoundingClientRect().top;
      const back = this.left !== undefined && line < bottom;
      const place = back ? this.left : scroller.scrollTop + line - top;
      this.left = back ? undefined : scroller.scrollTop;
      scroller.scrollTop = place;
    }

    /** An empty board, until the same key or another screen; a remote has a key for it, b or the full stop. */
    blank() {
      this.blanked = !this.blanked;
      this.draw();
    }

    notes() {
      this.dialog.classList.toggle("hb-presenter--bare");
    }

    smaller() {
      this.scale(-1);
    }

    larger() {
      this.scale(1);
    }

    /** A page of the notes that begins with a whole line, the one last read; whether there is more of them than fits. */
    scroll(way) {
      const notes = this.part("aside");
      const { top, bottom } = notes.getBoundingClientRect();
      const lines = [...notes.querySelectorAll(".hb-presenter__notes > *, .hb-presenter__next")].map((line) => line.getBoundingClientRect());
      const read = lines.filter((line) => line.height && line.top > top - 1 && line.bottom < bottom + 1);
      const rest = lines.at(-1).bottom - bottom; // how far it is to the end
      let by = 0.85 * way * notes.clientHeight; // a line longer than the page
      if (way > 0 && rest < 1) by = 0;
      else if (way < 0 && read.length > 1) by = read[0].bottom - bottom;
      else if (read.length > 1) by = Math.min(read.at(-1).top, lines.find((line) => line.top - top >= rest).top) - top;
      notes.scrollTop += by;
      return notes.scrollHeight > notes.clientHeight;
    }

    /** The notes are read standing, from an arm's length or from two. */
    scale(by) {
      this.size = Math.min(6, Math.max(-2, this.size + by));
      this.dialog.style.setProperty("--hb-notes", 1.15 ** this.size);
    }

    /** A window with the picture alone: its keys do the same. */
    projector() {
      if (this.window && !this.window.closed) return this.window.focus();
      this.window = window.open("", "hb-projector", "popup,width=960,height=540"); // the same one again after a reload
      if (!this.window) return this.tell("The browser has blocked the window: allow it for this page, then press p again.");
      this.window.document.title = document.title;
      this.window.document.body.innerHTML = `${PROJECTOR}<div></div>`;
      this.window.onkeydown = (event) => this.key(event); // in place of the one from before a reload
      this.tell("Drag the other window onto the projector. F11 fills its screen.");
      this.draw();
    }

    tell(text) {
      this.part(".hb-presenter__said").textContent = text;
    }

    /** Adds what the clock has run to the step that is shown. */
    count() {
      if (this.since === undefined) return;
      const now = Date.now();
      this.spent[this.here.step.number - 1] += now - this.since;
      this.since = now;
    }

    tick() {
      this.count();
      this.keep();
      if (this.asked && Date.now() - this.asked >= AGAIN) {
        this.asked = 0;
        this.tell("");
      }
      const { step } = this.here;
      const sum = (numbers) => numbers.reduce((all, each) => all + each, 0);
      const own = step.minutes[this.version] * 60 - this.spent[step.number - 1] / 1000;
      const whole = total(this.version) * 60 - sum(this.spent) / 1000;
      const later = sum(steps.filter(({ number }) => number > step.number).map(({ minutes }) => (minutes[this.version] ?? 0) * 60));
      const late = later + Math.max(own, 0) - whole; // what the steps want, less what is left
      this.countDown(".hb-presenter__step", own);
      this.countDown(".hb-presenter__whole", whole);
      const minutes = Math.round(Math.abs(late) / 60);
      this.part(".hb-presenter__late").textContent = !this.begun ? "not started" : minutes ? `${minutes} min ${late > 0 ? "behind" : "ahead"}` : "";
    }

    countDown(selector, seconds) {
      const place = this.part(selector);
      place.textContent = clock(seconds);
      place.classList.toggle("hb-presenter--over", seconds <= -1);
    }

    draw() {
      const { step, poll } = this.here;
      const after = this.screens[this.screen + 1];
      this.dialog.classList.toggle("hb-answered", this.answered > 0);
      this.part(".hb-presenter__where").textContent = `${this.own.indexOf(step) + 1} of ${this.own.length} · ${step.title}`;
      this.part('[data-does="pause"]').textContent = this.since === undefined ? "Start" : "Pause";
      this.part('[data-does="back"]').disabled = !this.screen;
      this.part('[data-does="next"]').disabled = !after;
      const answer = this.part('[data-does="answer"]');
      answer.disabled = this.answered === this.toAnswer;
      answer.firstChild.data = poll ? "Answers " : "Draw on ";
      answer.lastChild.data = poll || !this.toAnswer ? "" : ` ${this.answered}/${this.toAnswer}`;
      const shown = this.blanked ? "" : poll ? this.question(poll) : this.picture(step);
      this.part(".hb-presenter__stage").innerHTML = shown;
      this.part(".hb-presenter__say").innerHTML = poll ? "" : step.say + step.draw;
      const notes = this.part(".hb-presenter__notes");
      if (poll) notes.innerHTML = OF_A_POLL;
      else notes.replaceChildren(...[...step.speech.children].filter((each) => this.has(each)).map((each) => each.cloneNode(true)));
      for (const each of notes.children) each.classList.toggle("hb-presenter__answer", answers(each));
      this.part('[data-does="questions"]').disabled = !notes.querySelector(".hb-asked");
      for (const link of this.dialog.querySelectorAll("a[href]")) link.target = "_blank"; // a figure must not end the lesson
      this.part(".hb-presenter__next").textContent = after ? `Next: ${after.poll ? "a poll" : after.step.title}` : "This is the last screen.";
      if (this.window && !this.window.closed) this.window.document.querySelector("div").innerHTML = shown;
      this.window?.document?.body?.classList.toggle("hb-answered", this.answered > 0);
      this.tick();
    }

    /** Whether a line of the speech belongs to this version. */
    has(line) {
      return !line.matches("summary") && (line.dataset.only?.split(" or ").includes(String(this.version)) ?? true);
    }

    /** A poll without the number of its step, which counts the sheet's steps and not those of this version. */
    question(poll) {
      return poll.innerHTML.replace(/, after step(?:\s|&nbsp;)\d+(?=\.)/, "");
    }

    /** The board after the step, without the answers that aren't shown yet. */
    picture(step) {
      const { picture } = step;
      const ask = asks(step)[this.answered];
      const image = new Image();
      image.src = ask ? new URL(ask, document.baseURI).href : picture.src;
      image.alt = picture.alt;
      return image.outerHTML;
    }
  }

  let presenter;
  button.hidden = false;
  button.addEventListener("click", () => {
    presenter ??= new Presenter();
    presenter.open();
  });
  const before = kept();
  if (before) (presenter = new Presenter()).resume(before);
})();

// The questions of a chapter: their choices become buttons, and what was chosen stays in this browser. Without scripts
// they are a list, and the answer is folded below it.
import { letterOf, progress, readAnswer } from "./quiz.model.js";

const KEY = `quiz ${location.pathname}`;

/**
 * What was chosen, a letter for each question's number; nothing where the browser keeps nothing.
 * @returns {Record<string, string>}
 */
function loadChosen() {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}");
  } catch {
    return {};
  }
}

/** @param {Record<string, string>} chosen */
function saveChosen(chosen) {
  try {
    if (Object.keys(chosen).length) localStorage.setItem(KEY, JSON.stringify(chosen));
    else localStorage.removeItem(KEY);
  } catch {
    // The page works as well without; it forgets when it is left.
  }
}

/** @param {string} name @param {string} className @param {(string | Node)[]} inside */
function makeElement(name, className, ...inside) {
  const element = document.createElement(name);
  element.className = className;
  element.append(...inside);
  return element;
}

/** One question: its list of choices and its folded answer, on the page. */
class Question {
  /**
   * @param {Element} list @param {Element} answer @param {Record<string, string>} chosen
   * @param {(letter: string) => void} choose
   */
  constructor(list, answer, chosen, choose) {
    this.number = answer.querySelector("summary")?.textContent?.match(/\d+/)?.[0] ?? "";
    this.paragraphs = [...answer.querySelectorAll(":scope > :not(summary)")];
    const { right, said } = readAnswer(this.paragraphs.map((each) => each.textContent ?? ""));
    this.right = right[0];
    this.said = said;
    this.why = makeElement("div", "hb-quiz__why");
    this.why.setAttribute("role", "status");
    this.buttons = [...list.children].map((item) => {
      const button = makeElement("button", "hb-quiz__choice", ...item.childNodes);
      button.setAttribute("type", "button");
      button.dataset.letter = letterOf(button.textContent ?? "");
      button.addEventListener("click", () => choose(button.dataset.letter ?? ""));
      item.append(button);
      return button;
    });
    this.letters = this.buttons.map((button) => button.dataset.letter ?? "");
    const whole = makeElement("fieldset", "hb-quiz", makeElement("legend", "hb-live__spoken", `Question ${this.number}`));
    const asked = list.previousElementSibling;
    if (asked) {
      asked.id ||= `question-${this.number}`;
      whole.setAttribute("aria-describedby", asked.id);
    }
    this.show(chosen[this.number]); // before it stands on the page: what was chosen earlier is not spoken
    list.replaceWith(whole);
    whole.append(list, this.why);
  }

  /**
   * Marks the choice and says why it is right or wrong; no letter: as if nothing had been chosen.
   * @param {string} [letter]
   */
  show(letter) {
    for (const button of this.buttons) {
      const chosen = button.dataset.letter === letter;
      button.setAttribute("aria-pressed", String(chosen));
      button.classList.toggle("right", chosen && letter === this.right);
    }
    this.why.replaceChildren();
    if (!letter || !this.letters.includes(letter)) return;
    const said = this.said[letter].map((index) => /** @type {Element} */ (this.paragraphs[index].cloneNode(true)));
    for (const clone of said.flatMap((each) => [...each.querySelectorAll("[id]")])) clone.removeAttribute("id");
    if (letter === this.right) said[0].querySelector("strong")?.remove(); // the answer's own "(b)."
    said[0].prepend(makeElement("strong", "", letter === this.right ? "Right." : "Wrong."), " ");
    this.why.append(...said);
  }
}

function start() {
  const answers = [...document.querySelectorAll("details.question")].filter((each) =>
    each.previousElementSibling?.matches("ul"),
  );
  if (!answers.length) return;
  let chosen = loadChosen();
  const status = makeElement("span", "");
  const forget = makeElement("button", "", "Forget my answers");
  forget.setAttribute("type", "button");
  const head = makeElement("div", "hb-quiz__progress", status, forget);
  const show = () => {
    status.textContent = progress(questions, questions.map(({ number }) => chosen[number]));
    forget.hidden = !Object.keys(chosen).length;
  };
  const questions = answers.map((answer) => {
    const list = /** @type {Element} */ (answer.previousElementSibling);
    const question = new Question(list, answer, chosen, (letter) => {
      chosen = { ...chosen, [question.number]: letter };
      saveChosen(chosen);
      question.show(letter);
      show();
    });
    return question;
  });
  forget.addEventListener("click", () => {
    saveChosen((chosen = {}));
    for (const question of questions) question.show();
    show();
    questions[0].buttons[0].focus(); // the button that was pressed is hidden now
  });
  document.getElementById("questions")?.after(head);
  show();
}

start();

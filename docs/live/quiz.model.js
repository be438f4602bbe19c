// The questions of a chapter: what its answers say to each choice, and how many were answered.

/**
 * What an answer says to each choice: "(b). …" to the right one, "(a) …" or "(c) and (d) …" to wrong ones, each with
 * the paragraphs after it.
 * @param {string[]} paragraphs @returns {{right: string[], said: Record<string, number[]>}} right: the letters said to
 *   be; said: which paragraphs
 */
export function readAnswer(paragraphs) {
  /** @type {string[]} */
  const right = [];
  /** @type {Record<string, number[]>} */
  const said = {};
  /** @type {string[]} */
  let letters = [];
  paragraphs.forEach((text, index) => {
    const [, first, second, stop] = /^\s*\(([a-z])\)(?: and \(([a-z])\))?(\.?)/.exec(text) ?? [];
    if (first) letters = second ? [first, second] : [first];
    if (stop) right.push(...letters);
    for (const letter of letters) (said[letter] ??= []).push(index);
  });
  return { right, said };
}

/** The letter of a choice, "(a) …"; empty if there is none. @param {string} text */
export const letterOf = (text) => /^\s*\(([a-z])\)/.exec(text)?.[1] ?? "";

/**
 * How far the reader is; a letter that a question does not offer was kept from an older page and does not count.
 * @param {{right: string, letters: string[]}[]} questions @param {(string | undefined)[]} chosen a letter each, or
 *   nothing yet
 */
export function progress(questions, chosen) {
  const answered = questions.filter(({ letters }, i) => letters.includes(chosen[i] ?? "")).length;
  const right = questions.filter((question, i) => question.right === chosen[i]).length;
  return answered
    ? `${answered} of ${questions.length} answered, ${right} right.`
    : "Choose an answer, and the page says why it is right or wrong.";
}

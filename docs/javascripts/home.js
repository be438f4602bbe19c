// The first page: the race, when it's asked for, and the sentence, which answers once it comes near.
{
  const VIEW = new URL("../live/home.view.js", document.currentScript.src).href;
  const load = (address) => (globalThis.importModule ?? ((name) => import(name)))(address); // a copy on a disk has no modules

  const race = document.querySelector(".replay");
  const signature = document.querySelector(".signature");
  race.hidden = matchMedia("(prefers-reduced-motion: reduce)").matches;
  race.addEventListener("click", () => {
    signature.classList.remove("racing");
    signature.getBoundingClientRect(); // the old movement ends before a new one begins
    signature.classList.add("racing");
  });
  race.addEventListener("animationend", ({ animationName }) => {
    if (animationName === "appear") signature.classList.remove("racing"); // the end looks as the beginning did
  });

  const sentence = document.querySelector(".sentence");
  const near = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      near.disconnect();
      load(VIEW).then(({ start }) => start(sentence));
    },
    { rootMargin: "300px 0px" },
  );
  near.observe(sentence);
}

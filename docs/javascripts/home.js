// The first page: the race once more, and the sentence, which answers once it comes near.
{
  const VIEW = new URL("../live/sentence.view.js", document.currentScript.src).href;
  const load = (address) => (globalThis.imported ?? ((name) => import(name)))(address); // a copy on a disk has no modules

  const again = document.querySelector(".replay");
  const signature = document.querySelector(".signature");
  again.hidden = matchMedia("(prefers-reduced-motion: reduce)").matches;
  again.addEventListener("click", () => {
    signature.classList.add("still");
    signature.getBoundingClientRect(); // the old movement ends before a new one begins
    signature.classList.remove("still");
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

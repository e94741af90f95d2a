"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const articles = [...document.querySelectorAll("article")];
  const texts = new Map();
  // The texts of an entry; how a folded text begins stands there twice, and counts once.
  const nodesOf = (article) => {
    const walker = document.createTreeWalker(article, NodeFilter.SHOW_ALL, (node) =>
      node.nodeName === "SUMMARY" ? NodeFilter.FILTER_REJECT
        : node.nodeType === Node.TEXT_NODE ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_SKIP);
    const nodes = [];
    while (walker.nextNode()) nodes.push(walker.currentNode);
    return nodes;
  };
  const textOf = (article) => {
    if (!texts.has(article)) {
      // A long text is laid out in pieces, which belong together; everything else stands apart.
      const block = (node) => node.parentElement.tagName === "SPAN" ? node.parentElement.parentElement : node.parentElement;
      let last = null;
      const text = nodesOf(article).map((node) => {
        const apart = last && block(last) !== block(node) ? "\n" : "";
        last = node;
        return apart + node.data;
      });
      texts.set(article, text.join("").toLowerCase());
    }
    return texts.get(article);
  };
  let found = [], at = -1, marked = null;

  const unmark = () => {
    if (!marked) return;
    for (const mark of marked.querySelectorAll("mark")) mark.replaceWith(...mark.childNodes);
    marked.normalize();
    marked = null;
  };

  // Every place of the words in one entry becomes a mark. Only one entry has marks at a time.
  const markIn = (article, words) => {
    unmark();
    marked = article;
    for (let node of nodesOf(article)) {
      let from = node.data.toLowerCase().indexOf(words);
      while (from >= 0 && node.data.length >= from + words.length) {
        const hit = node.splitText(from);
        node = hit.splitText(words.length);
        const mark = document.createElement("mark");
        hit.replaceWith(mark);
        mark.append(hit);
        from = node.data.toLowerCase().indexOf(words);
      }
    }
  };

  const reveal = (element) => {
    for (let up = element; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
  };

  const words = () => byId("words").value.trim().toLowerCase();

  const go = (step) => {
    if (!found.length) return;
    at = (at + step + found.length) % found.length;
    const { article, nth } = found[at];
    if (marked !== article) markIn(article, words());
    const marks = article.querySelectorAll("mark");
    marks.forEach((mark) => mark.classList.remove("now"));
    const mark = marks[Math.min(nth, marks.length - 1)];
    reveal(mark || article);
    if (mark) mark.classList.add("now");
    (mark || article).scrollIntoView({ block: "center" });
    tell();
  };

  const tell = () => {
    const entries = new Set(found.map((hit) => hit.article)).size;
    byId("found").textContent = !words() ? "" : !found.length ? "no match"
      : `${at + 1} of ${found.length} in ${entries} ${entries === 1 ? "entry" : "entries"}`;
  };

  const shows = (article) => {
    const wanted = byId("kind").value;
    return wanted === "" || (wanted === "changed" ? article.dataset.changed === "1"
      : wanted === "active" ? !article.classList.contains("off") : article.classList.contains(wanted));
  };

  const search = () => {
    const wanted = words();
    unmark();
    found = [];
    at = -1;
    for (const article of articles) {
      const shown = shows(article);
      article.classList.toggle("hidden", !shown);
      if (!wanted || !shown) continue;
      const text = textOf(article);
      for (let from = text.indexOf(wanted), nth = 0; from >= 0; from = text.indexOf(wanted, from + wanted.length), nth++)
        found.push({ article, nth });
    }
    if (found.length) go(1);
    tell();
  };

  let timer = 0;
  byId("words").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, 150); });
  byId("words").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    go(event.shiftKey ? -1 : 1);
  });
  byId("kind").addEventListener("change", search);
  byId("next").addEventListener("click", () => go(1));
  byId("before").addEventListener("click", () => go(-1));
  byId("unfold").addEventListener("click", () => {
    const all = [...document.querySelectorAll("main details")];
    const open = all.some((details) => !details.open);
    all.forEach((details) => { details.open = open; });
  });
  byId("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== byId("words")) { event.preventDefault(); byId("words").focus(); }
  });

  // `#q=words` searches at once; `#e12` goes to an entry, also inside a folded branch.
  const follow = () => {
    const hash = decodeURIComponent(location.hash.slice(1));
    if (hash.startsWith("q=")) { byId("words").value = hash.slice(2); search(); }
    else if (hash) { const target = byId(hash); if (target) { reveal(target); target.scrollIntoView(); } }
  };
  addEventListener("hashchange", follow);
  follow();
})();

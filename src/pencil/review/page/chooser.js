// Finds a class by its number or a part of its name.

import { $, el } from "/dom.js";

const MOST = 100;
const dialog = $("chooser");
const typed = $("typed");
const options = $("options");
let classes = [];
let found = [];
let chosen = 0;
let settle = () => {};

// The same letter may be one sign or two (names of folders from a Mac), and is typed as one.
const plain = (text) => text.normalize().toLowerCase();

function matches(text) {
  const wanted = plain(text.trim());
  if (!wanted) return classes.map((_, number) => number);
  const order = (number) => {
    const name = plain(classes[number]);
    if (name === wanted) return 0;
    if (String(number) === wanted) return 1;
    if (name.startsWith(wanted)) return 2;
    if (String(number).startsWith(wanted)) return 3;
    return name.includes(wanted) ? 4 : 5;
  };
  const ranked = classes.map((_, number) => [order(number), number]).filter(([place]) => place < 5);
  return ranked.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, number]) => number);
}

function show() {
  found = matches(typed.value).slice(0, MOST);
  chosen = Math.max(0, Math.min(chosen, found.length - 1));
  options.replaceChildren(...found.map((number, place) => {
    const attributes = { role: "option", id: `option-${place}`, "aria-selected": String(place === chosen) };
    const option = el("li", attributes, el("span", { class: "number" }, String(number)), " ", classes[number]);
    option.addEventListener("click", () => finish(number));
    return option;
  }));
  if (!found.length) options.append(el("li", { class: "none" }, "no such class"));
  typed.setAttribute("aria-activedescendant", found.length ? `option-${chosen}` : "");
  options.children[chosen]?.scrollIntoView({ block: "nearest" });
}

function finish(number) {
  const done = settle;
  settle = () => {};
  dialog.close();
  done(number);
}

export function setClasses(names) {
  classes = names;
}

// Resolves with a class number, or null where the person left.
export function choose(start = "") {
  typed.value = start;
  chosen = 0;
  show();
  dialog.showModal();
  typed.focus();
  return new Promise((resolve) => { settle = resolve; });
}

typed.addEventListener("input", () => { chosen = 0; show(); });
typed.addEventListener("keydown", (event) => {
  // Until a sign is composed (of kana, say) these keys are for what composes it.
  if (event.isComposing) return;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    chosen += event.key === "ArrowDown" ? 1 : -1;
    show();
  } else if (event.key === "Enter") {
    if (found.length) finish(found[chosen]);
  } else return;
  event.preventDefault();
});
dialog.addEventListener("close", () => finish(null));

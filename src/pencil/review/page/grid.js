// Many examples at once.

import { $, el, isLong, percent } from "/dom.js";
import { mark, nameOf, page, verdict } from "/state.js";

const grid = $("grid");

export function draw(opened, focused) {
  grid.replaceChildren(...page.items.map((item, place) => {
    const card = el("button", { type: "button", class: "card", tabindex: -1 },
      face(item), pairOf(item), el("span", { class: "meta" }));
    // The first click or tap chooses a card, another one opens it.
    let chosen = true;
    card.addEventListener("pointerdown", () => { chosen = place === page.focus; });
    card.addEventListener("focus", () => focused(place));
    card.addEventListener("click", () => (chosen ? opened(place) : focused(place)));
    return el("li", {}, card);
  }));
  page.items.forEach((_, place) => update(place));
}

function face(item) {
  if (page.kind === "images") {
    const image = el("img", { alt: "", loading: "lazy", decoding: "async", src: `/thumbnail?row=${item.row}` });
    image.addEventListener("load", () => image.classList.toggle("small", image.naturalWidth <= 64));
    return el("span", { class: "face" }, image, el("span", { class: "badge" }));
  }
  const rows = item.values.map(([name, value]) => el("span", { class: isLong(value) ? "value long" : "value" }, el("i", {}, name), el("b", {}, value)));
  return el("span", { class: "face rows" }, ...rows, el("span", { class: "badge" }));
}

export function pairOf(item) {
  if (item.given === item.corrected) return el("span", { class: "pair same" }, el("b", {}, nameOf(item.given)), " ?");
  return el("span", { class: "pair" }, el("s", {}, nameOf(item.given)), el("span", {}, "→ ", el("b", {}, nameOf(item.corrected))));
}

export function update(place) {
  const item = page.items[place];
  const card = grid.children[place]?.firstChild;
  if (!card) return;
  const [kind] = verdict(item);
  card.dataset.state = kind;
  card.tabIndex = place === page.focus ? 0 : -1;
  card.setAttribute("aria-current", String(place === page.focus));
  card.querySelector(".meta").textContent = `quality ${percent(item.quality)}`;
  card.querySelector(".badge").textContent = mark(item);
  const said = mark(item) || "to do";
  card.setAttribute("aria-label", `${item.id}: given ${nameOf(item.given)}, suggested ${nameOf(item.corrected)}, ${said}`);
}

export function focus() {
  // Whoever began to type before a page came is not to decide by letters.
  if (!document.activeElement?.matches("#filters input, #filters select")) grid.children[page.focus]?.firstChild.focus();
}

// How many cards stand in a line, as the window is now.
export function columns() {
  const tops = Array.from(grid.children, (child) => child.offsetTop);
  const line = tops.findIndex((top) => top !== tops[0]);
  return line < 0 ? tops.length : line;
}

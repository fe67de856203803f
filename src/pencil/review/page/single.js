// One example at a time.

import { ask } from "/api.js";
import { $, el, isLong, percent } from "/dom.js";
import { current, keyOf, mark, nameOf, page, verdict } from "/state.js";

const KEPT = 50;
const MAGNIFIED = 32;
const FEW = 10;
const section = $("single");
const details = new Map();

function detail(row) {
  if (!details.has(row)) {
    details.set(row, ask("/api/example", { row }).catch((error) => { details.delete(row); throw error; }));
    if (details.size > KEPT) details.delete(details.keys().next().value);
  }
  return details.get(row);
}

// The next picture is fetched while the person looks at this one.
let ahead = { row: null, image: null };

function picture(item) {
  if (ahead.row === item.row) return ahead.image;
  const image = el("img", { alt: `example ${item.id}`, decoding: "async", src: `/image?row=${item.row}` });
  image.addEventListener("load", () => {
    image.classList.toggle("small", image.naturalWidth <= 64);
    // A handful of pixels is easier to read when it is not blown up to the whole window.
    image.style.setProperty("max-width", `${MAGNIFIED * image.naturalWidth}px`);
  });
  return image;
}

function prefetch() {
  const next = page.items[page.focus + 1];
  if (!next) return;
  if (page.kind === "images") ahead = { row: next.row, image: picture(next) };
  detail(next.row).catch(() => {});
}

function button(act, name, key, text, disabled = false) {
  const made = el("button", { type: "button", class: name, disabled, "aria-keyshortcuts": key },
    el("kbd", { "aria-hidden": "true" }, key.toUpperCase()), " ", text);
  made.addEventListener("click", () => act(name));
  return made;
}

// Where there are few classes each has a button.
function classButtons(item, act) {
  if (page.classes.length > FEW) return null;
  const buttons = page.classes.map((name, number) => {
    const key = keyOf(number);
    const made = el("button", { type: "button", "aria-keyshortcuts": key, "data-label": number },
      key && el("kbd", { "aria-hidden": "true" }, key), " ", name);
    made.addEventListener("click", () => act("label", number));
    return made;
  });
  return el("div", { class: "classes", role: "group", "aria-label": "Choose a class" }, ...buttons);
}

function fact(name, value) {
  return el("div", {}, el("dt", {}, name), el("dd", {}, value));
}

function facts(item) {
  const moved = item.num_changes ? `${item.num_changes}×, last in epoch ${item.changed_at + 1}` : "never";
  return el("dl", { class: "facts" },
    fact("Quality of the given label", percent(item.quality)),
    fact("Confidence of the suggestion", percent(item.confidence)),
    fact("The network says", nameOf(item.network)),
    fact("Label moved", moved),
    fact("The run would", item.decision),
    fact("Set", item.split));
}

export function draw(act) {
  const item = current();
  if (!item) return section.replaceChildren();
  const look = el("div", { class: "look" }, page.kind === "images" ? picture(item) : el("table", { class: "values" }));
  const labels = el("div", { class: "labels" },
    el("div", {}, el("span", {}, "Given"), el("strong", { class: "given" }, nameOf(item.given))),
    el("div", {}, el("span", {}, "Suggested"), el("strong", { class: "suggested" }, nameOf(item.corrected))));
  const buttons = el("div", { class: "acts", role: "group", "aria-label": "Decide" },
    button(act, "accept", "a", "Accept"), button(act, "keep", "k", "Keep", item.given === null),
    button(act, "choose", "c", "Other…"), button(act, "skip", "s", "Skip"), button(act, "undo", "u", "Undo"));
  const side = el("div", { class: "side" }, el("h2", {}, item.id), labels,
    el("p", { class: "badge" }), buttons, classButtons(item, act), el("div", { class: "top" }), facts(item));
  section.replaceChildren(look, side);
  update();
  fill(item);
  prefetch();
}

async function fill(item) {
  const full = await detail(item.row).catch(() => null);
  if (!full || current() !== item) return;
  if (full.top) {
    const bars = full.top.map(([label, share]) => {
      const bar = el("li", {}, el("span", {}, nameOf(label)), el("span", { class: "share" }, percent(share)));
      bar.style.setProperty("--share", `${100 * share}%`);
      return bar;
    });
    section.querySelector(".top").replaceChildren(el("h3", {}, "What the run believes"), el("ol", {}, ...bars));
  }
  if (page.kind !== "images") {
    const rows = full.values.map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", isLong(value) ? { class: "long" } : {}, value)));
    section.querySelector(".values").replaceChildren(el("tbody", {}, ...rows));
  }
}

export function update() {
  const item = current();
  const badge = section.querySelector(".badge");
  if (!item || !badge) return;
  section.dataset.state = verdict(item)[0];
  badge.textContent = mark(item) || "to do";
}

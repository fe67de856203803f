// The filters, kept in the address so that a reload comes back to the same place.

import { $, count, el } from "/dom.js";

const form = $("filters");
const NAMES = ["decision", "status", "given", "corrected", "low", "high", "find"];
const DEFAULTS = { decision: "suspects", status: "open", given: "", corrected: "", low: "0", high: "1", find: "" };

function classOptions(select, classes) {
  select.replaceChildren(el("option", { value: "" }, "any"), ...classes.map((name, number) => el("option", { value: number }, name)));
}

export function setUp(summary, changed) {
  classOptions(form.elements.given, summary.classes);
  classOptions(form.elements.corrected, summary.classes);
  const counts = { ...summary.decisions, suspects: summary.decisions.relabel + summary.decisions.review };
  counts.any = counts.suspects + counts.keep;
  for (const option of form.elements.decision.options) option.append(` (${count(counts[option.value])})`);
  $("pairs").replaceChildren(...summary.pairs.map((pair) => pairButton(pair, summary.classes, changed)));
  let timer = 0;
  const soon = (wait) => { clearTimeout(timer); timer = setTimeout(() => { mark(); changed(); }, wait); };
  form.addEventListener("input", (event) => soon(event.target.name === "find" ? 200 : 0));
  form.addEventListener("reset", () => soon(0));
  form.addEventListener("submit", (event) => { event.preventDefault(); soon(0); });
}

function pairButton([given, corrected, number], classes, changed) {
  const label = `${classes[given]} → ${classes[corrected]}`;
  const button = el("button", { type: "button", "data-given": given, "data-corrected": corrected },
    label, " ", el("span", { class: "number" }, count(number)));
  button.addEventListener("click", () => {
    const on = button.getAttribute("aria-pressed") !== "true";
    form.elements.given.value = on ? given : "";
    form.elements.corrected.value = on ? corrected : "";
    mark();
    changed();
  });
  return button;
}

function mark() {
  const { given, corrected } = form.elements;
  for (const button of $("pairs").children) {
    const same = button.dataset.given === given.value && button.dataset.corrected === corrected.value;
    button.setAttribute("aria-pressed", String(same));
  }
}

export function query() {
  const wanted = {};
  for (const name of NAMES) {
    const field = form.elements[name];
    const value = field.value.trim();
    if (value !== "" && field.validity.valid) wanted[name] = value;
  }
  return wanted;
}

export function isOpenOnly() {
  return form.elements.status.value === "open";
}

export function restore() {
  const kept = new URLSearchParams(location.hash.slice(1));
  for (const name of NAMES) form.elements[name].value = kept.get(name) ?? DEFAULTS[name];
  mark();
  return { view: kept.get("view") === "single" ? "single" : "grid", rank: Number(kept.get("at")) || 0 };
}

export function remember(view, rank) {
  const kept = Object.entries(query()).filter(([name, value]) => value !== DEFAULTS[name]);
  if (view === "single") kept.push(["view", view]);
  if (rank) kept.push(["at", rank]);
  history.replaceState(null, "", kept.length ? `/#${new URLSearchParams(kept)}` : "/");
}

// The filters, kept in the address so that a reload comes back to the same place.

import { $, count, el } from "/dom.js";

const form = $("filters");
const NAMES = ["decision", "status", "given", "corrected", "low", "high", "find"];
const DEFAULTS = { decision: "suspects", status: "open", given: "", corrected: "", low: "0", high: "1", find: "" };
// How long typing may pause: the 1 of a 1.5 is no bound yet.
const TYPED_MS = { find: 200, low: 400, high: 400 };
// The bounds as they last were numbers from 0 to 1: these filter while someone types, or has typed something else.
const bounds = { low: "", high: "" };

function classOptions(select, classes) {
  select.replaceChildren(el("option", { value: "" }, "any"), ...classes.map((name, number) => el("option", { value: number }, name)));
}

export function setUp(summary, changed) {
  classOptions(form.elements.given, summary.classes);
  classOptions(form.elements.corrected, summary.classes);
  const { keep, relabel, review } = summary.decisions;
  const counts = { keep, relabel, review, suspects: summary.suspects, any: keep + relabel + review };
  for (const option of form.elements.decision.options) option.append(` (${count(counts[option.value])})`);
  $("pairs").replaceChildren(...summary.pairs.map((pair) => pairButton(pair, summary.classes, changed)));
  let timer = 0;
  const soon = (wait) => { clearTimeout(timer); timer = setTimeout(() => { check(); changed(); }, wait); };
  form.addEventListener("input", (event) => soon(TYPED_MS[event.target.name] ?? 0));
  form.addEventListener("reset", () => soon(0));
  form.addEventListener("submit", (event) => { event.preventDefault(); soon(0); });
}

function pairButton([given, corrected, number], classes, changed) {
  const button = el("button", { type: "button", "data-given": given, "data-corrected": corrected },
    el("bdi", {}, classes[given]), " → ", el("bdi", {}, classes[corrected]), " ", el("span", { class: "number" }, count(number)));
  button.addEventListener("click", () => {
    const on = button.getAttribute("aria-pressed") !== "true";
    form.elements.given.value = on ? given : "";
    form.elements.corrected.value = on ? corrected : "";
    check();
    changed();
  });
  return button;
}

function check() {
  const wrong = ["low", "high"].filter((name) => !takeBound(form.elements[name]));
  $("wrong").hidden = !wrong.length;
  markPair();
}

// Any number from 0 to 1 is a bound, not only those that the field's arrows lead to.
function takeBound(field) {
  const { badInput, rangeUnderflow, rangeOverflow } = field.validity;
  const taken = !(badInput || rangeUnderflow || rangeOverflow);
  field.setAttribute("aria-invalid", String(!taken));
  if (taken) bounds[field.name] = field.value.trim();
  return taken;
}

function markPair() {
  const { given, corrected } = form.elements;
  for (const button of $("pairs").children) {
    const same = button.dataset.given === given.value && button.dataset.corrected === corrected.value;
    button.setAttribute("aria-pressed", String(same));
  }
}

export function query() {
  const wanted = {};
  for (const name of NAMES) {
    const value = bounds[name] ?? form.elements[name].value.trim();
    if (value !== "") wanted[name] = value;
  }
  return wanted;
}

export function isOpenOnly() {
  return form.elements.status.value === "open";
}

// Whether anything but what was decided keeps examples out.
export function isNarrow() {
  const wanted = query();
  return ["given", "corrected", "low", "high", "find"].some((name) => (wanted[name] ?? DEFAULTS[name]) !== DEFAULTS[name]);
}

export function restore() {
  const kept = new URLSearchParams(location.hash.slice(1));
  for (const name of NAMES) form.elements[name].value = kept.get(name) ?? DEFAULTS[name];
  check();
  return { view: kept.get("view") === "single" ? "single" : "grid", rank: Number(kept.get("at")) || 0 };
}

export function remember(view, rank) {
  const kept = Object.entries(query()).filter(([name, value]) => value !== DEFAULTS[name]);
  if (view === "single") kept.push(["view", view]);
  if (rank) kept.push(["at", rank]);
  history.replaceState(null, "", kept.length ? `/#${new URLSearchParams(kept)}` : "/");
}

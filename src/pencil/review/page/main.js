// The page: shows examples, takes decisions, and follows what others decide.

import { ask, Outbox } from "/api.js";
import { choose, setClasses } from "/chooser.js";
import { $, count } from "/dom.js";
import * as filters from "/filters.js";
import * as grid from "/grid.js";
import { listen } from "/keys.js";
import * as single from "/single.js";
import { current, keyOf, page, SKIPPED } from "/state.js";

const SIZE = 60;
const POLL_MS = 2000;
const outbox = new Outbox(tellSaved);
let known = 0;
let asked = 0;
let leaving = null;
let undoing = 0;

function tellSaved(problem) {
  $("trouble").hidden = !problem;
  $("trouble").textContent = problem ? `Not saved yet: ${problem}` : "";
  $("saved").textContent = outbox.size ? `Saving ${outbox.size}…` : "All saved";
  $("saved").dataset.state = problem ? "trouble" : outbox.size ? "busy" : "saved";
}

function tellTrouble(error) {
  const away = error.name === "TypeError";
  $("trouble").textContent = away ? "The server does not answer: is pencil review still running?" : error.message;
  $("trouble").hidden = false;
}

function tellProgress(found) {
  $("progress").max = Math.max(found.suspects, 1);
  $("progress").value = found.suspects_decided;
  const skipped = found.skipped ? `, ${count(found.skipped)} skipped` : "";
  $("counts").textContent = `${count(found.suspects_decided)} of ${count(found.suspects)} suspects decided${skipped}`;
}

// Loads a page from a rank on, or the one before it.
async function load(where, focus = 0) {
  const turn = ++asked;
  const found = await ask("/api/page", { ...filters.query(), limit: SIZE, ...where }).catch(tellTrouble);
  if (turn !== asked || !found) return;
  Object.assign(page, { items: found.items, total: found.total, begin: found.begin });
  page.focus = Math.max(0, Math.min(focus === "last" ? Infinity : focus, page.items.length - 1));
  tellProgress(found);
  draw();
}

function draw() {
  const empty = !page.items.length;
  $("grid").hidden = page.view !== "grid" || empty;
  $("single").hidden = page.view !== "single" || empty;
  $("nothing").hidden = !empty;
  const open = filters.isOpenOnly();
  const found = open ? "No example that is still to do matches these filters." : "No example matches these filters.";
  const done = open && !filters.isNarrow() ? "Nothing is left to do here." : found;
  const end = `This is the end of the list; ${count(page.begin)} before it.`;
  $("nothing").textContent = page.begin ? end : `${done} The final labels are written by: pencil labels RUN --apply`;
  for (const view of ["grid", "single"]) $(`view-${view}`).setAttribute("aria-pressed", String(view === page.view));
  if (page.view === "grid") grid.draw((place) => { focusOn(place); show("single"); }, focusOn);
  else single.draw(act);
  place();
}

function place() {
  const last = page.begin + page.items.length;
  const inside = page.view === "single" ? page.focus : 0;
  const after = page.view === "single" ? page.items.length - 1 - page.focus : 0;
  $("earlier").disabled = page.begin + inside <= 0;
  $("later").disabled = last >= page.total && after <= 0;
  const here = page.view === "single" ? count(page.begin + page.focus + 1) : `${count(page.begin + 1)}–${count(last)}`;
  $("place").textContent = page.items.length ? `${here} of ${count(page.total)}` : "";
  filters.remember(page.view, current()?.rank ?? 0);
}

function focusOn(index) {
  if (index === page.focus) return;
  const before = page.focus;
  page.focus = index;
  if (page.view === "single") single.draw(act);
  else [before, index].forEach(grid.update);
  place();
}

function show(view) {
  page.view = view;
  draw();
  if (view === "grid") grid.focus();
}

// Pages go by rank, which no decision changes: nothing is passed over when examples leave the list.
const later = () => (page.items.length ? load({ from: page.items.at(-1).rank + 1 }) : undefined);
const earlier = (focus) => (page.items.length ? load({ before: page.items[0].rank }, focus) : load({ from: 0 }));

const isLastPage = () => page.begin + page.items.length >= page.total;

async function move(step) {
  const next = page.focus + step;
  if (next >= page.items.length) {
    if (step === 1 && !isLastPage()) await later();
  } else if (next < 0) {
    if (step === -1 && page.begin > 0) await earlier("last");
  } else focusOn(next);
  if (page.view === "grid") grid.focus();
}

async function turn(step) {
  if (step > 0 ? isLastPage() : page.begin <= 0) return;
  await (step > 0 ? later() : earlier(0));
  if (page.view === "grid") grid.focus();
}

function refresh(row, state) {
  const index = page.items.findIndex((item) => item.row === row);
  if (index < 0) return index;
  page.items[index].state = state;
  if (page.view === "grid") grid.update(index);
  else if (index === page.focus) single.update();
  return index;
}

// A key that comes before the next page does is not for the example that was decided; nor is one that comes before
// an undo has led back for the example that is left.
const takes = (item) => item && item !== leaving && !undoing;

async function decide(label) {
  const item = current();
  if (!takes(item)) return;
  const isEnd = page.focus === page.items.length - 1;
  const wasLast = isEnd && isLastPage();
  if (isEnd) leaving = item;
  item.pending = label ?? SKIPPED;
  refresh(item.row, item.state);
  const saved = outbox.post("/api/decide", { row: item.row, label });
  const moved = move(1);
  try {
    const found = await saved;
    delete item.pending;
    refresh(found.row, found.state);
    tellProgress(found);
    // Back to what was passed over, or to the word that nothing was.
    if (wasLast && filters.isOpenOnly()) await load({ from: 0 });
  } catch (error) {
    delete item.pending;
    refresh(item.row, item.state);
    tellSaved(error.message);
  }
  await moved;
  if (leaving === item) leaving = null;
}

async function undo() {
  undoing += 1;
  try {
    await goBack(await outbox.post("/api/undo", {}));
  } finally {
    undoing -= 1;
  }
}

async function goBack(found) {
  tellProgress(found);
  if (found.row === null) return;
  const index = refresh(found.row, found.state);
  if (index >= 0) focusOn(index);
  else await load({ from: (await ask("/api/example", { row: found.row })).rank });
  if (page.view === "grid") grid.focus();
}

async function chooseClass(start) {
  const item = current();
  if (!takes(item)) return;
  const label = await choose(start);
  if (label !== null && current()?.row === item.row) await decide(label);
  else if (page.view === "grid") grid.focus();
}

function act(name, text) {
  const item = current();
  if (name === "undo") return undo();
  if (!item) return undefined;
  if (name === "accept") return decide(item.corrected);
  if (name === "keep") return item.given === null ? undefined : decide(item.given);
  if (name === "skip") return decide(null);
  if (name === "label") return decide(text);
  if (name === "class" && page.classes.length <= 10) {
    const label = page.classes.findIndex((_, number) => keyOf(number) === text);
    return label < 0 ? undefined : decide(label);
  }
  return chooseClass(text ?? "");
}

async function follow() {
  try {
    const found = await ask("/api/changes", { since: known });
    known = found.sequence;
    found.changes.forEach(({ row, state }) => refresh(row, state));
    tellProgress(found);
    if (!outbox.size) tellSaved("");
  } catch (error) {
    if (!outbox.size) tellTrouble(error);
  }
}

async function start() {
  const summary = await ask("/api/summary");
  Object.assign(page, { classes: summary.classes, kind: summary.kind });
  document.body.dataset.kind = summary.kind;
  known = summary.sequence;
  setClasses(summary.classes);
  filters.setUp(summary, () => { filters.remember(page.view, 0); load({ from: 0 }); });
  const kept = filters.restore();
  page.view = kept.view;
  tellSaved("");
  await load({ from: kept.rank });
  if (!page.items.length && kept.rank) await load({ from: 0 });
  if (page.view === "grid") grid.focus();
  setInterval(() => { if (!document.hidden) follow(); }, POLL_MS);
}

$("view-grid").addEventListener("click", () => show("grid"));
$("view-single").addEventListener("click", () => show("single"));
$("earlier").addEventListener("click", () => (page.view === "single" ? move(-1) : earlier(0)));
$("later").addEventListener("click", () => (page.view === "single" ? move(1) : later()));
$("show-help").addEventListener("click", () => $("help").showModal());
window.addEventListener("beforeunload", (event) => { if (outbox.size) event.preventDefault(); });
listen({
  act,
  move,
  lines: grid.columns,
  page: turn,
  open: () => show("single"),
  toggle: () => show(page.view === "grid" ? "single" : "grid"),
  leave: () => page.view === "single" && show("grid"),
});
const narrow = matchMedia("(max-width: 46rem)");
const fold = () => { $("fold").open = !narrow.matches; };
narrow.addEventListener("change", fold);
fold();
// The token has become a cookie; out of the address it is in no history and on no screenshot.
history.replaceState(null, "", `/${location.hash}`);
start().catch(tellTrouble);

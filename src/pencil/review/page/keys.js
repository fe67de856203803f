// What each key does.

import { $ } from "/dom.js";
import { page } from "/state.js";

const ACTS = { a: "accept", k: "keep", c: "choose", s: "skip", u: "undo" };

function isTyping(target) {
  return target.matches("input, select, textarea") || target.closest("dialog") !== null;
}

export function listen(can) {
  const moves = {
    ArrowRight: () => can.move(1),
    ArrowLeft: () => can.move(-1),
    ArrowDown: () => page.view === "grid" && can.move(can.lines()),
    ArrowUp: () => page.view === "grid" && can.move(-can.lines()),
    "]": () => can.page(1),
    "[": () => can.page(-1),
    g: () => can.toggle(),
    Escape: () => can.leave(),
    "/": () => $("filters").elements.find.focus(),
    "?": () => $("help").showModal(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.matches("#filters input, #filters select")) event.target.blur();
    if (isTyping(event.target) || event.altKey) return;
    const undo = (event.ctrlKey || event.metaKey) && event.key === "z";
    if ((event.ctrlKey || event.metaKey) && !undo) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (undo) can.act("undo");
    // A key that is held down would decide example after example unseen.
    else if (ACTS[key]) { if (!event.repeat) can.act(ACTS[key]); }
    else if (/^[0-9]$/.test(key)) { if (!event.repeat) can.act("class", key); }
    else if (moves[key]) moves[key]();
    else if (key === "Enter" && event.target.matches(".card")) can.open();
    else return;
    event.preventDefault();
  });
}

// What each key does.

import { $ } from "/dom.js";
import { page } from "/state.js";

const ACTS = { a: "accept", k: "keep", c: "choose", s: "skip", u: "undo" };

function isTyping(target) {
  return target.matches("input, select, textarea") || target.closest("dialog") !== null;
}

// On a keyboard of another script a letter's key is known by its place.
function nameOf(event) {
  const name = event.key.length > 1 || /[ -~]/.test(event.key) ? event.key : event.code.replace(/^Key/, "");
  return name.length === 1 ? name.toLowerCase() : name;
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
    if (isTyping(event.target)) return;
    const key = nameOf(event);
    // On many keyboards brackets need AltGr, which is Control and Alt on some systems and Alt on others.
    const composed = event.altKey && (key === "[" || key === "]");
    const undo = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && key === "z";
    if ((event.ctrlKey || event.metaKey || event.altKey) && !undo && !composed) return;
    // A key that is held down would decide example after example unseen.
    if (undo) { if (!event.repeat) can.act("undo"); }
    else if (ACTS[key]) { if (!event.repeat) can.act(ACTS[key]); }
    else if (/^[0-9]$/.test(key)) { if (!event.repeat) can.act("class", key); }
    else if (moves[key]) moves[key]();
    else if (key === "Enter" && event.target.matches(".card")) can.open();
    else return;
    event.preventDefault();
  });
}

// What the page knows, and the words for it.

export const OPEN = -2;
export const SKIPPED = -1;

export const page = {
  classes: [],
  kind: "images",
  items: [],
  total: 0,
  begin: 0,
  focus: 0,
  view: "grid",
};

export const current = () => page.items[page.focus];
export const nameOf = (label) => (label === null ? "no label" : page.classes[label]);

// Where there are few classes: the digit that a class is called, else its number where no other is called so.
export function keyOf(number) {
  const name = page.classes[number];
  if (/^[0-9]$/.test(name)) return name;
  return page.classes.includes(String(number)) ? null : String(number);
}

// Returns the kind of a decision and how it reads: what is saved, or what is about to be.
export function verdict(item) {
  const state = item.pending ?? item.state;
  if (state === OPEN) return ["open", ""];
  if (state === SKIPPED) return ["skipped", "skipped"];
  if (state === item.given) return ["kept", "kept"];
  if (state === item.corrected) return ["accepted", "accepted"];
  return ["other", nameOf(state)];
}

export function mark(item) {
  const [kind, text] = verdict(item);
  if (kind === "open") return "";
  return item.pending === undefined ? `✓ ${text}` : `… ${text}`;
}

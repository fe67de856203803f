// Builds elements. Texts only ever become text nodes: no name of a class or a file can become markup.

export const $ = (id) => document.getElementById(id);

export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) throw new Error("listeners are added, not written as attributes");
    if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const count = (number) => number.toLocaleString("en");
export const percent = (share) => (share === null ? "–" : `${Math.round(100 * share)}%`);
// What is longer is read as a text, not beside its name.
export const isLong = (text) => text.length > 40;

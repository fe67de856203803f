// Talks to the server. Decisions go out one after another, each repeated until the server says that it is on disk.

const RETRY_MS = [500, 1000, 2000, 5000];

// A server on the same port may have come to show another run, whose rows are other examples.
const OWN = { "pencil-run": document.body.dataset.run };

export class Refused extends Error {}

async function answer(response) {
  if (response.status === 401 || response.status === 403 || response.status === 421) {
    throw new Refused("The review was started anew: open the address that pencil review printed last.");
  }
  if (response.status === 409) {
    throw new Refused("This page is of another run than the one under review now: start pencil review of it again.");
  }
  const content = await response.json();
  if (!response.ok) throw Object.assign(new Error(content.error), { status: response.status });
  return content;
}

export async function ask(path, query = {}) {
  return answer(await fetch(`${path}?${new URLSearchParams(query)}`, { headers: OWN }));
}

function send(path, body) {
  const headers = { "content-type": "application/json", ...OWN };
  return fetch(path, { method: "POST", headers, body: JSON.stringify(body) }).then(answer);
}

function word() {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("");
}

// Names this browser, so that an undo takes back its own decisions and no one else's.
export function reviewer() {
  try {
    const known = localStorage.getItem("pencil-reviewer") ?? word();
    localStorage.setItem("pencil-reviewer", known);
    return known;
  } catch {
    return word();
  }
}

export class Outbox {
  constructor(tell) {
    this.tell = tell;
    this.waiting = [];
    this.busy = false;
    this.who = reviewer();
  }

  get size() {
    return this.waiting.length;
  }

  // Resolves once the server has it on disk.
  post(path, body) {
    // A key of its own lets the server know a repeated request again.
    const entry = { path, body: { ...body, reviewer: this.who, key: word() } };
    const done = new Promise((resolve, reject) => Object.assign(entry, { resolve, reject }));
    this.waiting.push(entry);
    this.tell("");
    if (!this.busy) this.work();
    return done;
  }

  async work() {
    this.busy = true;
    for (let failures = 0; this.waiting.length; ) {
      const entry = this.waiting[0];
      try {
        const content = await send(entry.path, entry.body);
        this.waiting.shift();
        failures = 0;
        entry.resolve(content);
        this.tell("");
      } catch (error) {
        if (error.status === 400) {
          this.waiting.shift();
          entry.reject(error);
          continue;
        }
        this.tell(error instanceof Refused || error.status ? error.message : "The server does not answer; trying again.");
        await new Promise((wake) => setTimeout(wake, RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]));
      }
    }
    this.busy = false;
  }
}

// Tabs by the ARIA pattern: arrows, Home and End move between them, and the address remembers which is open.

import { byId } from "./dom.js";

const NAMES = ["suggest", "batch", "labels", "model"];
const listeners = new Map();
let now = { name: "", rest: "" };

/** Calls `opened(rest)` if a tab is open, and whenever it opens; `rest` stands behind its name in the address. */
export function onOpen(name, opened) {
  listeners.set(name, opened);
  if (now.name === name) opened(now.rest);
}

/** Opens a tab, with what is shown in it, and lets the browser's back button return. */
export function open(name, rest = "") {
  const address = rest ? `#${name}/${encodeURIComponent(rest)}` : `#${name}`;
  if (location.hash !== address) history.pushState(null, "", address);
  show(name, rest);
}

function show(name, rest) {
  now = { name, rest };
  for (const each of NAMES) {
    const chosen = each === name;
    byId(each).hidden = !chosen;
    byId(`tab-${each}`).setAttribute("aria-selected", String(chosen));
    byId(`tab-${each}`).tabIndex = chosen ? 0 : -1;
  }
  document.title = `${byId(`tab-${name}`).textContent} · Longtail`;
  listeners.get(name)?.(rest);
}

function fromAddress() {
  const [name, rest = ""] = location.hash.slice(1).split("/", 2);
  if (NAMES.includes(name)) show(name, decoded(rest));
  else if (!location.hash) show(NAMES[0], "");
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // an address somebody typed
  }
}

const STEPS = { ArrowRight: 1, ArrowLeft: -1 };

function onKey(event) {
  const at = NAMES.indexOf(event.currentTarget.id.slice("tab-".length));
  const ends = { Home: 0, End: NAMES.length - 1 };
  const to = event.key in STEPS ? (at + STEPS[event.key] + NAMES.length) % NAMES.length : ends[event.key];
  if (to === undefined) return;
  event.preventDefault();
  open(NAMES[to]);
  byId(`tab-${NAMES[to]}`).focus();
}

/** Wires the tabs and opens the one in the address. */
export function startTabs() {
  for (const name of NAMES) {
    byId(`tab-${name}`).addEventListener("click", () => open(name));
    byId(`tab-${name}`).addEventListener("keydown", onKey);
  }
  addEventListener("popstate", fromAddress);
  addEventListener("hashchange", fromAddress);
  fromAddress();
}

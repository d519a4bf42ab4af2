// Asks the server what it has, and starts the four tabs.

import { ask, events, token } from "./api.js";
import { startBatch } from "./batch.js";
import { byId, h } from "./dom.js";
import { startLabels } from "./labels.js";
import { startModel } from "./model.js";
import { startSuggest } from "./suggest.js";
import { startTabs } from "./tabs.js";

const cards = new Map();

/** What all tabs share. */
const server = {
  models: [],
  limits: { texts: 32, k: 100, text_bytes: Infinity, body_bytes: Infinity, token_required: false },
  /** Everything about a model; asked for once. */
  card(name) {
    if (!cards.has(name)) {
      const asked = ask(`v1/models/${encodeURIComponent(name)}`);
      asked.catch(() => cards.delete(name)); // the next one asks again
      cards.set(name, asked);
    }
    return cards.get(name);
  },
  /** Models have changed: what was remembered of them is old. */
  forget: () => cards.clear(),
};

let started = false;

async function start() {
  try {
    server.limits = { ...server.limits, ...(await ask("v1/limits")) };
    byId("token-open").hidden = !server.limits.token_required;
    if (server.limits.token_required && !token.read()) return showToken();
    server.models = (await ask("v1/models")).models;
  } catch (error) {
    return problem(error.message);
  }
  byId("problems").replaceChildren();
  byId("token-form").hidden = true;
  if (started) return undefined;
  started = true;
  if (!server.models.length) return problem("The server has no model. Start it with one: longtail serve MODEL");
  for (const startTab of [startSuggest, startBatch, startLabels, startModel]) startTab(server);
  return undefined;
}

function problem(sentence) {
  const again = h("button", { type: "button", onclick: start }, "Try again");
  byId("problems").replaceChildren(h("div", { class: "problem" }, h("p", {}, sentence), again));
}

// -- the token ------------------------------------------------------------------------------------------------------

function showToken() {
  byId("token-open").hidden = false;
  byId("token-form").hidden = false;
  byId("token").value = token.read();
  byId("token").focus();
}

events.addEventListener("token", showToken);
byId("token-open").addEventListener("click", () => {
  if (byId("token-form").hidden) showToken();
  else byId("token-form").hidden = true;
});
byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  token.keep(byId("token").value.trim());
  start();
});

startTabs();
start();

// Search labels, look at one and at those near it, and add new ones.

import { ask, isAborted } from "./api.js";
import { announce, byId, choice, debounced, h } from "./dom.js";
import { count, counted, frequency, score } from "./format.js";
import { newLabelForm } from "./newlabel.js";
import { labelsAddress } from "./picker.js";
import { onOpen, open } from "./tabs.js";

const DELAY = 100; // milliseconds
const SHOWN = 50;

export function startLabels(server) {
  const tab = new Labels(server);
  byId("labels").append(...tab.elements);
  onOpen("labels", (id) => tab.opened(id));
}

class Labels {
  constructor(server) {
    Object.assign(this, { server, asking: null, current: "", searched: false });
    this.list = h("ul", { class: "found" });
    this.note = h("p", { class: "note", role: "status" });
    this.card = h("div", { class: "card label-card", id: "label-card", tabindex: -1 });
    this.query = h("input", {
      type: "search",
      id: "label-search",
      autocomplete: "off",
      spellcheck: "false",
      placeholder: "Part of a name …",
      oninput: debounced(() => this.search(), DELAY),
    });
    const [modelField, model] = choice(
      "labels-model",
      "Model",
      server.models.map(({ name }) => [name, name]),
    );
    this.model = model;
    model.addEventListener("change", () => this.#changeModel());
    const form = newLabelForm(
      server,
      () => this.model.value,
      (label) => this.#added(label),
    );
    this.elements = [
      h(
        "div",
        { class: "intro" },
        h("h1", {}, "Labels"),
        h("p", {}, "Find a label, see which are near it, or teach the model a new one."),
      ),
      h(
        "div",
        { class: "catalogue" },
        h(
          "div",
          { class: "stack" },
          h(
            "div",
            { class: "fields" },
            h("div", { class: "field wide" }, h("label", { for: "label-search" }, "Search"), this.query),
            server.models.length > 1 ? modelField : null,
          ),
          h("div", { class: "found-head" }, this.note, h("span", { class: "note" }, "documents")),
          this.list,
        ),
        h("div", { class: "stack" }, this.card, form),
      ),
    ];
    this.#empty();
  }

  /** The tab was opened, perhaps at a label. */
  opened(id) {
    if (!this.searched) this.search();
    if (id !== this.current) this.#show(id);
  }

  #changeModel() {
    this.search();
    this.#show(this.current);
  }

  // -- the list -----------------------------------------------------------------------------------------------------

  async search() {
    this.searched = true;
    this.asking?.abort();
    this.asking = new AbortController();
    const query = this.query.value.trim();
    if (!this.list.children.length) this.note.textContent = "Looking for labels …";
    try {
      const address = labelsAddress(query, this.model.value, SHOWN);
      const { labels, total } = await ask(address, { signal: this.asking.signal });
      this.list.replaceChildren(...labels.map((label) => this.#found(label, query)));
      this.note.textContent = told(query, labels.length, total);
      this.#light();
    } catch (error) {
      if (!isAborted(error)) this.note.textContent = error.message;
    }
  }

  #found({ id, name, count: documents }, query) {
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", "data-id": id, onclick: () => open("labels", id) },
        h("span", {}, marked(name, query)),
        h("span", { class: "count" }, count(documents ?? 0)),
      ),
    );
  }

  #light() {
    for (const button of this.list.querySelectorAll("button")) {
      if (button.dataset.id === this.current) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
  }

  // -- the card -----------------------------------------------------------------------------------------------------

  async #show(id) {
    this.current = id;
    this.#light();
    if (!id) return this.#empty();
    const model = this.model.value;
    const wanted = () => this.current === id && this.model.value === model;
    try {
      const label = await ask(`v1/labels/${encodeURIComponent(id)}?${new URLSearchParams({ model })}`);
      if (wanted()) this.#fill(label);
    } catch (error) {
      if (wanted()) this.card.replaceChildren(h("p", { class: "problem" }, error.message));
    }
    return undefined;
  }

  #empty() {
    this.card.replaceChildren(h("p", { class: "note" }, "Choose a label to see what the model knows about it."));
  }

  #fill({ id, name, text, count: documents, nearest, cluster }) {
    const badge = frequency(documents);
    this.card.replaceChildren(
      h("h2", {}, name, badge && h("span", { class: `badge ${badge[0]}`, title: badge[1] }, badge[0])),
      h("p", { class: "note" }, `${id === name ? "" : `${id} · `}${counted(documents, "training document")}`),
      text ? h("p", { class: "label-text" }, text) : h("p", { class: "note" }, "It has no text of its own."),
      text
        ? h(
            "p",
            {},
            h(
              "button",
              { type: "button", class: "small", onclick: () => this.server.tryText(text) },
              "Suggest labels for this text",
            ),
          )
        : "",
      ...this.#neighbours("Nearest labels", nearest, id),
      ...this.#neighbours("In the same cluster", cluster, id),
    );
    announce(`${name}, ${counted(documents, "training document")}`);
  }

  #neighbours(title, labels, own) {
    const others = (labels ?? []).filter((label) => label.id !== own);
    if (!others.length) return [];
    return [
      h("h3", {}, title),
      h(
        "ul",
        { class: "neighbours" },
        others.map(({ id, name, similarity }) =>
          h(
            "li",
            {},
            h(
              "button",
              { type: "button", class: "tag", onclick: () => open("labels", id) },
              name,
              similarity === undefined ? null : h("small", {}, ` ${score(similarity)}`),
            ),
          ),
        ),
      ),
    ];
  }

  #added(label) {
    this.server.forget();
    this.server.models.find(({ name }) => name === this.model.value).labels += 1;
    this.query.value = label.name;
    this.search();
    open("labels", label.id);
  }
}

function told(query, shown, total) {
  if (!total) return query ? "No label has this in its name." : "This model has no labels.";
  const all = counted(total, "label");
  if (shown === total) return `${all}.`;
  return query ? `${all}; the first ${shown} are shown.` : `${all}; the ${shown} most frequent are shown.`;
}

/** The part of a name that was searched for, in bold. */
function marked(name, query) {
  const at = query ? name.toLowerCase().indexOf(query.toLowerCase()) : -1;
  if (at < 0) return [name];
  const end = at + query.length;
  return [name.slice(0, at), h("b", {}, name.slice(at, end)), name.slice(end)];
}

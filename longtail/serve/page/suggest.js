// Labels as you type, the words they come from, and what a person thinks of them.

import { Column } from "./column.js";
import { decisionsBox } from "./decided.js";
import { Decisions } from "./decisions.js";
import { announce, byId, debounced, h } from "./dom.js";
import { nextExample } from "./example.js";
import { counted } from "./format.js";
import { reasonPanel } from "./reason.js";
import { open } from "./tabs.js";
import { paint } from "./words.js";

const DELAY = 140; // milliseconds without a key before the server is asked
const NARROW = matchMedia("(max-width: 859px)");
const AMOUNTS = [10, 20, 50, 100]; // labels, each after another "show more"

export function startSuggest(server) {
  const tab = new Suggest(server);
  byId("suggest").append(...tab.elements);
  tab.compare(new Set([server.models.find((model) => model.default)?.name ?? server.models[0].name]));
  // Whoever comes to type can; a touch screen would open its keyboard over the page.
  if (matchMedia("(hover: hover)").matches && document.activeElement === document.body) tab.field.focus();
  server.tryText = (text) => {
    tab.write(text);
    open("suggest");
  };
}

class Suggest {
  constructor(server) {
    Object.assign(this, { server, columns: [], pinned: null, hovered: null });
    this.k = Math.min(AMOUNTS[0], server.limits.k);
    this.decisions = new Decisions(() => this.text);
    this.decisions.addEventListener("change", () => this.columns.forEach((column) => column.refresh()));
    this.suggestSoon = debounced(() => this.suggest(), DELAY);
    this.#build();
    NARROW.addEventListener("change", () => this.#tellWhy());
  }

  get text() {
    return this.field.value;
  }

  /** Puts a text into the field, as if somebody had typed it. */
  write(text) {
    this.field.value = text;
    this.#written();
    this.suggest();
  }

  async suggest() {
    this.#look(null, null);
    this.welcome.hidden = Boolean(this.text.trim());
    this.results.hidden = !this.text.trim();
    await Promise.all(this.columns.map((column) => column.suggest(this.text)));
  }

  /** Which models answer, side by side. */
  compare(names) {
    const models = this.server.models.filter((model) => names.has(model.name));
    this.columns = models.map((model) => this.columns.find((old) => old.model === model) ?? this.#column(model));
    this.board.replaceChildren(...this.columns.map((column) => column.element));
    this.board.dataset.columns = this.columns.length;
    this.suggest();
  }

  #column(model) {
    return new Column(this.server, model, {
      decisions: this.decisions,
      k: () => this.k,
      more: () => this.#more(),
      hover: (column, suggestion) => this.#hover(column, suggestion),
      pin: (column, suggestion) => this.#look({ column, suggestion }, null),
      leave: () => this.field.focus(),
      explained: (column) => this.#shown?.column === column && this.#tellWhy(),
      suggested: (column) => this.#announce(column),
    });
  }

  /** What shows more labels; nothing where the server gives no more. */
  #more() {
    const larger = AMOUNTS.find((each) => each > this.k && each <= this.server.limits.k);
    return (
      larger &&
      (() => {
        this.k = larger;
        this.suggest();
      })
    );
  }

  // -- what is looked at --------------------------------------------------------------------------------------------

  get #shown() {
    return this.hovered ?? this.pinned;
  }

  #hover(column, suggestion) {
    if (this.hovered?.suggestion === suggestion) return;
    if (NARROW.matches) return; // reasons open under their label there, and would push it away from the pointer
    this.#look(this.pinned, column && { column, suggestion });
  }

  #look(pinned, hovered) {
    Object.assign(this, { pinned, hovered });
    const id = this.#shown?.suggestion.id ?? null;
    this.columns.forEach((column) => column.light(id));
    this.#tellWhy();
  }

  #tellWhy() {
    const { column, suggestion } = this.#shown ?? {};
    const reason = column?.reasons.get(suggestion.id) ?? null;
    paint(this.layer, this.text, column?.text === this.text ? reason?.words : []);
    const hint = h(
      "p",
      { class: "note" },
      "Point at a label, or move to it with the keyboard, and its words light up.",
    );
    const missing =
      column && !reason && column.reasons.size ? "The model gave no reasons for this label." : column?.why;
    this.why.replaceChildren(suggestion ? reasonPanel(suggestion, reason, missing) : hint);
    this.#placeWhy();
  }

  /** On a narrow screen reasons open under their label, where the eye is; elsewhere they have a place of their own. */
  #placeWhy() {
    const row = NARROW.matches && this.pinned?.column.list.querySelector(".suggestion.lit");
    if (row) row.append(this.why);
    else if (this.why.parentNode !== this.left) this.left.append(this.why);
    this.why.hidden = NARROW.matches && !row;
  }

  #announce(column) {
    if (!column.results.length) return announce(column.state.textContent);
    const names = column.results.slice(0, 3).map((each) => each.name);
    return announce(`${counted(column.results.length, "label")} by ${column.model.name}: ${names.join(", ")}`);
  }

  // -- the text -----------------------------------------------------------------------------------------------------

  #written() {
    this.decisions.moveOn(this.text);
    paint(this.layer, this.text);
    const words = this.text.trim() ? this.text.trim().split(/\s+/u).length : 0;
    this.size.textContent = words ? counted(words, "word") : "";
    this.clear.hidden = !this.text;
  }

  #onKey(event) {
    if (event.key === "ArrowDown" && event.altKey) this.columns[0].focusFirst();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.#keep();
    else return;
    event.preventDefault();
  }

  #keep() {
    if (!this.text.trim() || !this.decisions.begun) return;
    this.write(""); // moving on keeps what was decided
    this.field.focus();
  }

  async #example() {
    this.write(await nextExample(this.columns[0].model.name));
    this.field.focus();
  }

  // -- elements -----------------------------------------------------------------------------------------------------

  #build() {
    this.layer = h("div", { class: "layer", "aria-hidden": "true" });
    this.field = h("textarea", {
      id: "text",
      rows: 1,
      spellcheck: "false",
      "aria-describedby": "keys",
      placeholder: "Type or paste a text …",
      oninput: () => {
        this.#written();
        this.suggestSoon();
      },
      onkeydown: (event) => this.#onKey(event),
    });
    this.size = h("span", { class: "note", id: "size" });
    this.clear = h("button", { type: "button", class: "quiet", hidden: true, onclick: () => this.write("") }, "Clear");
    this.why = h("div", { class: "why", id: "why" });
    this.board = h("div", { class: "board" });
    this.left = h("div", { class: "left" }, this.#editor(), this.why);
    this.welcome = this.#welcome();
    this.results = h("div", { hidden: true }, this.board);
    const right = h(
      "div",
      { class: "right" },
      this.server.models.length > 1 ? this.#models() : null,
      this.welcome,
      this.results,
    );
    const box = decisionsBox(this.decisions, {
      model: () => this.columns[0].model.name,
      keep: () => this.#keep(),
    });
    this.elements = [
      h("h1", { class: "unseen" }, "Suggest labels"),
      h("div", { class: "workbench" }, this.left, right),
      box,
    ];
    this.#written();
  }

  #editor() {
    const example = h("button", { type: "button", class: "quiet", onclick: () => this.#example() }, "Try an example");
    return h(
      "div",
      { class: "card editor-card" },
      h(
        "div",
        { class: "editor-head" },
        h("label", { for: "text" }, "Text"),
        this.size,
        h("span", { class: "spring" }),
        this.clear,
        example,
      ),
      h("div", { class: "editor" }, this.layer, this.field),
      h("p", { class: "keys", id: "keys" }, keys()),
    );
  }

  #models() {
    const boxes = this.server.models.map((model, at) => {
      const box = h("input", {
        type: "checkbox",
        value: model.name,
        id: `compare-${at}`,
        checked: model.default,
        onchange: () => this.#compareChecked(box),
      });
      return h("label", { class: "chip", for: box.id }, box, h("span", {}, model.name));
    });
    this.boxes = h("fieldset", { class: "chips" }, h("legend", {}, "Models"), boxes);
    return this.boxes;
  }

  #compareChecked(box) {
    const names = [...this.boxes.querySelectorAll("input:checked")].map((each) => each.value);
    if (names.length) this.compare(new Set(names));
    else box.checked = true; // one model always answers
  }

  #welcome() {
    return h(
      "div",
      { class: "card welcome" },
      h("h2", {}, "Labels appear here as you type"),
      h(
        "p",
        {},
        "Each has a score, the number of training documents that carry it, and the words of your text that " +
          "speak for it. Accept what is right, reject what is not, and download your decisions as a corpus.",
      ),
      h("button", { type: "button", class: "primary", onclick: () => this.#example() }, "Start with an example"),
    );
  }
}

function keys() {
  const all = [
    [["Alt", "↓"], "labels"],
    [["↑", "↓"], "move"],
    [["A"], "accept"],
    [["R"], "reject"],
    [["Ctrl", "Enter"], "next text"],
  ];
  return all.map(([names, what]) =>
    h(
      "span",
      {},
      names.map((name) => h("kbd", {}, name)),
      ` ${what}`,
    ),
  );
}

// A field that searches labels as you type: a combobox by the ARIA pattern.

import { ask, isAborted } from "./api.js";
import { debounced, h } from "./dom.js";
import { counted } from "./format.js";

const DELAY = 120; // milliseconds
const SHOWN = 8;

/** `model()` names the model whose labels are searched, `chosen(label)` takes the one that is picked. */
export function labelPicker({ id, label, placeholder, model, chosen }) {
  const list = h("ul", { role: "listbox", id: `${id}-list`, class: "options", "aria-label": label, hidden: true });
  const input = h("input", {
    id,
    type: "text",
    role: "combobox",
    autocomplete: "off",
    spellcheck: "false",
    placeholder,
    "aria-expanded": "false",
    "aria-controls": list.id,
    "aria-autocomplete": "list",
  });
  const note = h("p", { class: "note", role: "status" });
  let found = [];
  let at = -1;
  let asking = null;

  const close = () => show([]);
  const pick = (which) => {
    chosen(found[which]);
    input.value = "";
    close();
    input.focus();
  };
  const point = (to) => {
    at = to;
    [...list.children].forEach((option, index) => option.setAttribute("aria-selected", String(index === at)));
    if (at < 0) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", `${id}-${at}`);
  };
  const show = (labels) => {
    found = labels;
    list.replaceChildren(...labels.map((each, index) => option(`${id}-${index}`, each, () => pick(index))));
    list.hidden = !labels.length;
    input.setAttribute("aria-expanded", String(labels.length > 0));
    point(labels.length ? 0 : -1);
  };
  const search = debounced(async () => {
    asking?.abort();
    asking = new AbortController();
    const query = input.value.trim();
    if (!query) return close();
    try {
      const { labels, total } = await ask(labelsAddress(query, model(), SHOWN), { signal: asking.signal });
      show(labels);
      note.textContent = total ? "" : "No label has this in its name.";
    } catch (error) {
      if (!isAborted(error)) note.textContent = error.message;
    }
    return undefined;
  }, DELAY);

  input.addEventListener("input", () => {
    note.textContent = "";
    search();
  });
  input.addEventListener("blur", () => setTimeout(close, 150)); // a click on an option comes first
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && found.length) point((at + step + found.length) % found.length);
    else if (event.key === "Enter" && at >= 0) pick(at);
    else if (event.key === "Escape" && found.length) close();
    else return;
    event.preventDefault();
  });
  return h("div", { class: "picker" }, h("label", { for: id, class: "unseen" }, label), input, list, note);
}

function option(id, { name, id: labelId, count }, pick) {
  const facts = [labelId === name ? "" : labelId, typeof count === "number" ? counted(count, "document") : ""];
  return h(
    "li",
    {
      role: "option",
      id,
      "aria-selected": "false",
      onpointerdown: (event) => {
        event.preventDefault();
        pick();
      },
    },
    h("span", {}, name),
    h("span", { class: "note" }, facts.filter(Boolean).join(" · ")),
  );
}

/** Where to search labels. */
export const labelsAddress = (query, model, limit) =>
  `v1/labels?${new URLSearchParams({ q: query, model, limit: String(limit) })}`;

// The box of decisions: what was accepted for this text, texts that were kept, and their download.

import { announce, download, h } from "./dom.js";
import { counted, excerpt } from "./format.js";
import { labelPicker } from "./picker.js";

/** `tab` gives the model whose labels are searched, and keeps a text. */
export function decisionsBox(decisions, tab) {
  const chips = h("ul", { class: "accepted-labels" });
  const kept = h("ol", { class: "kept" });
  const note = h("p", { class: "note" });
  const keep = h("button", { type: "button", class: "primary", id: "keep", onclick: tab.keep }, "Keep, and next text");
  const save = h("button", { type: "button", id: "download-decisions", onclick: () => downloaded(decisions) });
  const picker = labelPicker({
    id: "add-accepted",
    label: "Add a label that was not suggested",
    model: tab.model,
    placeholder: "Add a label that was not suggested …",
    chosen: ({ id, name }) => decisions.verdict(id) === "accepted" || decisions.decide(id, name, "accepted"),
  });

  const refresh = () => {
    const lines = decisions.lines().length;
    chips.replaceChildren(...[...decisions.accepted].map(([id, name]) => chip(decisions, id, name)));
    chips.hidden = !decisions.accepted.size;
    kept.replaceChildren(...decisions.kept.map((row, at) => keptRow(decisions, row, at)));
    kept.hidden = !decisions.kept.length;
    note.textContent = decisions.begun ? told(decisions) : "Accept ✓ or reject ✕ labels; both are remembered here.";
    keep.disabled = !decisions.begun;
    save.disabled = lines === 0;
    save.textContent = lines ? `Download ${counted(lines, "text")} as JSONL` : "Download as JSONL";
  };
  decisions.addEventListener("change", refresh);
  refresh();
  return h(
    "section",
    { class: "card decisions", "aria-labelledby": "decisions-title" },
    h("div", { class: "decisions-head" }, h("h2", { id: "decisions-title" }, "Your decisions"), note),
    chips,
    h("div", { class: "actions" }, picker, h("span", { class: "spring" }), keep, save),
    kept,
  );
}

function told({ accepted, rejected }) {
  return `${counted(accepted.size, "label")} accepted, ${rejected.size} rejected for this text.`;
}

function chip(decisions, id, name) {
  const drop = h(
    "button",
    { type: "button", "aria-label": `Take ${name} back`, onclick: () => decisions.decide(id, name, "") },
    "✕",
  );
  return h("li", {}, h("span", {}, name), drop);
}

function keptRow(decisions, { text, labels, names }, at) {
  const drop = h(
    "button",
    { type: "button", class: "quiet", "aria-label": `Remove text ${at + 1}`, onclick: () => decisions.drop(at) },
    "Remove",
  );
  const said = labels.length ? (names ?? labels).join(", ") : "no label";
  return h("li", {}, h("p", {}, excerpt(text, 110)), h("p", { class: "note" }, said), drop);
}

function downloaded(decisions) {
  const lines = decisions.lines();
  download("decisions.jsonl", "application/jsonl", lines);
  announce(`${counted(lines.length, "text")} downloaded`);
}

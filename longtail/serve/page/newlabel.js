// A new label, from its name, its text and examples; and at once what is now suggested for it.

import { ask } from "./api.js";
import { h } from "./dom.js";
import { score } from "./format.js";

/** `model()` names the model, `added(label)` hears of a label that is there now. */
export function newLabelForm(server, model, added) {
  const name = h("input", { id: "new-name", required: true, autocomplete: "off" });
  const id = h("input", { id: "new-id", autocomplete: "off", spellcheck: "false", placeholder: "the name, if empty" });
  const text = h("textarea", { id: "new-text", rows: 3 });
  const examples = h("textarea", { id: "new-examples", rows: 4 });
  const said = h("div", { class: "stack", role: "status" });
  const button = h("button", { class: "primary", id: "new-add" }, "Add the label");

  const submit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    said.replaceChildren();
    try {
      const label = {
        id: id.value.trim() || name.value.trim(),
        name: name.value.trim(),
        text: text.value.trim(),
        examples: examples.value
          .split("\n")
          .map((line) => line.trim())
          .filter(Boolean),
      };
      await ask("v1/labels", { body: { model: model(), labels: [label] } });
      said.append(h("p", { class: "done" }, `${label.name} is now a label of ${model()}.`));
      form.reset();
      added(label);
      said.append(await trial(server, model(), label));
    } catch (error) {
      said.append(h("p", { class: "problem" }, error.message));
    }
    button.disabled = false;
  };

  const form = h(
    "form",
    { class: "stack", onsubmit: submit },
    h("div", { class: "fields" }, field("new-name", "Name", name), field("new-id", "Id", id)),
    field("new-text", "Text: what it means", text),
    field("new-examples", "Examples: texts that should get it, one a line", examples),
    h("div", { class: "actions" }, button),
    said,
  );
  return h("details", { class: "card", id: "new-label" }, h("summary", {}, "Add a label"), form);
}

const field = (id, label, input) => h("div", { class: "field" }, h("label", { for: id }, label), input);

/** What the model now suggests for the label's first example, or for its own text. */
async function trial(server, model, label) {
  const text = label.examples[0] || label.text || label.name;
  const { results } = await ask("v1/predict", { body: { text, model, k: 5 } });
  const rows = results[0].labels.map((each) =>
    h(
      "li",
      { class: each.id === label.id ? "new" : null },
      h("span", {}, each.name),
      h("span", { class: "score" }, score(each.score)),
    ),
  );
  return h(
    "div",
    { class: "trial" },
    h("h3", {}, "Suggested for its first example now"),
    h("ol", {}, rows),
    h("button", { type: "button", class: "small", onclick: () => server.tryText(text) }, "Open it in Suggest"),
  );
}

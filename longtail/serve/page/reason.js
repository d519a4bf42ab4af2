// Why a label is suggested: its words, the clusters that proposed it, and the nearest training documents.

import { h } from "./dom.js";
import { count, counted, excerpt, score, signed } from "./format.js";
import { open } from "./tabs.js";

const WORDS = 8;
const DOCUMENTS = 3;

/** The panel for a suggestion; `reason` is null while it is not there, `sentence` says why it never will be. */
export function reasonPanel(suggestion, reason, sentence) {
  return h(
    "div",
    { class: "reason" },
    heading(suggestion),
    reason ? reasons(reason) : h("p", { class: "note" }, sentence || "Asking which words speak for it …"),
  );
}

function heading({ id, name, count: documents }) {
  const known = typeof documents === "number" ? counted(documents, "training document") : "";
  return h(
    "div",
    { class: "reason-head" },
    h("h2", {}, name),
    h("p", { class: "note" }, [id === name ? "" : id, known].filter(Boolean).join(" · ")),
    h("a", { href: `#labels/${encodeURIComponent(id)}`, onclick: (event) => opened(event, id) }, "Open this label"),
  );
}

function opened(event, id) {
  event.preventDefault();
  open("labels", id);
}

function reasons(reason) {
  return [
    words(reason),
    reason.clusters?.length ? clusters(reason.clusters) : null,
    reason.documents?.length ? documents(reason.documents) : null,
  ];
}

// -- words ----------------------------------------------------------------------------------------------------------

function words(reason) {
  const all = summed(reason.words);
  if (!all.length) return h("p", { class: "note" }, "No word of this text speaks for or against it.");
  const strongest = Math.abs(all[0][1]);
  const shown = all.slice(0, WORDS);
  return h(
    "div",
    {},
    h("h3", {}, reason.approximate ? "Words, approximately" : "Words"),
    h(
      "ul",
      { class: "words" },
      shown.map(([text, value]) => wordBar(text, value, strongest)),
    ),
    h("p", { class: "note" }, sum(reason, all.length - shown.length)),
  );
}

/** Contributions of equal words together, strongest first. */
function summed(found) {
  const values = new Map(); // lower case -> as it is first written, contribution
  for (const { text, contribution } of found) {
    const [first, before] = values.get(text.toLowerCase()) ?? [text, 0];
    values.set(text.toLowerCase(), [first, before + contribution]);
  }
  return [...values.values()]
    .filter(([, value]) => value !== 0)
    .sort((one, other) => Math.abs(other[1]) - Math.abs(one[1]));
}

function wordBar(text, value, strongest) {
  const bar = h("i", { class: value < 0 ? "against" : "for" });
  bar.style.setProperty("--share", Math.abs(value) / strongest);
  return h("li", {}, h("span", { class: "word" }, text), bar, h("span", { class: "value" }, signed(value)));
}

function sum(reason, more) {
  const rest = more > 0 ? `${counted(more, "more word")}. ` : "";
  const total = reason.words.reduce((sum, word) => sum + word.contribution, 0);
  return `${rest}All words ${signed(total)}, bias ${signed(reason.bias)}, together ${signed(reason.logit)}.`;
}

// -- clusters and documents -----------------------------------------------------------------------------------------

function clusters(found) {
  return h(
    "div",
    {},
    h("h3", {}, found.length === 1 ? "Cluster that proposed it" : "Clusters that proposed it"),
    h(
      "ul",
      { class: "plain" },
      found.map(({ cluster, belief, labels }) =>
        h(
          "li",
          {},
          h("b", {}, `Cluster ${count(cluster)}`),
          ` · belief ${score(belief)}`,
          labels.length ? h("span", { class: "note" }, ` with ${labels.join(" · ")}`) : null,
        ),
      ),
    ),
  );
}

function documents(found) {
  return h(
    "div",
    {},
    h("h3", {}, "Nearest training documents"),
    h(
      "ul",
      { class: "plain" },
      found
        .slice(0, DOCUMENTS)
        .map(({ text, similarity }) =>
          h("li", {}, h("span", { class: "value" }, score(similarity)), ` ${excerpt(text, 140)}`),
        ),
    ),
  );
}

// The suggestions of one model: a threshold, and labels with their scores.

import { ask, askPatiently, isAborted } from "./api.js";
import { h } from "./dom.js";
import { count, counted, frequency, percent, score } from "./format.js";

let columns = 0; // for ids
const LASTING = new Set([400, 404, 422, 501]); // a model that cannot explain will not learn it; it is not asked again

export class Column {
  /** `view` is what the tab gives: decisions, k(), and what happens when a label is looked at. */
  constructor(server, model, view) {
    Object.assign(this, { server, model, view, results: [], reasons: new Map(), text: "", why: "" });
    this.id = `column-${(columns += 1)}`;
    this.threshold = 0;
    this.cutoffs = [];
    this.list = h("ol", { class: "suggestions", "aria-label": `Labels by ${model.name}` });
    this.state = h("p", { class: "note empty" });
    this.more = h(
      "button",
      { type: "button", class: "small more", onclick: () => view.more()?.() },
      "Show more labels",
    );
    this.element = h(
      "section",
      { class: "column", "aria-labelledby": this.id },
      this.#head(),
      this.list,
      this.state,
      this.more,
    );
    this.list.addEventListener("keydown", (event) => this.#onKey(event));
    this.list.addEventListener("pointerleave", () => view.hover(null));
    this.#loadCalibration();
  }

  // -- asking -------------------------------------------------------------------------------------------------------

  /** Suggestions for a text; an answer that is overtaken by a newer text is dropped. */
  async suggest(text) {
    this.asking?.abort();
    this.asking = new AbortController();
    this.reasons = new Map();
    this.why = this.mute ? this.why : "";
    if (!text.trim()) return this.#show(text, []);
    this.element.setAttribute("aria-busy", "true");
    try {
      const body = { text, model: this.model.name, k: this.view.k() };
      const answer = await askPatiently("v1/predict", {
        body,
        signal: this.asking.signal,
        onWait: () => this.#say("The server is busy; it is asked again …"),
      });
      this.#show(text, answer.results[0].labels);
      await this.#explain(text, this.asking.signal);
    } catch (error) {
      if (!isAborted(error)) this.#fail(error.message);
    }
    return undefined;
  }

  async #explain(text, signal) {
    if (this.mute) return;
    try {
      const body = { text, model: this.model.name, k: this.view.k(), explain: true };
      const { results } = await ask("v1/predict", { body, signal });
      for (const reason of results[0].explanation?.labels ?? []) this.reasons.set(reason.id, reason);
      if (!this.reasons.size) this.why = "This model cannot say which words speak for a label.";
    } catch (error) {
      if (isAborted(error)) throw error;
      this.why = error.message; // suggestions stand without reasons
      this.mute = LASTING.has(error.status);
    }
    this.view.explained(this);
  }

  #show(text, results) {
    this.text = text;
    this.results = results;
    this.element.removeAttribute("aria-busy");
    this.#say(results.length || !text.trim() ? "" : "No label is suggested for this text.");
    this.list.replaceChildren(...results.map((each) => this.#row(each)));
    this.more.hidden = results.length < this.view.k() || results.length >= this.model.labels || !this.view.more();
    this.refresh();
    this.#tellReached();
    this.view.suggested(this);
  }

  #fail(sentence) {
    this.element.removeAttribute("aria-busy");
    this.results = [];
    this.list.replaceChildren();
    this.more.hidden = true;
    this.#say(sentence, true);
    this.view.suggested(this);
  }

  #say(sentence, problem = false) {
    this.state.textContent = sentence;
    this.state.classList.toggle("problem", problem);
  }

  // -- head and threshold -------------------------------------------------------------------------------------------

  #head() {
    const { name, method, labels } = this.model;
    this.slider = h("input", {
      type: "range",
      min: 0,
      max: 1,
      step: 0.01,
      value: 0,
      id: `${this.id}-threshold`,
      oninput: () => this.#setThreshold(Number(this.slider.value)),
    });
    this.value = h("output", { for: this.slider.id }, "0.00");
    this.reached = h("p", { class: "reached", id: `${this.id}-reached` }, "…");
    this.slider.setAttribute("aria-describedby", this.reached.id);
    this.auto = h("button", { type: "button", class: "small", hidden: true }, "Auto");
    return h(
      "header",
      {},
      h(
        "div",
        { class: "column-title" },
        h("h2", { id: this.id }, name),
        h("p", { class: "note" }, `${method === name ? "" : `${method} · `}${count(labels)} labels`),
      ),
      h(
        "div",
        { class: "threshold" },
        h("label", { for: this.slider.id }, "Threshold"),
        this.slider,
        this.value,
        this.auto,
      ),
      this.reached,
    );
  }

  async #loadCalibration() {
    let calibration = null;
    try {
      calibration = (await this.server.card(this.model.name)).calibration;
    } catch {
      // The model tab says what is wrong; suggestions work without.
    }
    this.cutoffs = calibration?.cutoffs ?? [];
    this.chosen = calibration?.threshold ?? null;
    if (this.chosen) {
      const { value } = this.chosen;
      this.auto.hidden = false;
      this.auto.title = `The threshold that was chosen for this model: ${score(value)}`;
      const choose = () => {
        this.slider.value = value;
        this.#setThreshold(value);
      };
      this.auto.addEventListener("click", choose);
      if (this.threshold === 0) choose(); // nobody has moved the slider meanwhile
    }
    this.#tellReached();
  }

  #setThreshold(threshold) {
    this.threshold = threshold;
    this.value.textContent = threshold.toFixed(2);
    this.#tellReached();
    this.refresh();
  }

  #tellReached() {
    const measured = this.chosen?.value === this.threshold ? this.chosen : cutoffAt(this.cutoffs, this.threshold);
    this.reached.replaceChildren(...(measured ? precisionAndRecall(measured) : [this.#expected()]));
  }

  /** Of a calibrated model the scores are probabilities: their sum is how many labels should be right. */
  #expected() {
    if (!this.model.calibrated) {
      return h("span", { class: "note" }, "Not calibrated: precision and recall at a threshold are unknown.");
    }
    const shown = this.results.filter((each) => each.score >= this.threshold);
    if (!shown.length) return h("span", { class: "note" }, "No label reaches this threshold.");
    const right = shown.reduce((sum, each) => sum + each.score, 0);
    return h(
      "span",
      {},
      "About ",
      h("b", {}, right.toFixed(1)),
      ` of ${counted(shown.length, "label")} should be right`,
    );
  }

  // -- rows ---------------------------------------------------------------------------------------------------------

  #row(suggestion) {
    const { id, name } = suggestion;
    const bar = h("div", { class: "bar", "aria-hidden": "true" }, h("i"), h("b"));
    bar.style.setProperty("--score", Math.min(1, Math.max(0, suggestion.score)));
    const open = h(
      "button",
      {
        type: "button",
        class: "name",
        onfocus: () => this.view.pin(this, suggestion),
        onclick: () => this.view.pin(this, suggestion),
      },
      name,
    );
    const verdicts = ["accepted", "rejected"].map((verdict) => this.#verdictButton(suggestion, verdict));
    const toName = (event) => event.target.closest("button, .why") || open.focus();
    const hover = () => this.view.hover(this, suggestion);
    return h(
      "li",
      // A pointer that moves, not one that enters: rows also move under a resting pointer.
      { class: "suggestion", "data-id": id, onclick: toName, onpointermove: hover },
      open,
      facts(suggestion),
      h("span", { class: "score" }, score(suggestion.score)),
      bar,
      h("div", { class: "verdicts" }, verdicts),
    );
  }

  #verdictButton({ id, name }, verdict) {
    const [sign, word] = verdict === "accepted" ? ["✓", "Accept"] : ["✕", "Reject"];
    const attributes = { type: "button", class: `verdict ${verdict}`, "aria-label": `${word} ${name}`, title: word };
    return h("button", { ...attributes, onclick: () => this.view.decisions.decide(id, name, verdict) }, sign);
  }

  /** Brings rows up to date with threshold and decisions. */
  refresh() {
    const below = this.results.findIndex((each) => each.score < this.threshold);
    this.list.querySelector(".divider")?.remove();
    const rows = [...this.list.querySelectorAll(".suggestion")];
    rows.forEach((row, at) => {
      const verdict = this.view.decisions.verdict(row.dataset.id);
      row.classList.toggle("below", below >= 0 && at >= below);
      row.classList.toggle("accepted", verdict === "accepted");
      row.classList.toggle("rejected", verdict === "rejected");
      row.querySelector(".bar").style.setProperty("--threshold", this.threshold);
      row.querySelector(".bar b").hidden = this.threshold === 0;
      for (const button of row.querySelectorAll(".verdict")) {
        button.setAttribute("aria-pressed", String(verdict !== "" && button.classList.contains(verdict)));
      }
    });
    if (below >= 0) rows[below].before(divider(this.results.length - below));
    this.view.refreshed?.();
  }

  /** Marks the row of the label that is looked at, in whichever column that is. */
  light(id) {
    for (const row of this.list.querySelectorAll(".suggestion")) row.classList.toggle("lit", row.dataset.id === id);
  }

  focusFirst() {
    this.list.querySelector(".name")?.focus();
  }

  // -- keys ---------------------------------------------------------------------------------------------------------

  #onKey(event) {
    const row = event.target.closest(".suggestion");
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = this.#keys(row)[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  #keys(row) {
    const rows = [...this.list.querySelectorAll(".suggestion")];
    const go = (to) => rows[Math.min(Math.max(to, 0), rows.length - 1)].querySelector(".name").focus();
    const { id, name } = this.results.find((each) => each.id === row.dataset.id);
    const decide = (verdict) => () => this.view.decisions.decide(id, name, verdict);
    const at = rows.indexOf(row);
    return {
      ArrowDown: () => go(at + 1),
      ArrowUp: () => (at ? go(at - 1) : this.view.leave()),
      Home: () => go(0),
      End: () => go(rows.length - 1),
      a: decide("accepted"),
      r: decide("rejected"),
      Escape: () => this.view.leave(),
    };
  }
}

function facts({ count: documents }) {
  if (typeof documents !== "number") return h("span", { class: "facts" });
  const badge = frequency(documents);
  return h(
    "span",
    { class: "facts" },
    badge && h("span", { class: `badge ${badge[0]}`, title: badge[1] }, badge[0]),
    h("span", { class: "count", title: "training documents with this label" }, counted(documents, "document")),
  );
}

function precisionAndRecall({ precision, recall }) {
  return [
    h("span", {}, h("b", {}, percent(precision)), " precision"),
    h("span", {}, h("b", {}, percent(recall)), " recall"),
    h("span", { class: "note" }, "on validation documents"),
  ];
}

function divider(labels) {
  return h("li", { class: "divider" }, `${counted(labels, "label")} below the threshold`);
}

/** Precision and recall at a threshold: those of the last cut-off that is not above it, else of the first. */
export function cutoffAt(cutoffs, threshold) {
  let found = cutoffs[0] ?? null;
  for (const cutoff of cutoffs) if (cutoff.threshold <= threshold) found = cutoff;
  return found;
}

// A file of texts in, the same file with labels out.

import { isAborted } from "./api.js";
import { announce, byId, choice, download, h } from "./dom.js";
import { count, counted, duration, excerpt, score } from "./format.js";
import { predictAll, tooLong } from "./runner.js";
import { csvLines, readTable, textColumns, textsOf, Unreadable } from "./tables.js";

const PREVIEW = 8;

export function startBatch(server) {
  byId("batch").append(...new Batch(server).elements);
}

class Batch {
  constructor(server) {
    Object.assign(this, { server, table: null, file: null, labels: [], running: null });
    this.stage = h("div", { class: "stack" });
    this.problem = h("div", { role: "alert" });
    this.place = this.#drop();
    this.#guard();
    this.elements = [
      h(
        "div",
        { class: "intro" },
        h("h1", {}, "Label a file"),
        h("p", {}, "Every row gets its labels. Answers are those of ", h("code", {}, "longtail predict"), "."),
      ),
      this.place,
      this.problem,
      this.stage,
    ];
  }

  // -- the file -----------------------------------------------------------------------------------------------------

  #drop() {
    const input = h("input", {
      type: "file",
      id: "file",
      class: "unseen",
      accept: ".csv,.tsv,.jsonl,.json,.txt,.gz",
      onchange: () => input.files.length && this.#read(input.files[0]),
    });
    const place = h(
      "label",
      { for: "file", class: "drop" },
      h("span", { class: "drop-main" }, "Drop a file here, or ", h("span", { class: "linked" }, "choose one")),
      h(
        "span",
        { class: "note" },
        "CSV or TSV with a header, JSON lines, or one text a line. From a spreadsheet: " + "save it as CSV (UTF-8).",
      ),
    );
    const over = (is) => (event) => {
      event.preventDefault();
      place.classList.toggle("over", is);
    };
    place.addEventListener("dragover", over(true));
    place.addEventListener("dragleave", over(false));
    place.addEventListener("drop", (event) => {
      over(false)(event);
      if (event.dataTransfer.files.length) this.#read(event.dataTransfer.files[0]);
    });
    return h("div", { class: "drop-box" }, input, place);
  }

  /** A file that misses the field, or a closed window, must not end what is under way. */
  #guard() {
    const isFile = (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault();
    addEventListener("dragover", isFile);
    addEventListener("drop", isFile);
    addEventListener("beforeunload", (event) => this.running && !this.running.signal.aborted && event.preventDefault());
  }

  async #read(file) {
    this.running?.abort();
    this.#tell("");
    this.stage.replaceChildren();
    try {
      this.table = await readTable(file);
      if (!this.table.rows.length) throw new Unreadable("The file has no rows.");
      if (!this.table.columns.length) throw new Unreadable("No row has a text.");
      this.file = file;
      this.#ready();
    } catch (error) {
      this.#tell(`${file.name}: ${error instanceof Unreadable ? error.message : `cannot be read (${error.message}).`}`);
    }
  }

  #tell(sentence) {
    this.problem.replaceChildren(sentence ? h("p", { class: "problem" }, sentence) : "");
  }

  // -- what to do with it -------------------------------------------------------------------------------------------

  #ready() {
    const [columns, likely] = textColumns(this.table);
    const [textField, text] = choice(
      "batch-text",
      "Text column",
      columns.map((name) => [name, name]),
      likely,
    );
    const [modelField, model] = choice(
      "batch-model",
      "Model",
      this.server.models.map(({ name }) => [name, name]),
      this.server.models.find((each) => each.default)?.name,
    );
    const k = h("input", {
      id: "batch-k",
      type: "number",
      min: 1,
      max: this.server.limits.k,
      value: 5,
      required: true,
    });
    const threshold = h("input", {
      id: "batch-threshold",
      type: "text",
      inputmode: "decimal",
      value: "0",
      pattern: "auto|0|1|0?[.]\\d+",
      title: "A number from 0 to 1, or auto",
    });
    const preview = h("ul", { class: "plain previews" });
    this.choices = { text, model, k, threshold };
    const form = h(
      "form",
      { class: "card stack", onsubmit: (event) => this.#start(event), oninput: () => this.#command() },
      h("div", {}, h("h2", {}, this.file.name), h("p", { class: "note" }, this.#size())),
      h(
        "div",
        { class: "fields" },
        textField,
        modelField,
        h("div", { class: "field" }, h("label", { for: "batch-k" }, "Labels at most"), k),
        h("div", { class: "field" }, h("label", { for: "batch-threshold" }, "Threshold (0 to 1, or auto)"), threshold),
      ),
      preview,
      h(
        "div",
        { class: "actions" },
        h("button", { class: "primary", id: "batch-start" }, "Label the texts"),
        this.#commandLine(),
      ),
    );
    const showTexts = () =>
      preview.replaceChildren(
        ...this.table.rows
          .slice(0, 3)
          .map((row) => h("li", {}, excerpt(textsOf({ kind: "", rows: [row] }, text.value)[0], 140) || "(no text)")),
      );
    text.addEventListener("change", showTexts);
    showTexts();
    this.#command();
    this.stage.replaceChildren(form);
    this.place.querySelector(".drop").classList.add("chosen");
    announce(`${this.file.name}: ${this.#size()}`);
  }

  #size() {
    return `${counted(this.table.rows.length, "row")}, ${counted(this.table.columns.length, "column")}`;
  }

  #commandLine() {
    this.said = h("code");
    return h("p", { class: "note same" }, "The same on the command line: ", this.said);
  }

  #command() {
    const { k, threshold } = this.choices;
    const limit = threshold.value === "0" ? "" : ` --threshold ${threshold.value}`;
    this.said.textContent = `longtail predict MODEL ${this.file.name} --k ${k.value}${limit}`;
  }

  // -- the work -----------------------------------------------------------------------------------------------------

  async #start(event) {
    event.preventDefault();
    this.#tell("");
    const { text, model, k, threshold } = this.choices;
    const lowest = threshold.value === "auto" ? "auto" : Number(threshold.value);
    try {
      const texts = textsOf(this.table, text.value);
      const long = tooLong(texts, this.server.limits);
      if (long >= 0) throw new Unreadable(`The text of row ${count(long + 1)} is longer than the server takes.`);
      await this.#run(texts, { model: model.value, k: Number(k.value), threshold: lowest });
    } catch (error) {
      this.#tell(error.message);
    }
  }

  async #run(texts, request) {
    this.labels = new Array(texts.length).fill(null);
    this.running = new AbortController();
    const progress = progressCard(texts.length, () => this.running.abort());
    this.stage.lastElementChild.classList.contains("after") && this.stage.lastElementChild.remove();
    this.stage.append(progress.element);
    const button = byId("batch-start");
    button.disabled = true;
    let failed = null;
    try {
      const { limits } = this.server;
      await predictAll(texts, this.labels, { request, limits, signal: this.running.signal, ...progress });
    } catch (error) {
      this.running.abort(); // the other request under way is of no use either
      failed = isAborted(error) ? "Cancelled." : error.message;
    }
    button.disabled = false;
    this.running = null;
    progress.element.replaceWith(this.#finished(texts, failed));
    if (failed && failed !== "Cancelled.") this.#tell(failed);
  }

  #finished(texts, failed) {
    const done = this.labels.filter(Boolean).length;
    const said = failed
      ? `${failed === "Cancelled." ? failed : "Stopped."} ${count(done)} of ${count(texts.length)} rows have labels.`
      : `${counted(done, "row")} labelled.`;
    announce(said);
    const stem = this.file.name.replace(/(\.gz)?$/i, "").replace(/\.\w+$/, "");
    return h(
      "div",
      { class: "card stack after" },
      h("h2", { id: "batch-done" }, said),
      h(
        "div",
        { class: "actions" },
        h(
          "button",
          {
            type: "button",
            class: "primary",
            id: "download-csv",
            disabled: !done,
            onclick: () => download(`${stem}.labels.csv`, "text/csv", this.#csv(texts)),
          },
          "Download CSV",
        ),
        h(
          "button",
          {
            type: "button",
            id: "download-jsonl",
            disabled: !done,
            onclick: () => download(`${stem}.labels.jsonl`, "application/jsonl", this.#jsonl()),
          },
          "Download JSONL",
        ),
        h(
          "p",
          { class: "note" },
          "CSV: your columns and the labels beside them. JSONL: the lines that ",
          h("code", {}, "longtail predict"),
          " writes.",
        ),
      ),
      this.#preview(texts),
    );
  }

  #preview(texts) {
    const shown = texts
      .map((text, at) => [text, this.labels[at]])
      .filter(([, labels]) => labels)
      .slice(0, PREVIEW);
    return h(
      "div",
      { class: "scroller", tabindex: 0, role: "region", "aria-label": "The first rows" },
      h(
        "table",
        { class: "answers" },
        h("caption", { class: "unseen" }, "The first rows and their labels"),
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Text"), h("th", { scope: "col" }, "Labels"))),
        h(
          "tbody",
          {},
          shown.map(([text, labels]) =>
            h(
              "tr",
              {},
              h("td", {}, excerpt(text, 110)),
              h(
                "td",
                {},
                labels.length
                  ? labels.map((label) =>
                      h("span", { class: "tag" }, label.name, " ", h("small", {}, score(label.score))),
                    )
                  : "none",
              ),
            ),
          ),
        ),
      ),
    );
  }

  // -- what is downloaded -------------------------------------------------------------------------------------------

  /** Lines as `longtail predict` writes them. */
  #jsonl() {
    return this.labels.map((labels, at) => {
      if (!labels) return "";
      const id = this.table.ids[at];
      const plain = labels.map(({ index, id: label, name, score: value }) => ({
        index,
        id: label,
        name,
        score: value,
      }));
      return `{${id === undefined ? "" : `"id": ${id}, `}"labels": ${JSON.stringify(plain)}}\n`;
    });
  }

  #csv(texts) {
    const { columns, rows, kind } = this.table;
    const own = kind === "lines" ? ["text"] : columns;
    const answer = ["labels", "names", "scores"].map((name) => (own.includes(name) ? `suggested ${name}` : name));
    const cells = rows.map((row, at) => [
      ...own.map((name) => row.get(name) ?? ""),
      ...["id", "name", "score"].map((field) => (this.labels[at] ?? []).map((label) => label[field]).join("|")),
    ]);
    return csvLines([[...own, ...answer], ...cells.filter((_, at) => this.labels[at])]);
  }
}

function progressCard(total, cancel) {
  const bar = h("progress", { max: total, value: 0, "aria-label": "Texts labelled" });
  const line = h("p", { class: "note" }, `0 of ${count(total)}`);
  const begun = performance.now();
  return {
    element: h(
      "div",
      { class: "card stack after" },
      h("h2", {}, "Working"),
      bar,
      h(
        "div",
        { class: "actions" },
        line,
        h("span", { class: "spring" }),
        h("button", { type: "button", id: "batch-cancel", onclick: cancel }, "Cancel"),
      ),
    ),
    onProgress(done) {
      bar.value = done;
      const seconds = (performance.now() - begun) / 1000;
      const left = (seconds / done) * (total - done);
      const rate = `${count(Math.round(done / seconds))} texts a second`;
      line.textContent = `${count(done)} of ${count(total)} · ${rate}${left >= 1 ? ` · ${duration(left)} left` : ""}`;
    },
    onWait(seconds) {
      line.textContent = `The server is busy; asking again in ${duration(seconds)}.`;
    },
  };
}

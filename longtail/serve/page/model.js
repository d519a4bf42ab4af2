// What a model is and how good it is: card, metrics, deciles, calibration, thresholds.

import { byId, choice, h } from "./dom.js";
import { bytes, count, percent, score } from "./format.js";
import { bars, figure, legend, lines, numbers } from "./plots.js";
import { onOpen } from "./tabs.js";

const ROWS = 12; // of the threshold table

export function startModel(server) {
  const [field, select] = choice(
    "model-name",
    "Model",
    server.models.map(({ name }) => [name, name]),
  );
  const body = h("div", { class: "stack wide-gap", id: "model-body" });
  const show = async () => {
    const name = select.value;
    const shown = await cardOf(server, name);
    if (select.value === name) body.replaceChildren(...shown); // else another model was chosen meanwhile
  };
  select.addEventListener("change", show);
  byId("model").append(
    h("div", { class: "intro row" }, h("h1", {}, "Model"), server.models.length > 1 ? field : null),
    body,
  );
  onOpen("model", show);
}

async function cardOf(server, name) {
  try {
    return parts(await server.card(name));
  } catch (error) {
    return [h("p", { class: "problem" }, error.message)];
  }
}

function parts(card) {
  return [overview(card), measures(card), deciles(card), calibration(card), settings(card)].filter(Boolean);
}

const section = (title, ...children) => h("section", { class: "card stack" }, h("h2", {}, title), ...children);

// -- the card -------------------------------------------------------------------------------------------------------

function overview({ name, method, labels, precision, checksum, size, corpus, calibrated, versions }) {
  const facts = [
    ["Method", method],
    ["Labels", count(labels)],
    ["Trained on", corpus?.documents === undefined ? null : `${count(corpus.documents)} documents`],
    ["Corpus", corpus?.name],
    ["Calibrated", calibrated === undefined ? null : calibrated ? "yes" : "no"],
    ["Size", size === undefined ? null : bytes(size)],
    ["Precision", precision],
    ["Checksum", checksum && h("code", { title: checksum }, checksum.slice(0, 12))],
    ["Made by", versions?.longtail ? `longtail ${versions.longtail}` : null],
  ].filter(([, value]) => value !== null && value !== undefined && value !== "");
  return section(
    name,
    h(
      "dl",
      { class: "facts-grid" },
      facts.map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))),
    ),
  );
}

// -- metrics --------------------------------------------------------------------------------------------------------

function measures({ metrics, validation }) {
  const [found, where] =
    metrics && Object.keys(metrics).length ? [metrics, "Test documents"] : [validation ?? {}, "Validation"];
  const groups = grouped(found);
  if (!groups.size) {
    return section(
      "Metrics",
      h(
        "p",
        { class: "note" },
        "No metrics are kept with this model. Measure it with ",
        h("code", {}, "longtail evaluate MODEL CORPUS --json evaluation.json"),
        ", and put that file beside the model's directory.",
      ),
    );
  }
  return section("Metrics", h("p", { class: "note" }, `${where}, percent.`), metricTable(groups));
}

/** {"P@1": 40, "P@3": 30} as P -> {1: 40, 3: 30}; names without a cut-off stand alone. */
function grouped(metrics) {
  const groups = new Map();
  for (const [name, value] of Object.entries(metrics)) {
    if (typeof value !== "number") continue;
    const [measure, k = ""] = name.split("@");
    if (!groups.has(measure)) groups.set(measure, new Map());
    groups.get(measure).set(k, value);
  }
  return groups;
}

function metricTable(groups) {
  const ks = [...new Set([...groups.values()].flatMap((values) => [...values.keys()]))].sort(
    (one, other) => Number(one) - Number(other),
  );
  return h(
    "div",
    { class: "scroller", tabindex: 0, role: "region", "aria-label": "Metrics" },
    h(
      "table",
      { class: "numeric" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, "Metric"),
          ks.map((k) => h("th", { scope: "col" }, k ? `@${k}` : "value")),
        ),
      ),
      h(
        "tbody",
        {},
        [...groups].map(([measure, values]) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, measure),
            ks.map((k) => h("td", {}, values.has(k) ? values.get(k).toFixed(2) : "")),
          ),
        ),
      ),
    ),
  );
}

function deciles({ deciles: given }) {
  if (!given?.length) return null;
  // `longtail evaluate` writes each decile's metrics under "within".
  const found = given.map(({ within, contribution, ...plain }) => ({ ...plain, ...within }));
  const measureNames = Object.keys(found[0]).filter((name) => name.includes("@"));
  if (!measureNames.length) return null;
  const [field, select] = choice(
    "decile-metric",
    "Metric",
    measureNames.map((name) => [name, name]),
    measureNames.find((name) => name === "P@5") ?? measureNames[0],
  );
  const place = h("div");
  const show = () => {
    const pairs = found.map((decile) => [String(decile.decile), decile[select.value]]);
    const said = pairs.map(([name, value]) => `${name}: ${value.toFixed(1)} percent`);
    const says = `${select.value} by decile: ${said.join(", ")}`;
    place.replaceChildren(
      figure(
        `${select.value} by label frequency`,
        "Percent. Decile 1 holds the most frequent tenth " + "of the labels, decile 10 the rarest.",
        bars(pairs, { xName: "decile", says }),
      ),
    );
  };
  select.addEventListener("change", show);
  show();
  const columns = Object.keys(found[0]).filter((name) => typeof found[0][name] === "number");
  return section(
    "Frequent and rare labels",
    field,
    place,
    numbers(
      "As a table",
      columns,
      found.map((decile) =>
        columns.map((name) => (name.includes("@") ? decile[name].toFixed(2) : count(decile[name]))),
      ),
    ),
  );
}

// -- calibration ----------------------------------------------------------------------------------------------------

function calibration({ calibration: found }) {
  if (!found) {
    return section(
      "Calibration",
      h(
        "p",
        { class: "note" },
        "This model is not calibrated: its scores rank labels, and are " + "no probabilities. Calibrate it with ",
        h("code", {}, "longtail calibrate MODEL CORPUS --threshold f1 --in-place"),
        ".",
      ),
    );
  }
  return section("Calibration", h("div", { class: "figures" }, curve(found), trade(found)), thresholds(found));
}

function curve({ curve: points }) {
  if (!points?.length) return null;
  const series = [
    { name: "this model", kind: "accent", points: points.map(({ score: at, probability }) => [at, probability]) },
  ];
  return figure(
    "What scores are worth",
    "The share of labels that was right, by the score the method gave. On the dashed " +
      "line, scores would be probabilities by themselves.",
    lines(series, { xName: "score", yName: "probability", diagonal: true, says: "Probability by score, rising" }),
  );
}

function trade({ cutoffs, threshold }) {
  if (!cutoffs?.length) return null;
  const series = [
    { name: "precision", kind: "accent", points: cutoffs.map((each) => [each.threshold, each.precision]) },
    { name: "recall", kind: "second", points: cutoffs.map((each) => [each.threshold, each.recall]) },
  ];
  const mark = threshold ? { x: threshold.value, name: `auto ${score(threshold.value)}` } : null;
  const drawn = figure(
    "What a threshold costs",
    "Percent. A higher threshold makes suggestions more often right, and finds " + "fewer of the true labels.",
    lines(series, {
      xName: "threshold",
      yName: "percent",
      top: 100,
      mark,
      says: "Precision rises and recall falls with the threshold",
    }),
  );
  drawn.append(legend(series));
  return drawn;
}

function thresholds({ cutoffs, threshold }) {
  const auto = threshold
    ? h(
        "p",
        {},
        "The threshold ",
        h("b", {}, "auto"),
        ` is ${score(threshold.value)}: precision `,
        h("b", {}, percent(threshold.precision)),
        ", recall ",
        h("b", {}, percent(threshold.recall)),
        ", F1 ",
        h("b", {}, percent(threshold.f1)),
        ` with up to ${threshold.k} labels a document.`,
      )
    : null;
  if (!cutoffs?.length) return auto ?? "";
  const every = Math.max(1, Math.ceil(cutoffs.length / ROWS));
  const rows = cutoffs
    .filter((_, at) => at % every === 0)
    .map((each) => [score(each.threshold), each.precision.toFixed(1), each.recall.toFixed(1)]);
  return h(
    "div",
    { class: "stack" },
    auto,
    numbers("Thresholds as a table", ["Threshold", "Precision, %", "Recall, %"], rows),
  );
}

// -- settings -------------------------------------------------------------------------------------------------------

function settings({ config, versions }) {
  const rows = Object.entries(flat(config ?? {}));
  const made = Object.entries(versions ?? {});
  if (!rows.length && !made.length) return null;
  return section(
    "How it was made",
    rows.length
      ? numbers(
          "Settings",
          ["Setting", "Value"],
          rows.map(([name, value]) => [name, String(value)]),
        )
      : null,
    made.length
      ? numbers(
          "Versions",
          ["Package", "Version"],
          made.map(([name, value]) => [name, String(value)]),
        )
      : null,
  );
}

/** Nested settings under dotted names. */
function flat(config, before = "") {
  return Object.entries(config).reduce(
    (all, [name, value]) => ({
      ...all,
      ...(value && typeof value === "object" && !Array.isArray(value)
        ? flat(value, `${before}${name}.`)
        : { [`${before}${name}`]: Array.isArray(value) ? JSON.stringify(value) : value }),
    }),
    {},
  );
}

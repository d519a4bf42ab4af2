// Plots, drawn as SVG at the width they have, so that their words stay readable on a phone.

import { h, svg } from "./dom.js";

const EDGE = { top: 14, right: 16, bottom: 40, left: 46 };
const TICK = 5;

/** A figure that is drawn again when its width changes; `draw(width)` returns an <svg>. */
export function figure(title, caption, draw) {
  const place = h("div", { class: "plot" });
  let drawn = 0;
  new ResizeObserver(([{ contentRect }]) => {
    const width = Math.round(contentRect.width);
    if (!width || width === drawn) return;
    drawn = width;
    place.replaceChildren(draw(width));
  }).observe(place);
  return h("figure", {}, h("figcaption", {}, h("h3", {}, title), h("p", { class: "note" }, caption)), place);
}

/** Where a value lies between two ends of the screen. */
const scale = (low, high, from, to) => (value) => from + ((value - low) / (high - low || 1)) * (to - from);

/** A round number at or above a value, for the end of an axis. */
export function roundUp(value) {
  const step = 10 ** Math.floor(Math.log10(value || 1));
  return [1, 2, 2.5, 5, 10].map((each) => each * step).find((each) => each >= value * 0.999);
}

function canvas(width, height, says, ...children) {
  return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": says }, ...children);
}

function axes({ width, height, x, y, xTicks, yTicks, xName, yName }) {
  const right = width - EDGE.right;
  const bottom = height - EDGE.bottom;
  return svg(
    "g",
    { class: "axes" },
    yTicks.map(([value, text]) => [
      svg("line", { class: "grid", x1: EDGE.left, x2: right, y1: y(value), y2: y(value) }),
      svg("text", { x: EDGE.left - 8, y: y(value) + 4, "text-anchor": "end" }, text),
    ]),
    svg("line", { class: "axis", x1: EDGE.left, x2: right, y1: bottom, y2: bottom }),
    xTicks.map(([value, text]) => svg("text", { x: x(value), y: bottom + 18, "text-anchor": "middle" }, text)),
    svg("text", { class: "axis-name", x: (EDGE.left + right) / 2, y: height - 4, "text-anchor": "middle" }, xName),
    yName ? svg("text", { class: "axis-name", x: 2, y: 9 }, yName) : null,
  );
}

const steps = (high, text) =>
  Array.from({ length: TICK + 1 }, (_, at) => [(high * at) / TICK, text((high * at) / TICK)]);

const plain = (value) => String(Math.round(value * 100) / 100);

/** Bars for [name, value] pairs, values in percent. */
export function bars(pairs, { xName, says }) {
  return (width) => {
    const height = 250;
    const most = roundUp(Math.max(...pairs.map(([, value]) => value), 1));
    const y = scale(0, most, height - EDGE.bottom, EDGE.top);
    const band = (width - EDGE.left - EDGE.right) / pairs.length;
    const x = (at) => EDGE.left + band * (at + 0.5);
    const drawn = pairs.map(([name, value], at) =>
      svg(
        "g",
        {},
        svg("title", {}, `${name}: ${value.toFixed(1)} %`),
        svg("rect", {
          class: "bar-shape",
          x: x(at) - band * 0.34,
          width: band * 0.68,
          y: y(value),
          height: Math.max(y(0) - y(value), 1),
          rx: 2,
        }),
        band > 34
          ? svg("text", { class: "value", x: x(at), y: y(value) - 5, "text-anchor": "middle" }, value.toFixed(1))
          : null,
      ),
    );
    const xTicks = pairs.map(([name], at) => [at, name]);
    return canvas(
      width,
      height,
      says,
      axes({ width, height, x, y, xTicks, yTicks: steps(most, plain), xName, yName: "" }),
      drawn,
    );
  };
}

/**
 * Lines through points (0 to 1 on both axes, or percent on y): [{name, kind, points: [[x, y]]}].  `mark` is a vertical
 * line at x, with a word; `diagonal` where x and y should be equal.
 */
export function lines(series, { xName, yName, top = 1, mark = null, diagonal = false, says }) {
  return (width) => {
    const height = Math.min(340, Math.max(240, width * 0.62));
    const x = scale(0, 1, EDGE.left, width - EDGE.right);
    const y = scale(0, top, height - EDGE.bottom, EDGE.top + 10);
    const at = (points) => points.map(([one, other]) => `${x(one).toFixed(1)},${y(other).toFixed(1)}`).join(" ");
    return canvas(
      width,
      height,
      says,
      axes({ width, height, x, y, xTicks: steps(1, plain), yTicks: steps(top, plain), xName, yName }),
      diagonal
        ? svg("polyline", {
            class: "diagonal",
            points: at([
              [0, 0],
              [1, top],
            ]),
          })
        : null,
      mark ? svg("line", { class: "mark", x1: x(mark.x), x2: x(mark.x), y1: y(0), y2: y(top) }) : null,
      mark ? markName(mark, x, y(top)) : null,
      series.map(({ kind, points }) => svg("polyline", { class: `line ${kind}`, points: at(points) })),
      series.map(({ kind, points }) =>
        points.length < 30
          ? points.map(([one, other]) => svg("circle", { class: `dot ${kind}`, cx: x(one), cy: y(other), r: 2.5 }))
          : null,
      ),
    );
  };
}

function markName({ x: value, name }, x, top) {
  const right = value > 0.6;
  return svg(
    "text",
    { class: "value", x: x(value) + (right ? -6 : 6), y: top + 4, "text-anchor": right ? "end" : "start" },
    name,
  );
}

/** Names of lines with a stroke of their kind beside each. */
export function legend(series) {
  return h(
    "ul",
    { class: "legend" },
    series.map(({ name, kind }) =>
      h(
        "li",
        {},
        svg(
          "svg",
          { width: 26, height: 10, "aria-hidden": "true" },
          svg("line", { class: `line ${kind}`, x1: 0, x2: 26, y1: 5, y2: 5 }),
        ),
        name,
      ),
    ),
  );
}

/** The numbers of a plot, for those who read them. */
export function numbers(title, columns, rows, open = false) {
  return h(
    "details",
    { class: "numbers", open },
    h("summary", {}, title),
    h(
      "div",
      { class: "scroller", tabindex: 0, role: "region", "aria-label": title },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            columns.map((name) => h("th", { scope: "col" }, name)),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((row) =>
            h(
              "tr",
              {},
              row.map((cell) => h("td", {}, cell)),
            ),
          ),
        ),
      ),
    ),
  );
}

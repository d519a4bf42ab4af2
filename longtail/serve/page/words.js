// The text with the words of a label marked in it, like a marker pen on paper.
//
// A layer of the same text lies behind the text field; only its marks are visible.

import { h } from "./dom.js";

const LEVELS = 4;
const FAINTEST = 0.1; // of the strongest word; what is weaker is not marked

/**
 * Pieces [start, stop, value] of a text that have one value each.  Words are given in characters (code points), as the
 * server counts them; pieces in the units of JavaScript's strings, where an emoji counts two.  Words may overlap.
 */
export function pieces(text, words) {
  const units = unitOffsets(text);
  const values = new Float64Array(text.length);
  for (const { start, stop, contribution } of words) {
    const [from, to] = [units(start), units(stop)];
    for (let at = from; at < to; at += 1) values[at] += contribution;
  }
  const found = [];
  for (let start = 0, at = 1; at <= text.length; at += 1) {
    if (at < text.length && values[at] === values[start]) continue;
    if (values[start] !== 0) found.push([start, at, values[start]]);
    start = at;
  }
  return found;
}

function unitOffsets(text) {
  if (!/[\ud800-\udbff]/.test(text)) return (at) => Math.min(at, text.length);
  const offsets = [];
  for (let at = 0; at < text.length; at += text.codePointAt(at) > 0xffff ? 2 : 1) offsets.push(at);
  return (at) => offsets[at] ?? text.length;
}

/** Fills the layer behind a text field; without words it only holds the text, which gives the field its height. */
export function paint(layer, text, words = []) {
  const marked = pieces(text, words);
  const strongest = marked.reduce((most, [, , value]) => Math.max(most, Math.abs(value)), 0);
  const nodes = [];
  let done = 0;
  for (const [start, stop, value] of marked) {
    const share = Math.abs(value) / strongest;
    if (share < FAINTEST) continue;
    nodes.push(text.slice(done, start), mark(text.slice(start, stop), value, share));
    done = stop;
  }
  layer.replaceChildren(...nodes, `${text.slice(done)}\n`); // the last line needs its height though it is empty
}

function mark(word, value, share) {
  const level = Math.max(1, Math.ceil(share * LEVELS));
  return h("mark", { class: value < 0 ? "against" : `for level-${level}` }, word);
}

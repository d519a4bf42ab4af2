// An example that fits the model: the text of one of its labels, or a sentence where labels have no text.

import { ask } from "./api.js";
import { labelsAddress } from "./picker.js";

const FALLBACK = "The tiger is a large wild cat with a striped coat, native to the forests of Asia. Zoologists study how "
  + "it hunts at night, and conservation programmes protect the few that remain.";
const SHORTEST = 60; // characters; a name alone makes no example
const LOOKED_AT = 20;

const places = new Map(); // model -> where the next example is looked for

/** Another one each time. */
export async function nextExample(model) {
  try {
    const { labels } = await ask(labelsAddress("", model, LOOKED_AT));
    const first = places.get(model) ?? 0;
    for (let step = 0; step < labels.length; step += 1) {
      const at = (first + step) % labels.length;
      const { text } = await ask(`v1/labels/${encodeURIComponent(labels[at].id)}?${new URLSearchParams({ model })}`);
      if (text?.length < SHORTEST || !text) continue;
      places.set(model, at + 1);
      return text;
    }
  } catch {
    // An example is a courtesy; the sentence does as well.
  }
  return FALLBACK;
}

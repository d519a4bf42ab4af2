// An example that fits the model: the text of one of its labels, else a long name, else a sentence.

import { ask } from "./api.js";
import { labelsAddress } from "./picker.js";

const FALLBACK =
  "The tiger is a large wild cat with a striped coat, native to the forests of Asia. Zoologists study how " +
  "it hunts at night, and conservation programmes protect the few that remain.";
const TEXT = 60; // characters that make an example of a text
const NAME = 30; // and of a name
const LOOKED_AT = 40;

const told = new Map(); // model -> examples, and which comes next

/** Another one each time. */
export async function nextExample(model) {
  if (!told.has(model)) told.set(model, { all: await examples(model), next: 0 });
  const { all, next } = told.get(model);
  told.get(model).next = (next + 1) % all.length;
  return all[next];
}

async function examples(model) {
  try {
    const { labels } = await ask(labelsAddress("", model, LOOKED_AT));
    const few = labels.filter((_, at) => at % 8 === 0); // neighbours in the list are often alike
    const cards = await Promise.all(few.map(({ id }) => ask(labelAddress(id, model))));
    const texts = cards.map(({ text }) => text ?? "").filter((text) => text.length >= TEXT);
    const names = labels.map(({ name }) => name).filter((name) => name.length >= NAME);
    return [texts, names, [FALLBACK]].find((each) => each.length);
  } catch {
    return [FALLBACK]; // an example is a courtesy
  }
}

const labelAddress = (id, model) => `v1/labels/${encodeURIComponent(id)}?${new URLSearchParams({ model })}`;

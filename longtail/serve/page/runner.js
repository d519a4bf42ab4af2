// Many texts through the server: in requests that it takes, two under way at a time, in order in the end.

import { askPatiently } from "./api.js";

const UNDER_WAY = 2; // one is answered while the next is on its way
const OVERHEAD = 4096; // bytes of a request that are not texts

/** Which texts go together: [start, stop], within the server's limits on texts and bytes of a request. */
export function batches(texts, limits) {
  const found = [];
  let start = 0;
  let size = OVERHEAD;
  texts.forEach((text, at) => {
    const bytes = weight(text);
    if (at > start && (at - start === limits.texts || size + bytes > limits.body_bytes)) {
      found.push([start, at]);
      [start, size] = [at, OVERHEAD];
    }
    size += bytes;
  });
  if (texts.length > start) found.push([start, texts.length]);
  return found;
}

const encoder = new TextEncoder();

/** Bytes of a text in JSON, comma included. */
const weight = (text) => encoder.encode(JSON.stringify(text)).length + 1;

/** The first text that the server would refuse for its length, or -1. */
export function tooLong(texts, limits) {
  return texts.findIndex(
    (text) => text.length > limits.text_bytes / 4 && encoder.encode(text).length > limits.text_bytes,
  );
}

/** Labels of each text; what was answered so far is in `labels` even where it ends early. */
export async function predictAll(texts, labels, { request, limits, signal, onProgress, onWait }) {
  const waiting = batches(texts, limits).reverse();
  let done = 0;
  const work = async () => {
    for (let batch = waiting.pop(); batch; batch = waiting.pop()) {
      const [start, stop] = batch;
      const body = { ...request, texts: texts.slice(start, stop) };
      const { results } = await askPatiently("v1/predict", { body, signal, onWait });
      results.forEach((result, at) => (labels[start + at] = result.labels));
      done += stop - start;
      onProgress(done);
    }
  };
  await Promise.all(Array.from({ length: UNDER_WAY }, work));
}

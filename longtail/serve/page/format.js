// Numbers and sizes as people read them.

const whole = new Intl.NumberFormat("en");

export const count = (number) => whole.format(number);

/** 1 document, 2 documents. */
export const counted = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** A score between 0 and 1. */
export const score = (number) => (number > 0 && number < 0.005 ? "<0.01" : number.toFixed(2));

export const percent = (number) => `${number.toFixed(1)} %`;

export const signed = (number) => `${number < 0 ? "−" : "+"}${Math.abs(number).toFixed(2)}`;

export function bytes(number) {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let at = 0;
  while (number >= 1000 && at < units.length - 1) {
    number /= 1000;
    at += 1;
  }
  return `${at ? number.toFixed(1) : number} ${units[at]}`;
}

export function duration(seconds) {
  if (seconds < 60) return `${Math.max(1, Math.round(seconds))} s`;
  return seconds < 3600 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

const HEAD = 50; // training documents from which a label counts as frequent
const TAIL = 5; // and up to which as rare

/** Whether a label is frequent or rare, as [short word, meaning]; null in between. */
export function frequency(documents) {
  if (documents === 0) return ["new", "no training document has this label"];
  if (documents <= TAIL) return ["tail", `a rare label: ${counted(documents, "training document")}`];
  return documents >= HEAD ? ["head", `a frequent label: ${counted(documents, "training document")}`] : null;
}

/** A text of one line, cut where it is long. */
export function excerpt(text, length = 120) {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > length ? `${line.slice(0, length - 1).trimEnd()}…` : line;
}

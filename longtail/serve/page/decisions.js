// Which labels a person accepted and rejected, as a corpus that longtail reads.
//
// Decisions belong to the text in the field.  A text that was corrected keeps them; where another text takes its place,
// they are kept with the old one.  Kept texts outlive a reload of the page, and end with the browser tab.

const PLACE = "longtail-decisions";

export class Decisions extends EventTarget {
  /** `text()` is what stands in the field. */
  constructor(text) {
    super();
    this.text = text;
    this.decided = ""; // the text as it was when something was last decided about it
    this.kept = stored(); // [{text, labels, names, rejected}]
    this.accepted = new Map(); // id -> name, of the text in the field
    this.rejected = new Map();
  }

  /** "accepted", "rejected" or "". */
  verdict(id) {
    if (this.accepted.has(id)) return "accepted";
    return this.rejected.has(id) ? "rejected" : "";
  }

  /** The same verdict a second time takes it back. */
  decide(id, name, verdict) {
    const before = this.verdict(id);
    this.accepted.delete(id);
    this.rejected.delete(id);
    if (verdict && verdict !== before) this[verdict].set(id, name);
    this.decided = this.text();
    this.#changed();
  }

  /** Whether anything was decided about the text in the field. */
  get begun() {
    return this.accepted.size + this.rejected.size > 0;
  }

  /** The field now holds this text: if it is another one, decisions are kept with the old. */
  moveOn(text) {
    if (!this.begun || !replaced(this.decided, text)) return;
    if (this.decided.trim()) this.kept.push(row(this.decided, this.accepted, this.rejected));
    this.accepted.clear();
    this.rejected.clear();
    this.#changed();
  }

  drop(at) {
    this.kept.splice(at, 1);
    this.#changed();
  }

  /** Everything decided, the text in the field included: one JSON object a line. */
  lines() {
    const text = this.text();
    const all = this.begun && text.trim() ? [...this.kept, row(text, this.accepted, this.rejected)] : this.kept;
    return all.map((each) => `${JSON.stringify(each)}\n`);
  }

  #changed() {
    sessionStorage.setItem(PLACE, JSON.stringify(this.kept));
    this.dispatchEvent(new Event("change"));
  }
}

/** Whether less than half of a text is left at its beginning and its end. */
function replaced(before, now) {
  const most = Math.min(before.length, now.length);
  let first = 0;
  while (first < most && before[first] === now[first]) first += 1;
  let last = 0;
  while (last < most - first && before.at(-1 - last) === now.at(-1 - last)) last += 1;
  return first + last < before.length / 2 || !now.trim();
}

// `text` and `labels` are what longtail reads; it ignores the others.
function row(text, accepted, rejected) {
  return { text, labels: [...accepted.keys()], names: [...accepted.values()], rejected: [...rejected.keys()] };
}

function stored() {
  try {
    return JSON.parse(sessionStorage.getItem(PLACE)) ?? [];
  } catch {
    return [];
  }
}

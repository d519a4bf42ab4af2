// Files of texts, read as `longtail predict` reads them: CSV and TSV with a header, JSON lines, one text a line.

/** What is wrong with a file, and where. */
export class Unreadable extends Error {}

/**
 * A file as {kind, columns, rows, ids}: each row is a Map from column to cell.  `ids` are what goes back with each
 * answer, as JSON, or undefined.
 */
export async function readTable(file) {
  const text = await decoded(file);
  const name = file.name.replace(/\.gz$/i, "").toLowerCase();
  if (name.endsWith(".csv")) return separated(text, delimiterOf(text));
  if (name.endsWith(".tsv")) return separated(text, "\t");
  if (/\.jsonl?$/.test(name) || holdsObjects(text)) return jsonLines(text);
  return plainLines(text);
}

async function decoded(file) {
  const packed = /\.gz$/i.test(file.name);
  if (/\.(xz|xlsx|xls|ods|parquet|zip)$/i.test(file.name)) {
    throw new Unreadable("This kind of file cannot be read here. Save it as CSV (UTF-8), and choose that.");
  }
  const stream = packed ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
  try {
    const bytes = await new Response(stream).arrayBuffer();
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes); // takes a byte order mark away
  } catch (error) {
    const wrong = packed && error.name !== "TypeError" ? "The file is damaged." : "The file is not UTF-8 text.";
    throw new Unreadable(`${wrong} Save it as CSV (UTF-8), or convert it, and choose it again.`);
  }
}

/** Only a line feed ends a line, with or without a carriage return. */
function linesOf(text) {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
}

// -- CSV and TSV ----------------------------------------------------------------------------------------------------

/** Spreadsheets of half of Europe write semicolons, since a comma is in their numbers. */
function delimiterOf(text) {
  const header = text.slice(0, text.indexOf("\n") + 1 || undefined);
  return header.includes(";") && !header.includes(",") ? ";" : ",";
}

function separated(text, delimiter) {
  const [header, ...records] = parseRecords(linesOf(text).join("\n"), delimiter);
  if (!header) throw new Unreadable("The file is empty.");
  const columns = header.cells.map((name) => name.trim());
  if (new Set(columns).size < columns.length) throw new Unreadable("Two columns have the same name.");
  const rows = records.map(({ cells, line }) => {
    if (cells.length === columns.length) return new Map(columns.map((name, at) => [name, cells[at]]));
    throw new Unreadable(`Line ${line} has ${cells.length} cells, and the header ${columns.length}.`);
  });
  return { kind: "csv", columns, rows, ids: rows.map((row) => asId(row.get("id") ?? row.get("uid"))) };
}

const asId = (value) => (value === undefined ? undefined : JSON.stringify(value));

/** Records by RFC 4180: quoted cells may hold delimiters, line breaks and doubled quotes.  Blank lines are none. */
export function parseRecords(text, delimiter) {
  const records = [];
  let at = 0;
  let line = 1;
  while (at < text.length) {
    const record = { line, cells: [] };
    const start = at;
    for (;;) {
      const [cell, next] = text[at] === '"' ? quoted(text, at, delimiter, line) : bare(text, at, delimiter);
      record.cells.push(cell);
      line += cell.split("\n").length - 1;
      at = next;
      if (text[at] !== delimiter) break;
      at += 1;
    }
    if (at > start) records.push(record);
    at += 1; // the line feed
    line += 1;
  }
  return records;
}

function bare(text, start, delimiter) {
  let at = start;
  while (at < text.length && text[at] !== delimiter && text[at] !== "\n") at += 1;
  return [text.slice(start, at), at];
}

function quoted(text, start, delimiter, line) {
  let cell = "";
  for (let at = start + 1; ; at += 2) {
    const end = text.indexOf('"', at);
    if (end < 0) throw new Unreadable(`The quote that starts in line ${line} never ends.`);
    cell += text.slice(at, end);
    const after = text[end + 1];
    if (after === undefined || after === delimiter || after === "\n") return [cell, end + 1];
    if (after !== '"') throw new Unreadable(`Line ${line}: a quote inside a quoted cell is written "".`);
    cell += '"';
    at = end;
  }
}

/** Records as a CSV file: with the mark by which spreadsheets know UTF-8, and CRLF as RFC 4180 has it. */
export function csvLines(records) {
  const cell = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  return ["\ufeff", ...records.map((record) => `${record.map(cell).join(",")}\r\n`)];
}

// -- lines ----------------------------------------------------------------------------------------------------------

function holdsObjects(text) {
  const first = linesOf(text).find((line) => line.trim()) ?? "";
  try {
    return first.trimStart().startsWith("{") && typeof JSON.parse(first) === "object";
  } catch {
    return false;
  }
}

function plainLines(text) {
  const rows = linesOf(text).map((line) => new Map([["text", line]]));
  return { kind: "lines", columns: ["text"], rows, ids: rows.map(() => undefined) };
}

function jsonLines(text) {
  const columns = new Set();
  const ids = [];
  const rows = linesOf(text).map((line, at) => {
    const fields = line.trim() ? jsonObject(line, at + 1) : {};
    ids.push(idOf(fields, line, at + 1));
    const strings = Object.entries(fields).filter(([, value]) => typeof value === "string");
    strings.forEach(([name]) => columns.add(name));
    return new Map(strings);
  });
  return { kind: "jsonl", columns: [...columns], rows, ids };
}

function jsonObject(line, number) {
  let value = null;
  try {
    value = JSON.parse(line);
  } catch {
    throw new Unreadable(`Line ${number} is not JSON. Write one object a line.`);
  }
  if (value && typeof value === "object" && !Array.isArray(value)) return value;
  throw new Unreadable(`Line ${number} must hold a JSON object in braces.`);
}

/** The id as it stands in the file: a number of twenty digits must not lose some on its way through JavaScript. */
function idOf(fields, line, number) {
  const name = fields.id === null || fields.id === undefined ? "uid" : "id";
  const value = fields[name];
  if (value === null || value === undefined) return undefined;
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value !== "number") throw new Unreadable(`Line ${number}: an id is a string or a number.`);
  let source = JSON.stringify(value);
  JSON.parse(line, (key, each, context) => {
    if (key === name && each === value && context?.source) source = context.source;
    return each;
  });
  return source;
}

// -- the text of a row ----------------------------------------------------------------------------------------------

export const TITLE_AND_CONTENT = "title + content";

/** Columns to choose from, the likeliest first chosen: `text`, `title` and `content`, or the longest one. */
export function textColumns({ columns, rows }) {
  const both = columns.includes("title") && columns.includes("content");
  const all = both ? [TITLE_AND_CONTENT, ...columns] : columns;
  if (columns.includes("text")) return [all, "text"];
  if (both) return [all, TITLE_AND_CONTENT];
  const length = (name) => rows.slice(0, 50).reduce((sum, row) => sum + (row.get(name)?.length ?? 0), 0);
  return [all, columns.toSorted((one, other) => length(other) - length(one))[0]];
}

/** The text of every row. */
export function textsOf({ kind, rows }, column) {
  return rows.map((row, at) => {
    if (kind === "jsonl" && row.size && !has(row, column)) throw new Unreadable(`Line ${at + 1} has no ${column}.`);
    return textOf(row, column);
  });
}

function has(row, column) {
  const any = column === TITLE_AND_CONTENT || column === "text" ? ["text", "title", "content"] : [column];
  return any.some((name) => row.has(name));
}

/** A row's text; an empty `text` gives way to title and content, as in `longtail predict`. */
function textOf(row, column) {
  if (column === TITLE_AND_CONTENT) return joined(row);
  return row.get(column) || (column === "text" ? joined(row) : "");
}

function joined(row) {
  const title = (row.get("title") ?? "").replaceAll("\n", " ");
  const content = row.get("content") ?? "";
  return title && content ? `${title}\n${content}` : title || content;
}

// Elements are built here and nowhere from strings: text from a server or a file can never become markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes, listeners (`onclick: f`) and children; null and false children are left out. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same in SVG. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** The element with this id. */
export const byId = (id) => document.getElementById(id);

/** Waits until nobody called for `delay` milliseconds. */
export function debounced(call, delay) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...given), delay);
  };
}

/** Offers lines as a file; they are never one string, which could be longer than a string may be. */
export function download(name, type, lines) {
  const address = URL.createObjectURL(new Blob(lines, { type }));
  const link = h("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** A labelled <select>; `options` are [value, text]. */
export function choice(id, label, options, chosen) {
  const select = h(
    "select",
    { id },
    options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)),
  );
  return [h("div", { class: "field" }, h("label", { for: id }, label), select), select];
}

/** Says something to those who listen instead of look. */
export const announce = debounced((sentence) => {
  byId("announcer").textContent = sentence;
}, 700);

// Requests to the server this page came from; what it refuses becomes a sentence.

const ROOT = new URL("../", import.meta.url); // also behind a proxy that puts the server under a path
const TOKEN = "longtail-token";

/** What the server refused, as a sentence for the person in front of the page. */
export class Refused extends Error {
  constructor(sentence, status = 0, retryAfter = null) {
    super(sentence);
    this.status = status; // 0: there was no answer at all
    this.retryAfter = retryAfter; // seconds
  }
}

export const token = {
  read: () => sessionStorage.getItem(TOKEN) ?? "",
  keep: (value) => (value ? sessionStorage.setItem(TOKEN, value) : sessionStorage.removeItem(TOKEN)),
};

/** Listeners for refused tokens. */
export const events = new EventTarget();

/** GET, or POST where there is a body. */
export async function ask(path, { body = undefined, signal = undefined } = {}) {
  const answer = await sent(path, body, signal);
  if (answer.ok) return answer.json();
  if (answer.status === 401) {
    events.dispatchEvent(new Event("token"));
    throw new Refused(token.read() ? "The server did not accept this token." : "The server asks for a token.", 401);
  }
  throw new Refused(await sentence(answer), answer.status, seconds(answer.headers.get("Retry-After")));
}

async function sent(path, body, signal) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (token.read()) headers.Authorization = `Bearer ${token.read()}`;
  try {
    const method = body === undefined ? "GET" : "POST";
    return await fetch(new URL(path, ROOT), { method, headers, signal, body: body && JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The server does not answer. Is it still running?");
  }
}

async function sentence(answer) {
  try {
    const problem = await answer.json();
    const said = problem.detail || problem.title;
    if (said) return `${said[0].toUpperCase()}${said.slice(1)}${said.endsWith(".") ? "" : "."}`;
  } catch {
    // No JSON, so somebody between us and the server answered.
  }
  return `The server refused the request (${answer.status} ${answer.statusText}).`;
}

function seconds(header) {
  const number = Number.parseFloat(header ?? "");
  return Number.isFinite(number) && number >= 0 ? number : null;
}

const ATTEMPTS = 8;

/** The same, but waits and asks again while the server is busy. */
export async function askPatiently(path, { body, signal, onWait = () => {} } = {}) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask(path, { body, signal });
    } catch (error) {
      const busy = error instanceof Refused && (error.status === 429 || error.status === 503);
      if (!busy || attempt === ATTEMPTS) throw error;
      const wait = error.retryAfter ?? Math.min(2 ** (attempt - 1), 30);
      onWait(wait);
      await sleep(wait * 1000, signal);
    }
  }
}

function sleep(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/** Whether an error only says that nobody waits for the answer any more. */
export const isAborted = (error) => error?.name === "AbortError";

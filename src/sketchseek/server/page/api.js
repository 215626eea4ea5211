// Everything the page asks of the server.

/** What went wrong, as a sentence for the person at the page. */
export class Problem extends Error {
  constructor(message, status, retryAfter) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

const page = Array.from(crypto.getRandomValues(new Uint8Array(9)), (byte) => byte.toString(36)).join("");

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The server does not answer. Is “sketchseek serve” still running?", 0);
  }
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  const sentence = answer.detail ?? `The server answered with an error (${response.status}).`;
  throw new Problem(sentence, response.status, Number(response.headers.get("retry-after")) || 1);
}

/** Hits for strokes; the server drops an older search of this page that still waits. */
export const search = (query, signal) =>
  ask("/api/search", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...query, page }),
    signal,
  });

/** The strokes in a picture or SVG file. */
export function trace(file) {
  const body = new FormData();
  body.append("picture", file);
  return ask("/api/sketch", { method: "POST", body });
}

export const index = () => ask("/api/index", { cache: "no-store" });
export const pictureURL = (id) => `/api/pictures/${encodeURIComponent(id)}`;
export const thumbnailURL = (id) => `${pictureURL(id)}/thumbnail`;
export const contoursURL = (id) => `${pictureURL(id)}/contours`;

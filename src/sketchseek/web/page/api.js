// Everything the page asks of the server. Addresses are relative: the server may live under a path of its own.

/** What went wrong, as a sentence for the person at the page; status 0 where no server answered. */
export class Problem extends Error {
  constructor(message, status, retryAfter) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

const page = Array.from(crypto.getRandomValues(new Uint8Array(9)), (byte) => byte.toString(36)).join("");

async function reach(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The server does not answer. Is “sketchseek serve” still running?", 0);
  }
}

async function ask(path, options) {
  const response = await reach(path, options);
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  const sentence = answer.detail ?? `The server answered with an error (${response.status}).`;
  throw new Problem(sentence, response.status, Number(response.headers.get("retry-after")) || 1);
}

const send = (path, body, signal) =>
  ask(path, { method: "POST", headers: { "content-type": "application/json", accept: "application/json" }, body: JSON.stringify(body), signal });

/** Hits for strokes or for a picture; the server drops an older search of this page that still waits. */
export function search(query, signal) {
  const { picture, ...options } = { ...query, page, outlines: false }; // the page places the drawing itself
  if (!picture) return send("api/search", options, signal);
  const body = new FormData();
  body.append("picture", picture);
  for (const [name, value] of Object.entries(options)) body.append(name, value); // a list with commas between
  return ask("api/search", { method: "POST", body, signal });
}

/** Why a hit matched: { sentence, details, points: [[x, y, support], ...] }. */
export const explain = (query, hit) => send("api/explain", { ...query, id: hit.id });

/** The strokes in a picture or SVG file, and whether it is a photograph: { strokes, photograph }. */
export function trace(file) {
  const body = new FormData();
  body.append("picture", file);
  return ask("api/sketch", { method: "POST", body });
}

export const index = () => ask("api/index", { cache: "no-store" });
/** What to begin with: some pictures, and drawings { strokes, picture } that lead back to one. */
export const pictures = () => ask("api/pictures", { cache: "no-store" });
export const examples = () => ask("api/examples", { cache: "no-store" });
export const folders = () => ask("api/folders", { cache: "no-store" });
export const reveal = (hit) => send(`${pictureURL(hit)}/reveal`, {});
export const archiveURL = (hits) => `api/archive?${hits.map(({ id }) => `id=${encodeURIComponent(id)}`).join("&")}`;
export const pictureURL = ({ id }) => `api/pictures/${encodeURIComponent(id)}`;
/** What is opened of a picture: its file; of a page, the volume at that page. */
export function originalURL(hit) {
  if (hit.link && /^https?:/.test(hit.link)) return hit.link;
  const page = hit.picture?.match(/#page=\d+$/);
  return page ? `${pictureURL(hit)}/volume${page[0]}` : pictureURL(hit);
}
export const thumbnailURL = (hit) => `${pictureURL(hit)}/thumbnail`;
export const contoursURL = (hit) => `${pictureURL(hit)}/contours`;

/** Why an address shows no picture, as a Problem; null where it does after all. */
export async function whyMissing(address) {
  try {
    const response = await reach(address, { cache: "no-store" });
    if (response.ok) return null;
    const { detail } = await response.json().catch(() => ({}));
    return new Problem(detail ?? "This picture can no longer be read.", response.status);
  } catch (problem) {
    return problem;
  }
}

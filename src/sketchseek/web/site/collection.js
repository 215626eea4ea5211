// A published collection: opened from its files, searched in a worker, its thumbnails taken out of their parts.
import { annotationPage } from "./annotations.js";
import { Pieces } from "./engine/pieces.js";
import { placed } from "./page/geometry.js";

const HERE = new URL(".", import.meta.url);
const MOST_WORKERS = 4; // that scan a large collection together

/** What went wrong, as a sentence. status: 422 for a drawing that cannot be searched for, 0 where no server answered. */
export class Problem extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** The worker; where its script lies on another host than the page, by one of the page's own that imports it. */
function startWorker() {
  if (HERE.origin === location.origin) {
    return new Worker(new URL("./engine/worker.js", import.meta.url), { type: "module" }); // as bundlers know it
  }
  const relay = new Blob([`import ${JSON.stringify(`${HERE}engine/worker.js`)};`], { type: "text/javascript" });
  return new Worker(URL.createObjectURL(relay), { type: "module" });
}

/** Open a published collection. `progress` hears which share of it has come, from 0 to 1. `workers`: how many scan it
 *  together; by default one for each core, up to 4, and one for all of a small collection. */
export async function open(url, { progress, workers } = {}) {
  const site = new URL(url, document.baseURI);
  if (!site.pathname.endsWith("/")) site.pathname += "/";
  const line = new Line(startWorker(), progress);
  const others = [];
  try {
    const most = Math.min(MOST_WORKERS, navigator.hardwareConcurrency ?? 1);
    const { slices, ...index } = await line.ask("open", { site: site.href, workers, most });
    await Promise.all(slices.map(({ first, ...slice }) => {
      others.push({ line: new Line(startWorker()), first });
      return others.at(-1).line.ask("openSlice", { slice }, [slice.codes.buffer, slice.frames.buffer]);
    }));
    return new Collection(site, line, others, index);
  } catch (problem) {
    for (const one of [line, ...others.map((other) => other.line)]) one.close();
    throw problem;
  }
}

/** Questions to a worker. */
class Line {
  #worker;
  #waiting = new Map();
  #count = 0;

  constructor(worker, progress) {
    this.#worker = worker;
    worker.addEventListener("message", ({ data }) => {
      if ("progress" in data) progress?.(data.progress);
      else this.#resolve(data);
    });
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      for (const id of [...this.#waiting.keys()]) {
        this.#resolve({ id, problem: { message: "The engine could not be started.", status: 500 } });
      }
    });
  }

  ask(task, given, handed = []) {
    const id = ++this.#count;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, task, ...given }, handed);
    });
  }

  #resolve({ id, answer, problem }) {
    const { resolve, reject } = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (problem?.cause) console.warn(problem.cause);
    if (problem) reject(new Problem(problem.message, problem.status));
    else resolve(answer);
  }

  close() { this.#worker.terminate(); }
}

/** One search at a time; of those that wait, only the newest is begun. */
class Turns {
  #next = null;
  #busy = false;

  take(search) {
    return new Promise((resolve, reject) => {
      this.#next?.reject(new DOMException("A newer search was begun.", "AbortError"));
      this.#next = { search, resolve, reject };
      this.#begin();
    });
  }

  async #begin() {
    if (this.#busy || !this.#next) return;
    const { search, resolve, reject } = this.#next;
    this.#next = null;
    this.#busy = true;
    await search().then(resolve, reject);
    this.#busy = false;
    this.#begin();
  }
}

const rounded = (value, digits) => Math.round(value * 10 ** digits) / 10 ** digits;

/** A collection that is open. `pictures`: how many; `title`: what its publisher calls it. */
export class Collection {
  #site;
  #line;
  #others; // workers that scan a part each: { line, first }
  #index;
  #turns = new Turns();
  #seen = null; // the promise that the icon network comes
  #sees = false; // it has
  #thumbnails;
  #originals; // null where pictures are not published themselves
  #shown = new Map(); // picture -> promise of an address

  constructor(site, line, others, index) {
    this.#site = site;
    this.#line = line;
    this.#others = others;
    this.#index = index;
    const together = index.isLarge ? 1 : Infinity; // a request for each, or for whole files of them
    this.#thumbnails = new Pieces(site, index.thumbnails, index.lengths[0], together);
    this.#originals = index.originals && new Pieces(site, index.originals, index.lengths[1], together);
  }

  get pictures() { return this.#index.pictures; }
  get title() { return this.#index.title; }
  get version() { return this.#index.version; }

  /** Some pictures to begin with, and drawings that lead back to one: with `strokes`. */
  get some() { return this.#index.begin.pictures.map((number) => this.#known(number)); }
  get examples() {
    return this.#index.begin.examples.map(({ number, strokes }) => ({ ...this.#known(number), strokes }));
  }

  /** Fetches what icons and doodles of one thing have in common, where it was published; `search` does so, too. True once it
   *  has a say in searches, false where there is none. */
  see() {
    if (!this.#index.sees) return Promise.resolve(false);
    this.#seen ??= this.#line.ask("see").then((sees) => (this.#sees = sees));
    this.#seen.catch(() => { this.#seen = null; }); // to be tried again
    return this.#seen;
  }

  /** Whether all that was published has a say in searches. */
  get isWhole() { return this.#sees || !this.#index.sees; }

  /** The sets of icons and the licences that `only` may name, each with how many pictures: { set: [[name, count], ...], licence }. */
  get choices() {
    return Object.fromEntries(["set", "licence"].map((column) => {
      const { values, of } = this.#index.labels[column] ?? { values: [], of: [] };
      const counts = values.map(() => 0);
      for (const number of of) if (number >= 0) counts[number]++;
      return [column, values.map((value, i) => [value, counts[i]]).sort(([a], [b]) => a.localeCompare(b))];
    }));
  }

  /** The best k pictures after the first `offset` for strokes [[[x, y], ...], ...], as `search --json` gives them.
   *  words: what is looked for, beside strokes or without any. only: { set, licence }, to look among these alone.
   *  turn: degrees either way, or "any". hasty: by shape alone, while what else there is has not come yet. A search that is
   *  overtaken by a newer one rejects with an AbortError. */
  async search(strokes, { k = 20, offset = 0, mirror = true, turn = 0, hasty = false, words = "", only = null } = {}) {
    const whole = this.see().catch(() => false); // without it, by shape alone
    if (!hasty && strokes?.length) await whole;
    const started = performance.now();
    const lines = (strokes ?? []).map((stroke) => Array.from(stroke, ([x, y]) => [Number(x), Number(y)]));
    const degrees = turn === "any" ? 180 : Number(turn);
    const query = { strokes: lines, k, offset, mirror, turn: degrees };
    const inParts = this.#others.length > 0 && lines.length > 0 && !only;
    const answer = await this.#turns.take(async () =>
      this.#line.ask("search", { ...query, words, only, rows: inParts ? await this.#scanned(query) : null }));
    const hits = this.#hits(answer, offset, lines);
    return {
      pictures: this.pictures, present: rounded(answer.present, 6), first_page: rounded(answer.firstPage, 6),
      verdict: answer.verdict, hits, took_ms: performance.now() - started, ...(answer.note && { note: answer.note }),
    };
  }

  /** The rows of the best pictures, best first, by the workers that have a part each. */
  async #scanned(query) {
    const parts = await Promise.all(this.#others.map(({ line }) => line.ask("scan", query)));
    const found = [];
    parts.forEach((part, i) => {
      for (let at = 0; at < part.length; at += 2) found.push([this.#others[i].first + part[at], part[at + 1]]);
    });
    found.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    return found.map(([row]) => row);
  }

  #hits({ places, fields, matched }, offset, strokes) {
    const hits = [];
    for (let at = 0; at < places.length; at += fields.length) {
      const { hit, picture, score, confidence, scale, mirrored, rotation, dx, dy, x0, y0, x1, y1 } =
        Object.fromEntries(fields.map((name, i) => [name, places[at + i]]));
      const place = {
        score: rounded(score, 6), scale: rounded(scale, 4), mirrored: mirrored === 1,
        rotation: rounded((rotation * 180) / Math.PI, 1), box: [x0, y0, x1, y1],
      };
      place.outline = placed(strokes, place);
      if (hits[hit]) hits[hit].also.push(place);
      else {
        hits[hit] = {
          rank: offset + hit + 1, ...this.#known(picture), ...place, confidence: rounded(confidence, 9),
          dx: rounded(dx, 3), dy: rounded(dy, 3), also: [], ...(matched?.[picture] && { matched: matched[picture] }),
        };
      }
    }
    return hits;
  }

  /** What is known of a picture. */
  #known(number) {
    const { labels, sizes } = this.#index;
    const known = { id: String(number), picture: labels.picture[number], width: sizes[4 * number], height: sizes[4 * number + 1] };
    if (labels.title?.[number]) known.title = labels.title[number];
    for (const column of ["set", "licence"]) {
      const { values, of } = labels[column] ?? { of: [] };
      if (of[number] >= 0) known[column] = values[of[number]];
    }
    if (labels.link?.[number]) known.link = new URL(labels.link[number], this.#site).href;
    return known;
  }

  /** An answer as a IIIF AnnotationPage, as the server gives it; null where the site was published without canvases.
   *  address: what the page is called, an address of your own. */
  annotations({ hits }, address = `${this.#site}iiif/answer.json`) {
    return this.#index.labels.canvas && annotationPage(hits, address, this.#index.labels);
  }

  /** The address of a small picture of a hit. */
  thumbnail({ id }) {
    let address = this.#shown.get(id);
    if (!address) {
      address = this.#thumbnails.one(Number(id)).then((bytes) => URL.createObjectURL(new Blob([bytes], { type: "image/webp" })));
      address.catch(() => this.#shown.delete(id)); // to be asked for again
      this.#shown.set(id, address);
    }
    return address;
  }

  /** The SVG document of a hit, where those were published; null otherwise. */
  async original({ id }) {
    const bytes = await this.#originals?.one(Number(id));
    return bytes?.length ? new TextDecoder().decode(bytes) : null;
  }

  /** Ends the workers; the collection cannot be searched any more. */
  close() {
    for (const line of [this.#line, ...this.#others.map((other) => other.line)]) line.close();
    for (const address of this.#shown.values()) address.then(URL.revokeObjectURL, () => {});
  }
}

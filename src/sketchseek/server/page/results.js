// The grid of hits. A picture that stays keeps its element, so nothing flickers while one draws.
import { pathData } from "./geometry.js";
import { support } from "./judgement.js";

const SVG = "http://www.w3.org/2000/svg";
const PATIENCE = 120; // ms to wait for new thumbnails before showing what has come

/** The sketch's strokes in green where they were found, as an SVG over the picture: the fainter, the less the
 *  shape has to do with the hit. `hit.also[].outline`: where else in the picture. */
export function outlineOverlay(hit) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "outline");
  svg.setAttribute("aria-hidden", "true");
  for (const name of ["also", "halo", "line"]) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("class", name);
    svg.append(path);
  }
  placeOutline(svg, hit);
  return svg;
}

export function placeOutline(svg, hit) {
  svg.setAttribute("viewBox", `0 0 ${hit.width} ${hit.height}`);
  svg.style.setProperty("--support", support(hit).toFixed(2));
  const [also, ...own] = svg.children;
  also.setAttribute("d", pathData((hit.also ?? []).flatMap((place) => place.outline ?? [])));
  for (const path of own) path.setAttribute("d", pathData(hit.outline));
}

export const percent = (hit) => Math.round(100 * hit.confidence);
export const fileName = (hit) => hit.title ?? hit.picture.split("/").at(-1);

/** Show what is at an address, or at one that is still to come. */
export function load(image, address) {
  if (typeof address === "string") image.src = address;
  else image.coming = address.then((known) => { image.src = known; }, () => image.dispatchEvent(new Event("error")));
  return image;
}

/** How sure the program is, as a bar. */
export function showSureness(meter, hit) {
  const sure = percent(hit);
  meter.setAttribute("aria-valuenow", sure);
  meter.setAttribute("aria-valuetext", `${sure}% sure`);
  meter.title = `${sure}% sure`;
  meter.firstElementChild.style.inlineSize = `${sure}%`;
}

export class Results {
  hits = [];
  picked = new Map(); // id -> hit: it stays picked when other hits are shown
  rejected = new Map(); // the same for those that are not what was meant
  #grid;
  #template;
  #tiles = new Map();
  #thumbnail;
  #onOpen;
  #onPick;

  /** thumbnail: a hit -> the address of its small picture, or a promise of it. */
  constructor(grid, template, { thumbnail, onOpen, onPick }) {
    this.#grid = grid;
    this.#template = template;
    this.#thumbnail = thumbnail;
    this.#onOpen = onOpen;
    this.#onPick = onPick;
  }

  /** Show these hits instead of what is there; `current` says whether they are still wanted. */
  async show(hits, current) {
    const tiles = new Map(hits.map((hit) => [hit.id, this.#tiles.get(hit.id) ?? this.#tile(hit)]));
    await this.#ready([...tiles.values()].slice(0, 12));
    if (!current()) return false;
    this.#tiles = tiles;
    this.hits = hits;
    for (const hit of hits) this.#fill(tiles.get(hit.id), hit);
    const focused = document.activeElement;
    this.#grid.replaceChildren(...tiles.values());
    if (focused !== document.activeElement && this.#grid.contains(focused)) focused.focus({ preventScroll: true });
    this.#onPick();
    return true;
  }

  /** Show more hits below. */
  append(hits) {
    for (const hit of hits) {
      if (this.#tiles.has(hit.id)) continue;
      const tile = this.#tile(hit);
      this.#tiles.set(hit.id, tile);
      this.hits.push(hit);
      this.#fill(tile, hit);
      this.#grid.append(tile);
    }
  }

  /** Ask again for thumbnails that did not come. */
  retry() {
    for (const hit of this.hits) {
      const tile = this.#tiles.get(hit.id);
      if (!tile.matches(".missing")) continue;
      tile.classList.remove("missing");
      load(tile.querySelector("img"), this.#thumbnail(hit));
    }
  }

  has(id) { return this.#tiles.has(id); }

  clear() {
    this.hits = [];
    this.#tiles.clear();
    this.#grid.replaceChildren();
    this.#onPick();
  }

  pick(hit, yes) { this.#mark(this.picked, this.rejected, hit, yes); }
  reject(hit, yes) { this.#mark(this.rejected, this.picked, hit, yes); }

  unpick() {
    const before = [...this.picked.keys(), ...this.rejected.keys()];
    this.picked.clear();
    this.rejected.clear();
    for (const id of before) this.#showMarks(id);
    this.#onPick();
  }

  #mark(chosen, others, hit, yes) {
    others.delete(hit.id);
    if (yes) chosen.set(hit.id, hit);
    else chosen.delete(hit.id);
    this.#showMarks(hit.id);
    this.#onPick();
  }

  #showMarks(id) {
    const tile = this.#tiles.get(id);
    if (!tile) return;
    tile.querySelector(".pick input").checked = this.picked.has(id);
    tile.querySelector(".reject").setAttribute("aria-pressed", this.rejected.has(id));
  }

  #latest(hit) { return this.hits.find(({ id }) => id === hit.id) ?? hit; }

  #tile(hit) {
    const tile = this.#template.content.firstElementChild.cloneNode(true);
    const image = tile.querySelector("img");
    image.addEventListener("load", () => tile.classList.add("loaded"));
    image.addEventListener("error", () => tile.classList.add("missing"));
    load(image, this.#thumbnail(hit));
    tile.querySelector(".frame").append(outlineOverlay(hit));
    tile.querySelector(".open").addEventListener("click", () => this.#onOpen(hit.id));
    const box = tile.querySelector(".pick input");
    box.addEventListener("change", () => this.pick(this.#latest(hit), box.checked));
    tile.querySelector(".reject").addEventListener("click", () =>
      this.reject(this.#latest(hit), !this.rejected.has(hit.id)));
    // The tile is as wide as its picture's shape asks, within reason.
    tile.style.setProperty("--shape", Math.max(0.6, Math.min(2, hit.width / hit.height)));
    return tile;
  }

  #fill(tile, hit) {
    placeOutline(tile.querySelector(".outline"), hit);
    showSureness(tile.querySelector(".bar"), hit);
    const name = fileName(hit);
    tile.dataset.id = hit.id;
    tile.dataset.mirrored = hit.mirrored;
    tile.querySelector(".open").setAttribute("aria-label", `${hit.rank}. ${name}, ${percent(hit)}% sure: look closer`);
    tile.querySelector(".open").title = name;
    tile.querySelector(".sure").textContent = `${percent(hit)}%`;
    tile.querySelector(".pick input").setAttribute("aria-label", `Select ${name}`);
    tile.querySelector(".reject").setAttribute("aria-label", `Not this: ${name}`);
    const places = tile.querySelector(".places");
    places.hidden = !hit.also?.length;
    places.textContent = `${(hit.also?.length ?? 0) + 1} places`;
    this.#showMarks(hit.id);
  }

  async #ready(tiles) {
    const images = tiles.map(async (tile) => {
      const image = tile.querySelector("img");
      if (image.coming) await image.coming;
      await image.decode().catch(() => {});
    });
    await Promise.race([Promise.all(images), new Promise((done) => setTimeout(done, PATIENCE))]);
  }
}

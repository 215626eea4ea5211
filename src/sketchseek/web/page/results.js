// The grid of hits. A picture that stays keeps its element, so nothing flickers while one draws.
import { pathData } from "./geometry.js";
import { isSame, support } from "./judgement.js";

const SVG = "http://www.w3.org/2000/svg";
const LONG = 450; // ms that a finger rests on a picture to select it
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

export const fileName = (hit) => hit.title ?? hit.picture.split("/").at(-1);
export const called = ({ matched }) => (matched ? `called \u201c${matched}\u201d` : "");

/** Show what is at an address, or at one that is still to come. */
export function load(image, address) {
  if (typeof address === "string") image.src = address;
  else image.coming = address.then((known) => { image.src = known; }, () => image.dispatchEvent(new Event("error")));
  return image;
}

export class Results {
  hits = []; // those that show the same one after the other
  picked = new Map(); // id -> hit: it stays picked when other hits are shown
  rejected = new Map(); // the same for those that are not what was meant
  #grid;
  #template;
  #tiles = new Map(); // id of a stack's top -> its element
  #stacks = [];
  #unsure = false;
  #divider = Object.assign(document.createElement("li"), { className: "divider", textContent: "Closest matches" });
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

  /** Show these hits instead of what is there, the first `right` of which look right; `current` says whether they are
   *  still wanted. Where none does, hits that are alike are stacked: one mistake is shown once. */
  async show(hits, current, right = 0) {
    const stacks = [];
    this.#unsure = !right;
    for (const hit of hits) this.#stackOf(hit, stacks).push(hit);
    const tiles = new Map(stacks.map(([hit]) => [hit.id, this.#tiles.get(hit.id) ?? this.#tile(hit)]));
    await this.#ready([...tiles.values()].slice(0, 12));
    if (!current()) return false;
    this.#tiles = tiles;
    this.#stacks = stacks;
    this.hits = stacks.flat();
    for (const stack of stacks) this.#fill(tiles.get(stack[0].id), stack);
    const focused = document.activeElement;
    const below = stacks.findIndex(([hit]) => hits.indexOf(hit) >= right);
    const all = [...tiles.values()];
    if (below > 0) all.splice(below, 0, this.#divider);
    this.#grid.replaceChildren(...all);
    if (focused !== document.activeElement && this.#grid.contains(focused)) focused.focus({ preventScroll: true });
    this.#onPick();
    return true;
  }

  /** Show more hits below. */
  append(hits) {
    for (const hit of hits) {
      if (this.has(hit.id)) continue;
      const stack = this.#stackOf(hit, this.#stacks);
      stack.push(hit);
      this.hits.push(hit);
      const tile = this.#tiles.get(stack[0].id) ?? this.#tile(hit);
      this.#tiles.set(stack[0].id, tile);
      this.#fill(tile, stack);
      if (!tile.isConnected) this.#grid.append(tile);
    }
  }

  /** The stack that a hit belongs on, which may be a new one. */
  #stackOf(hit, stacks) {
    const lies = ([top]) => isSame(top, hit) || (this.#unsure && top.id === hit.like);
    return stacks.find(lies) ?? stacks[stacks.push([]) - 1];
  }

  /** Ask again for thumbnails that did not come. */
  retry() {
    for (const [hit] of this.#stacks) {
      const tile = this.#tiles.get(hit.id);
      if (!tile.matches(".missing")) continue;
      tile.classList.remove("missing");
      load(tile.querySelector("img"), this.#thumbnail(hit));
    }
  }

  has(id) { return this.hits.some((hit) => hit.id === id); }

  clear() {
    this.hits = [];
    this.#stacks = [];
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
    this.#openable(tile.querySelector(".open"), hit);
    const box = tile.querySelector(".pick input");
    box.addEventListener("change", () => this.pick(this.#latest(hit), box.checked));
    tile.querySelector(".reject").addEventListener("click", () =>
      this.reject(this.#latest(hit), !this.rejected.has(hit.id)));
    // The tile is as wide as its picture's shape asks, within reason.
    tile.style.setProperty("--shape", Math.max(0.6, Math.min(2, hit.width / hit.height)));
    return tile;
  }

  /** A click opens a hit; a long press selects it, where nothing hovers. */
  #openable(button, hit) {
    let timer = 0, pressed = false;
    button.addEventListener("pointerdown", ({ pointerType }) => {
      pressed = false;
      if (pointerType === "touch") timer = setTimeout(() => {
        pressed = true;
        this.pick(this.#latest(hit), !this.picked.has(hit.id));
      }, LONG);
    });
    for (const end of ["pointerup", "pointercancel", "pointerleave"]) button.addEventListener(end, () => clearTimeout(timer));
    button.addEventListener("contextmenu", (event) => timer && event.preventDefault());
    button.addEventListener("click", () => pressed || this.#onOpen(hit.id));
  }

  #fill(tile, [hit, ...same]) {
    placeOutline(tile.querySelector(".outline"), hit);
    const name = [fileName(hit), called(hit)].filter(Boolean).join(", ");
    tile.dataset.id = hit.id;
    tile.dataset.mirrored = hit.mirrored;
    tile.querySelector(".open").setAttribute("aria-label", `${hit.rank}. ${name}: look closer`);
    tile.querySelector(".open").title = name;
    tile.querySelector(".pick input").setAttribute("aria-label", `Select ${name}`);
    tile.querySelector(".reject").setAttribute("aria-label", `Not what I meant: ${name}`);
    const places = tile.querySelector(".places");
    places.textContent = same.length ? `${same.length + 1} alike` : hit.also?.length ? `${hit.also.length + 1} places` : "";
    places.hidden = !places.textContent;
    tile.classList.toggle("stack", same.length > 0);
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

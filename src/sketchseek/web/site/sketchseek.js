// A published collection, for any page: `open(url)` to search it, `<sketch-seek src="url">` to let people draw.
import { open } from "./collection.js";
import { outline, pathData } from "./page/geometry.js";
import { Sketchpad } from "./page/sketchpad.js";

export { Collection, Problem, open } from "./collection.js";

const SVG = "http://www.w3.org/2000/svg";
const STYLE = `
:host { display: grid; gap: 1rem; grid-template-columns: minmax(14rem, 22rem) minmax(0, 1fr); align-items: start; }
:host([hidden]) { display: none; }
.sheet { display: grid; gap: .5rem; }
canvas { inline-size: 100%; aspect-ratio: 5 / 4; touch-action: none; cursor: crosshair; color: CanvasText; background: Canvas; border: 1px solid GrayText; border-radius: .5rem; }
canvas:focus-visible, button:focus-visible, a:focus-visible { outline: 3px solid #1a7f5a; outline-offset: 2px; }
.tools { display: flex; gap: .5rem; flex-wrap: wrap; }
.tools button { font: inherit; min-block-size: 2.75rem; padding-inline: .9rem; border-radius: .4rem; border: 1px solid GrayText; background: ButtonFace; color: ButtonText; cursor: pointer; }
.tools button:disabled { color: GrayText; cursor: default; }
p { margin: 0; }
ol { display: grid; grid-template-columns: repeat(auto-fill, minmax(6.5rem, 1fr)); gap: .75rem; margin: .5rem 0 0; padding: 0; list-style: none; }
.hit { display: grid; gap: .25rem; inline-size: 100%; padding: 0; border: 0; background: none; color: inherit; font: inherit; font-size: .85rem; text-align: center; text-decoration: none; cursor: pointer; }
.frame { position: relative; display: grid; aspect-ratio: 1; background: #fff; border-radius: .4rem; overflow: hidden; }
.frame > * { grid-area: 1 / 1; inline-size: 100%; block-size: 100%; object-fit: contain; }
path { fill: none; stroke: #00c853; stroke-width: 2.5px; stroke-linejoin: round; stroke-linecap: round; vector-effect: non-scaling-stroke; }
.halo { stroke: #fff; stroke-width: 5px; }
.name { overflow-wrap: anywhere; }
@media (max-width: 40rem) { :host { grid-template-columns: minmax(0, 1fr); } }`;
const MARKUP = `
<div class="sheet" part="sheet">
  <canvas part="paper" tabindex="0" role="application" aria-roledescription="drawing area" aria-label="Drawing area: arrow keys move the pencil, space puts it down and lifts it"></canvas>
  <div class="tools" part="tools"><button type="button" part="button" id="undo" disabled>Undo</button><button type="button" part="button" id="clear" disabled>Clear</button></div>
</div>
<div part="answers">
  <p role="status" part="status"></p>
  <slot name="empty"></slot>
  <ol part="hits" aria-label="Pictures found"></ol>
</div>`;

/** A sheet to draw on, and what is found.
 *
 *  src: where the collection is published. k: how many hits (12). mirror="off", turn="any" or degrees, words="...": see
 *  `Collection.search`. Events: "ready" once the collection is open, "hits" with an answer, "hit" when a person chooses
 *  one (`detail` is it; its link is followed unless that is prevented), "problem". Slot "empty": what is shown before
 *  anything is drawn. Parts: sheet, paper, tools, button, answers, status, hits, hit, picture, name. */
export class SketchSeek extends HTMLElement {
  static observedAttributes = ["src", "k", "mirror", "turn", "words"];
  #find;
  #pad;
  #opening = null; // promise of the collection at `src`
  #asked = 0;

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    root.adoptedStyleSheets = [sheet];
    root.append(document.createRange().createContextualFragment(MARKUP));
    this.#find = (selector) => root.querySelector(selector);
    this.#pad = new Sketchpad(this.#find("canvas"));
    this.#pad.addEventListener("change", () => this.#search());
    this.#find("#undo").addEventListener("click", () => this.#pad.undo());
    this.#find("#clear").addEventListener("click", () => this.#pad.clear());
  }

  /** The strokes on the sheet; set them to search for others. */
  get strokes() { return this.#pad.strokes; }
  set strokes(strokes) { this.#pad.replace(strokes.map((stroke) => stroke.map(([x, y, p = 0.5]) => [x, y, p]))); }

  connectedCallback() { this.#open(); }

  disconnectedCallback() {
    this.#opening?.then((collection) => collection.close(), () => {});
    this.#opening = null;
  }

  attributeChangedCallback(name, before, now) {
    if (!this.isConnected || before === now) return;
    if (name === "src") {
      this.disconnectedCallback();
      this.#open();
    } else this.#search();
  }

  #open() {
    const source = this.getAttribute("src");
    if (source === null || this.#opening) return;
    const opening = this.#opening = open(source, { progress: (share) => this.#say(`Loading, ${Math.floor(100 * share)}%`) });
    opening.then((collection) => {
      if (this.#opening !== opening) return;
      this.#say("");
      this.#tell("ready", collection);
      this.#search();
    }, (problem) => this.#opening === opening && this.#excuse(problem));
  }

  #say(text) { this.#find("[role=status]").textContent = text; }

  #tell(name, detail, cancelable = false) {
    return this.dispatchEvent(new CustomEvent(name, { detail, cancelable, bubbles: true, composed: true }));
  }

  #excuse(problem) {
    this.#find("ol").replaceChildren(); // they are no answer to what is on the sheet now
    this.#say(problem.message);
    this.#tell("problem", problem);
  }

  async #search() {
    const strokes = outline(this.#pad.strokes);
    this.#find("#undo").disabled = !this.#pad.canUndo;
    this.#find("#clear").disabled = !strokes.length;
    this.#find("slot").hidden = strokes.length > 0;
    const mine = ++this.#asked;
    const words = this.getAttribute("words") ?? "";
    if (!(strokes.length || words) || !this.#opening) {
      this.#find("ol").replaceChildren();
      this.#say("");
      return;
    }
    const turn = this.getAttribute("turn") ?? 0;
    const options = { words, k: Number(this.getAttribute("k") ?? 12), mirror: this.getAttribute("mirror") !== "off", turn };
    try {
      const collection = await this.#opening;
      const hasty = !collection.isWhole;
      const answer = await collection.search(strokes, { ...options, hasty });
      if (mine !== this.#asked) return;
      if (hasty) collection.see().then((more) => more && mine === this.#asked && this.#search(), () => {});
      this.#say("");
      this.#find("ol").replaceChildren(...answer.hits.map((hit) => this.#item(collection, hit)));
      this.#tell("hits", answer);
    } catch (problem) {
      if (problem.name !== "AbortError" && mine === this.#asked) this.#excuse(problem);
    }
  }

  #item(collection, hit) {
    const item = document.createElement("li");
    const chosen = document.createElement(hit.link ? "a" : "button");
    if (hit.link) chosen.href = hit.link;
    else chosen.type = "button";
    chosen.className = "hit";
    chosen.part = "hit";
    chosen.addEventListener("click", (event) => this.#tell("hit", hit, true) || event.preventDefault());
    const frame = Object.assign(document.createElement("span"), { className: "frame" });
    const image = Object.assign(new Image(), { alt: "", part: "picture" });
    collection.thumbnail(hit).then((address) => { image.src = address; }, () => {});
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", `0 0 ${hit.width} ${hit.height}`);
    svg.setAttribute("aria-hidden", "true");
    for (const layer of ["halo", "line"]) {
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("class", layer);
      path.setAttribute("d", pathData(hit.outline));
      svg.append(path);
    }
    frame.append(image, svg);
    const name = Object.assign(document.createElement("span"), { className: "name", part: "name" });
    name.textContent = hit.title ?? hit.picture.split("/").at(-1).replace(/\.[^.]+$/, "");
    chosen.append(frame, name);
    item.append(chosen);
    return item;
  }
}

customElements.define("sketch-seek", SketchSeek);

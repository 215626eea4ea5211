// One hit, large: the picture, the outline on it, the contours that the program saw, and where the file is.
import { densify, pathData } from "./geometry.js";
import { called, fileName, load, outlineOverlay } from "./results.js";

const SWIPE = 45; // px that a finger has to travel to turn the page
const SMALL = "What is shown is the small picture that the index keeps.";
const CHANGED = `The file has changed since it was indexed: run \u201csketchseek index\u201d again. ${SMALL}`;

/** Whether a picture has the sides of the one that was indexed, but for rounding. */
function isShapedLike({ naturalWidth, naturalHeight }, { width, height }) {
  const off = Math.abs(naturalWidth * height - naturalHeight * width); // 0 where the shapes are the same
  return off <= 0.02 * naturalWidth * height || off <= 2 * Math.max(width, height);
}

/** What is above the stage's other layers when it can be shown: the picture itself. */
function layer(name, alt, source) {
  return load(Object.assign(new Image(), { className: name, alt, draggable: false }), source);
}

/** What is known of a hit, in a line. */
function facts(hit) {
  const turned = Math.round(hit.rotation ?? 0);
  const found = hit.outline.length ? ` · found at ${Math.round(hit.scale * 100)}% size` : "";
  return [
    `${Math.round(100 * hit.confidence)}% sure · number ${hit.rank}${found}`,
    called(hit),
    hit.mirrored && "mirrored",
    turned && `turned by ${Math.abs(turned)}° to the ${turned > 0 ? "right" : "left"}`,
    hit.also?.length && `and in ${hit.also.length} more ${hit.also.length === 1 ? "place" : "places"}`,
  ].filter(Boolean).join(", ");
}

export class Viewer {
  #dialog;
  #stage;
  #hits = [];
  #at = 0;
  #svg = null; // of the hit, where there is any
  #doubted = null; // the hit whose picture was asked for twice
  #give;

  /** `give` knows where things come from, all for a hit: `picture`, `thumbnail` and, if there are any,
   *  `contours` give addresses; `original` that of what "Open picture" opens, or null; `whyMissing(address)` says why one shows nothing; `more()` fetches further hits;
   *  `pick(hit, yes)` and `isPicked(hit)` select it; `say(text)` tells the visitor. `reveal(hit)` shows its file
   *  and `within(hit)` looks in its folder alone, `explain(hit)` says why it matched; `can(name)`
   *  says whether these three can be done. `name(hit)` is what "Copy" copies, `svg(hit)` its SVG document, if there are any. */
  constructor(dialog, give) {
    this.#dialog = dialog;
    this.#give = give;
    this.#stage = dialog.querySelector(".stage");
    const on = (selector, type, action) => dialog.querySelector(selector).addEventListener(type, action);
    on(".close", "click", () => dialog.close());
    on(".previous", "click", () => this.#step(-1));
    on(".next", "click", () => this.#step(1));
    on(".copy", "click", () => this.#copy(give.name?.(this.hit) ?? this.hit.picture, ".copy"));
    on(".copy-svg", "click", () => this.#copy(this.#svg, ".copy-svg"));
    on(".reveal", "click", () => give.reveal(this.hit));
    on(".explain", "click", () => this.#explain());
    on(".within", "click", () => {
      dialog.close();
      give.within(this.hit);
    });
    on("#show-outline", "change", () => this.#layers());
    on("#show-contours", "change", () => this.#layers());
    on(".pick input", "change", (event) => give.pick(this.hit, event.target.checked));
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    dialog.addEventListener("keydown", (event) => {
      if (event.key === "ArrowLeft") this.#step(-1);
      if (event.key === "ArrowRight") this.#step(1);
    });
    this.#swipes();
  }

  get hit() { return this.#hits[this.#at]; }

  open(hits, id) {
    this.#hits = hits;
    this.#at = hits.findIndex((hit) => hit.id === id);
    this.#show();
    this.#dialog.showModal();
  }

  /** Try again to show what could not be shown. */
  retry() {
    if (this.#dialog.open && this.#stage.matches(".gone")) this.#show();
  }

  async #step(by) {
    const to = this.#at + by;
    if (to === this.#hits.length) await this.#give.more();
    if (!this.#hits[to]) return;
    this.#at = to;
    this.#show();
  }

  /** A finger that moves sideways over the picture turns to the next one, or back. */
  #swipes() {
    let from = null;
    const finish = () => {
      from = null;
      this.#stage.style.translate = "";
    };
    this.#stage.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "mouse" || !event.isPrimary) return finish();
      from = [event.clientX, event.clientY];
      this.#stage.setPointerCapture(event.pointerId);
    });
    this.#stage.addEventListener("pointermove", (event) => {
      if (from) this.#stage.style.translate = `${event.clientX - from[0]}px`;
    });
    this.#stage.addEventListener("pointerup", (event) => {
      if (!from) return;
      const [dx, dy] = [event.clientX - from[0], event.clientY - from[1]];
      finish();
      if (Math.abs(dx) > SWIPE && Math.abs(dx) > Math.abs(dy)) this.#step(dx < 0 ? 1 : -1);
    });
    this.#stage.addEventListener("pointercancel", finish);
  }

  #show() {
    const hit = this.hit;
    const find = (selector) => this.#dialog.querySelector(selector);
    this.#stage.classList.remove("gone");
    this.#stage.style.setProperty("--shape", hit.width / hit.height);
    // The small picture is there at once, and stays where the large one cannot be had.
    const picture = layer("picture", fileName(hit), this.#give.picture(hit));
    const thumbnail = layer("thumbnail", "", this.#give.thumbnail(hit));
    picture.addEventListener("load", () => (isShapedLike(picture, hit) ? thumbnail.remove() : this.#keep(picture, CHANGED)));
    picture.addEventListener("error", () => this.#excuse(hit, picture));
    this.#stage.replaceChildren(thumbnail, picture, outlineOverlay(hit));
    find(".excuse").textContent = "";
    this.#layers();
    find("h2").textContent = fileName(hit);
    find(".path").textContent = [hit.label, hit.rights].filter(Boolean).join(" · ") || hit.picture;
    const original = this.#give.original(hit);
    find(".original").hidden = !original;
    if (original) find(".original").href = original;
    find(".copy-svg").hidden = true;
    this.#give.svg?.(hit).then((svg) => {
      if (hit !== this.hit || !svg) return;
      this.#svg = svg;
      find(".copy-svg").hidden = false;
    }, () => {}); // without it, there is nothing to copy
    for (const deed of ["reveal", "within", "explain"]) find(`.${deed}`).hidden = !this.#give.can(deed);
    find(".pick input").checked = this.#give.isPicked(hit);
    find(".why").hidden = true;
    find(".facts").textContent = facts(hit);
    find(".previous").disabled = this.#at === 0;
    find(".next").disabled = this.#at === this.#hits.length - 1 && !this.#give.hasMore();
  }

  /** Say why, and colour the outline by what it met: well, partly, not. */
  async #explain() {
    const hit = this.hit;
    try {
      const { sentence, details, points } = await this.#give.explain(hit);
      if (hit !== this.hit) return;
      const why = this.#dialog.querySelector(".why");
      const [said, , numbers] = why.querySelectorAll("p");
      [said.textContent, numbers.textContent, why.hidden] = [sentence, details, false];
      const outline = this.#stage.querySelector(".outline");
      const line = outline.querySelector(".line");
      const far = ([x, y], p) => Math.hypot(x - p[0], y - p[1]);
      const met = (place) => points.reduce((best, p) => (far(place, p) < far(place, best) ? p : best))[2];
      const parts = [[], [], []];
      for (const stroke of hit.outline.map(densify)) {
        stroke.slice(1).forEach((to, i) => parts[2 - (met(to) > 0.25) - (met(to) > 0.5)].push([stroke[i], to]));
      }
      outline.replaceChildren(outline.querySelector(".halo"), ...parts.map((part) => {
        const coloured = line.cloneNode();
        coloured.setAttribute("d", pathData(part));
        return coloured;
      }));
      outline.classList.add("met");
    } catch (problem) {
      this.#give.say(problem.message);
    }
  }

  /** The picture did not come: say whose fault that is. */
  async #excuse(hit, picture) {
    const problem = await this.#give.whyMissing(this.#give.picture(hit));
    if (hit !== this.hit || !picture.isConnected) return;
    if (!problem && this.#doubted !== hit) { // a passing trouble?
      this.#doubted = hit;
      return this.#show();
    }
    const away = problem?.status === 0;
    for (const deed of [".original", ".reveal"]) this.#dialog.querySelector(deed).hidden = true;
    this.#keep(picture, away ? problem.message : `${problem?.message ?? "This file cannot be shown."} ${SMALL}`);
  }

  /** Keep to the small picture, and say why. */
  #keep(picture, excuse) {
    picture.remove();
    this.#stage.firstElementChild.alt = picture.alt;
    this.#stage.classList.add("gone");
    this.#layers();
    this.#dialog.querySelector(".excuse").textContent = excuse;
  }

  #layers() {
    const wanted = (id) => this.#dialog.querySelector(id).checked;
    const address = this.#give.contours?.(this.hit);
    this.#dialog.querySelector("#show-contours").parentElement.hidden = !address;
    this.#stage.classList.toggle("bare", !wanted("#show-outline"));
    let contours = this.#stage.querySelector(".contours");
    // They are of the file as it is now, and so do not belong on the small picture.
    const show = Boolean(address) && wanted("#show-contours") && !this.#stage.matches(".gone");
    if (show && !contours) {
      contours = layer("contours", "Contours that the program saw", address);
      contours.addEventListener("error", async () => {
        const problem = await this.#give.whyMissing(address);
        if (problem && contours.isConnected) this.#give.say(`The contours cannot be drawn. ${problem.message}`);
      });
      this.#stage.querySelector(".outline").before(contours);
    }
    if (contours) contours.hidden = !show;
    this.#stage.classList.toggle("dimmed", show);
  }

  /** Copy a text by a button that says what it is: "Copy path". */
  async #copy(text, button) {
    const what = this.#dialog.querySelector(button).textContent.replace("Copy ", "");
    try {
      await navigator.clipboard.writeText(text);
      this.#give.say(`${what[0].toUpperCase()}${what.slice(1)} copied`);
    } catch {
      getSelection().selectAllChildren(this.#dialog.querySelector(".path"));
      this.#give.say("Press Ctrl+C to copy the path");
    }
  }
}

// One hit, large: the picture, the outline on it, the contours that the program saw, and where the file is.
import { contoursURL, pictureURL } from "./api.js";
import { fileName, outlineOverlay, percent, showSureness } from "./results.js";

export class Viewer {
  #dialog;
  #stage;
  #hits = [];
  #at = 0;
  #say;

  constructor(dialog, say) {
    this.#dialog = dialog;
    this.#say = say;
    this.#stage = dialog.querySelector(".stage");
    const on = (selector, type, action) => dialog.querySelector(selector).addEventListener(type, action);
    on(".close", "click", () => dialog.close());
    on(".previous", "click", () => this.#step(-1));
    on(".next", "click", () => this.#step(1));
    on(".copy", "click", () => this.#copy());
    on("#show-outline", "change", () => this.#layers());
    on("#show-contours", "change", () => this.#layers());
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    dialog.addEventListener("keydown", (event) => {
      if (event.key === "ArrowLeft") this.#step(-1);
      if (event.key === "ArrowRight") this.#step(1);
    });
  }

  open(hits, id) {
    this.#hits = hits;
    this.#at = hits.findIndex((hit) => hit.id === id);
    this.#show();
    this.#dialog.showModal();
  }

  get #hit() { return this.#hits[this.#at]; }

  #step(by) {
    this.#at = Math.max(0, Math.min(this.#hits.length - 1, this.#at + by));
    this.#show();
  }

  #show() {
    const hit = this.#hit;
    const find = (selector) => this.#dialog.querySelector(selector);
    const picture = new Image();
    picture.src = pictureURL(hit.id);
    picture.alt = fileName(hit);
    picture.addEventListener("error", () => this.#say("This picture can no longer be read: moved, or deleted?"));
    this.#stage.style.setProperty("--shape", hit.width / hit.height);
    this.#stage.replaceChildren(picture, outlineOverlay(hit));
    this.#layers();
    find("h2").textContent = fileName(hit);
    find(".path").textContent = hit.picture;
    find(".original").href = pictureURL(hit.id);
    showSureness(find(".bar"), hit);
    const size = Math.round(hit.scale * 100);
    find(".facts").textContent =
      `${percent(hit)}% sure · number ${hit.rank} · found at ${size}% size${hit.mirrored ? ", mirrored" : ""}`;
    find(".previous").disabled = this.#at === 0;
    find(".next").disabled = this.#at === this.#hits.length - 1;
  }

  #layers() {
    const wanted = (id) => this.#dialog.querySelector(id).checked;
    this.#stage.classList.toggle("bare", !wanted("#show-outline"));
    let contours = this.#stage.querySelector(".contours");
    if (wanted("#show-contours") && !contours) {
      contours = new Image();
      contours.className = "contours";
      contours.alt = "Contours that the program saw";
      contours.src = contoursURL(this.#hit.id);
      contours.addEventListener("error", () => this.#say("The contours of this picture could not be drawn."));
      this.#stage.querySelector("img").after(contours);
    }
    if (contours) contours.hidden = !wanted("#show-contours");
    this.#stage.classList.toggle("dimmed", wanted("#show-contours"));
  }

  async #copy() {
    const { picture } = this.#hit;
    try {
      await navigator.clipboard.writeText(picture);
      this.#say("Path copied");
    } catch {
      getSelection().selectAllChildren(this.#dialog.querySelector(".path"));
      this.#say("Press Ctrl+C to copy the path");
    }
  }
}

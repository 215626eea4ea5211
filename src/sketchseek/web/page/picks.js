// The bar of selected pictures: it shows all of them, also those that are not among the hits any more.
import { fileName, load } from "./results.js";

export class Picks {
  #bar;
  #thumbnail;
  #onDrop;

  constructor(bar, { thumbnail, onDrop }) {
    this.#bar = bar;
    this.#thumbnail = thumbnail;
    this.#onDrop = onDrop;
  }

  /** Show hits that were picked and rejected; `isShown(id)` says whether one is in the grid. */
  show(picked, rejected, isShown) {
    const all = [...picked, ...rejected];
    this.#bar.hidden = !all.length;
    const elsewhere = all.filter(({ id }) => !isShown(id)).length;
    this.#bar.querySelector("output").textContent = [
      picked.length && `${picked.length} selected`,
      rejected.length && `${rejected.length} ruled out`,
      elsewhere && `${elsewhere} of them not among these hits`,
    ].filter(Boolean).join(", ");
    const list = this.#bar.querySelector("ul");
    const known = new Map([...list.children].map((item) => [item.dataset.id, item]));
    list.replaceChildren(...all.map((hit) => known.get(hit.id) ?? this.#item(hit)));
    for (const item of list.children) {
      item.classList.toggle("rejected", rejected.some(({ id }) => id === item.dataset.id));
    }
    this.#bar.querySelector("#more-like").textContent =
      picked.length ? "More like these" : "Search without these";
    for (const deed of ["#list", "#zip"]) this.#bar.querySelector(deed).hidden = !picked.length;
  }

  #item(hit) {
    const item = document.createElement("li");
    item.dataset.id = hit.id;
    const button = document.createElement("button");
    button.type = "button";
    button.title = `Deselect ${fileName(hit)}`;
    button.setAttribute("aria-label", button.title);
    button.append(load(Object.assign(new Image(), { alt: "" }), this.#thumbnail(hit)));
    button.addEventListener("click", () => this.#onDrop(hit));
    item.append(button);
    return item;
  }
}

// The bar of selected pictures: it shows all of them, also those that are not among the hits any more.
import { fileName } from "./results.js";

const count = (number, what) => `${number} ${number === 1 ? "picture" : "pictures"} ${what}`;

export class Picks {
  #bar;
  #thumbnail;
  #onDrop;

  constructor(bar, { thumbnail, onDrop }) {
    this.#bar = bar;
    this.#thumbnail = thumbnail;
    this.#onDrop = onDrop;
  }

  /** Show these hits; `isShown(id)` says whether one is in the grid. */
  show(hits, isShown) {
    this.#bar.hidden = !hits.length;
    if (!hits.length) return this.#bar.querySelector("ul").replaceChildren();
    const elsewhere = hits.filter(({ id }) => !isShown(id)).length;
    const aside = elsewhere ? `, ${elsewhere} of them not among these hits` : "";
    this.#bar.querySelector("output").textContent = count(hits.length, "selected") + aside;
    const list = this.#bar.querySelector("ul");
    const known = new Map([...list.children].map((item) => [item.dataset.id, item]));
    list.replaceChildren(...hits.map((hit) => known.get(hit.id) ?? this.#item(hit)));
  }

  #item(hit) {
    const item = document.createElement("li");
    item.dataset.id = hit.id;
    const button = document.createElement("button");
    button.type = "button";
    button.title = `Untick ${fileName(hit)}`;
    button.setAttribute("aria-label", button.title);
    button.append(Object.assign(new Image(), { src: this.#thumbnail(hit), alt: "" }));
    button.addEventListener("click", () => this.#onDrop(hit));
    item.append(button);
    return item;
  }
}

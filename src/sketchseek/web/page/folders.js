// Where to look: everywhere, or in one of the collection's folders.

export class Folders {
  list = []; // { folder, pictures }, parents before what is in them
  #label;
  #select;
  #onChange;

  /** onChange: another folder was chosen. */
  constructor(label, onChange) {
    this.#label = label;
    this.#select = label.querySelector("select");
    this.#select.addEventListener("change", onChange);
    this.#onChange = onChange;
  }

  /** The folder to look in; undefined for everywhere. */
  get chosen() {
    return this.list.find(({ folder }) => folder === this.#select.value);
  }

  choose(folder) {
    if (!this.list.some((one) => one.folder === folder)) return;
    this.#select.value = folder;
    this.#onChange();
  }

  /** Offer these. One alone is no choice. */
  show(list) {
    const before = this.#select.value;
    // Where all are in one folder, that is everywhere.
    const everywhere = list.length > 1 && list.every(({ folder }) => `${folder}/`.startsWith(`${list[0].folder}/`));
    const top = (list[0]?.folder.split("/").length ?? 0) + Number(everywhere);
    this.list = list;
    this.#label.hidden = list.length < 2;
    const choices = list.slice(Number(everywhere)).map(({ folder, pictures }) => {
      const parts = folder.split("/");
      const indent = "\u2003".repeat(Math.max(0, parts.length - top));
      return new Option(`${indent}${parts.at(-1) || folder} (${pictures.toLocaleString("en")})`, folder);
    });
    this.#select.replaceChildren(new Option("in all folders", ""), ...choices);
    this.#select.value = choices.some(({ value }) => value === before) ? before : "";
  }
}

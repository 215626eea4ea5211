// A photograph as the query, on the sheet: a frame on it chooses the part to look for.

const LARGEST = 1600; // px of the longer side that is sent
const MIN_OBJECT_SIZE = 0.04; // share of a side: a smaller frame is a click
const STEP = 0.05;

/** A picture file, upright and not too large: { blob, width, height }; null for others. */
export async function readPhoto(file) {
  if (/svg|json/.test(file.type)) return null;
  const bitmap = await createImageBitmap(file).catch(() => null);
  if (!bitmap) return null;
  const scale = Math.min(1, LARGEST / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  const context = canvas.getContext("2d");
  context.fillStyle = "#fff"; // where it is transparent
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  const blob = await new Promise((done) => canvas.toBlob(done, "image/jpeg", 0.92));
  return { blob, width: canvas.width, height: canvas.height };
}

/** Events: "change" when another part is wanted. */
export class Photo extends EventTarget {
  #place;
  #image;
  #frame;
  #shown = null;
  #part = null; // [x0, y0, x1, y1], shares of the picture's sides; null for all of it
  #from = null;

  constructor(place) {
    super();
    this.#place = place;
    this.#image = place.querySelector("img");
    this.#frame = place.querySelector(".frame");
    const area = place.querySelector(".area");
    area.addEventListener("pointerdown", (event) => {
      if (event.button || !event.isPrimary) return;
      area.setPointerCapture(event.pointerId);
      this.#from = this.#share(event);
    });
    area.addEventListener("pointermove", (event) => this.#from && this.#draw(this.#between(event)));
    area.addEventListener("pointerup", (event) => this.#from && this.#choose(this.#between(event)));
    area.addEventListener("pointercancel", () => this.#choose(this.#part));
    area.addEventListener("keydown", (event) => this.#key(event));
  }

  /** What to search with: { picture, box }, in its pixels; null without a photograph. */
  get query() {
    if (!this.#shown) return null;
    const { blob, width, height } = this.#shown;
    const box = this.#part?.map((share, i) => Math.round(share * (i % 2 ? height : width)));
    return { picture: blob, ...(box && { box }) };
  }

  /** The lines that were traced in it. */
  get strokes() { return this.#shown?.strokes; }

  show(photo, strokes) {
    this.hide();
    this.#shown = { ...photo, strokes };
    this.#image.src = URL.createObjectURL(photo.blob);
    this.#place.style.setProperty("--shape", photo.width / photo.height);
    this.#place.hidden = false;
    this.#choose(null);
  }

  hide() {
    if (this.#shown) URL.revokeObjectURL(this.#image.src);
    this.#shown = this.#part = this.#from = null;
    this.#place.hidden = true;
  }

  #share(event) {
    const box = this.#image.getBoundingClientRect();
    const within = (value) => Math.max(0, Math.min(1, value));
    return [within((event.clientX - box.left) / box.width), within((event.clientY - box.top) / box.height)];
  }

  #between(event) {
    const [a, b] = [this.#from, this.#share(event)];
    return [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[0], b[0]), Math.max(a[1], b[1])];
  }

  #choose(part) {
    this.#from = null;
    this.#part = part && part[2] - part[0] > MIN_OBJECT_SIZE && part[3] - part[1] > MIN_OBJECT_SIZE ? part : null;
    this.#draw(this.#part);
    this.dispatchEvent(new Event("change"));
  }

  #draw(part) {
    const [x0, y0, x1, y1] = part ?? [0, 0, 1, 1];
    this.#frame.style.inset = `${y0 * 100}% ${(1 - x1) * 100}% ${(1 - y1) * 100}% ${x0 * 100}%`;
    this.#frame.classList.toggle("whole", !part);
  }

  /** Arrow keys move the frame; with Shift they move its right and lower sides alone. */
  #key(event) {
    const moves = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] };
    const move = moves[event.key];
    if (event.key === "Escape") this.#choose(null);
    else if (move) {
      const part = this.#part ?? [0.25, 0.25, 0.75, 0.75];
      const moved = part.map((side, i) => (event.shiftKey && i < 2 ? side : side + move[i % 2]));
      if (moved.every((side) => side >= -1e-9 && side <= 1 + 1e-9)) this.#choose(moved);
    } else return;
    event.preventDefault();
  }
}

// The sheet of paper: pen, finger, mouse or keyboard in, strokes out.
import { HEIGHT, WIDTH, bounds, flip, simplify } from "./geometry.js";
import { Hand, nudged } from "./hand.js";
import { PENCIL, drawBox, drawRing, drawStroke } from "./ink.js";
import { REACH, TOOLS } from "./tools.js";

const PEN_MEMORY = 1500; // ms for which a hand may rest on the screen after the pen
const PALM = 60; // px: no finger is this wide
const GRIP = 16; // px around a handle or a stroke that count as on it
const MOST_STEPS = 200;

/** Events: "change" after each finished action, "live" when a line begins or is abandoned. */
export class Sketchpad extends EventTarget {
  strokes = [];
  #tool = "pencil";
  #hand = new Hand();
  #past = [];
  #future = [];
  #canvas;
  #context;
  #ink = document.createElement("canvas"); // strokes that lie still, drawn once
  #inked = null; // which those are
  #frame = 0;
  #action = null; // { pointer, kind, gesture, steps }
  #penSeen = -Infinity;
  #rubber = null; // where to show the eraser
  #cursor = null; // where the keyboard's pencil is
  #colour = "#000";

  constructor(canvas) {
    super();
    this.#canvas = canvas;
    this.#context = canvas.getContext("2d");
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerup", (event) => this.#up(event));
    canvas.addEventListener("pointercancel", (event) => this.#abandon(event.pointerId));
    canvas.addEventListener("lostpointercapture", (event) => this.#abandon(event.pointerId));
    canvas.addEventListener("pointerleave", () => this.#showRubber(null));
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("keydown", (event) => this.#key(event));
    canvas.addEventListener("blur", () => this.#leaveKeyboard());
    new ResizeObserver(() => this.#resize()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#resize());
    this.#resize();
  }

  get tool() { return this.#tool; }
  set tool(name) {
    this.#tool = name;
    this.#rubber = this.#cursor = null;
    this.#hand.choose(null);
    this.#draw();
  }

  get canUndo() { return this.#past.length > 0; }
  get canRedo() { return this.#future.length > 0; }
  get busy() { return this.#action !== null; }

  undo() { this.#travel(this.#past, this.#future); }
  redo() { this.#travel(this.#future, this.#past); }
  flip() { if (this.strokes.length) this.replace(flip(this.strokes)); }

  /** Take away what is drawn, or the strokes that the hand has chosen. */
  clear() {
    const gone = this.#tool === "hand" ? this.#hand.of(this.strokes) : this.strokes;
    if (gone.length) this.replace(this.strokes.filter((stroke) => !gone.includes(stroke)));
  }

  /** Put other strokes on the page, as one step that can be undone. */
  replace(strokes) {
    this.#past.push(this.strokes);
    if (this.#past.length > MOST_STEPS) this.#past.shift();
    this.#future = [];
    this.#put(strokes);
  }

  /** Put strokes on the page as its beginning: nothing to undo. */
  restore(strokes) {
    this.#past = [];
    this.#future = [];
    this.#put(strokes);
  }

  /** The drawing as an SVG file that sketchseek can search with. */
  toSVG() {
    const lines = this.strokes.map((stroke) => {
      const points = simplify(stroke, 0.5).map(([x, y]) => `${Math.round(x)},${Math.round(y)}`);
      if (points.length === 1) points.push(points[0]);
      return `  <polyline points="${points.join(" ")}"/>`;
    });
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" fill="none" stroke="#000"`,
      `     stroke-width="${PENCIL}" stroke-linecap="round" stroke-linejoin="round">`,
      ...lines,
      "</svg>\n",
    ].join("\n");
  }

  #put(strokes) {
    this.#action = null;
    this.strokes = strokes;
    this.#draw();
    this.dispatchEvent(new Event("change"));
  }

  #travel(from, to) {
    if (this.#action || !from.length) return;
    to.push(this.strokes);
    this.#put(from.pop());
  }

  // Pointers: one at a time. A pen wins over fingers, and makes a resting hand harmless.

  #down(event) {
    if (event.pointerType === "pen") {
      this.#penSeen = event.timeStamp;
      if (this.#action?.kind === "touch") this.#abandon(this.#action.pointer);
    }
    if (event.pointerType === "touch") {
      const second = this.#action?.kind === "touch" && this.#action.steps < 6;
      if (second) this.#abandon(this.#action.pointer); // two fingers meant something else
      if (second || this.#isPalm(event)) return;
    }
    if (this.#action || ![0, 5].includes(event.button)) return;
    this.#canvas.setPointerCapture(event.pointerId);
    const turned = event.button === 5 && !REACH[this.#tool]; // 5: the pen's other end
    this.#begin(event.pointerId, event.pointerType, turned ? "rubber" : this.#tool, this.#place(event));
    this.#extend(event);
  }

  #begin(pointer, kind, tool, point) {
    const begin = TOOLS[tool] ?? ((strokes, first) => this.#hand.begin(strokes, first, GRIP * this.#unit));
    this.#action = { pointer, kind, tool, gesture: begin(this.strokes, point), steps: 0 };
    this.dispatchEvent(new Event("live"));
  }

  /** Units of the page in a pixel of the window. */
  get #unit() { return WIDTH / (this.#canvas.getBoundingClientRect().width || WIDTH); }

  #isPalm(event) {
    return event.timeStamp - this.#penSeen < PEN_MEMORY || Math.max(event.width, event.height) > PALM;
  }

  #move(event) {
    if (event.pointerType === "pen") this.#penSeen = event.timeStamp;
    if (this.#action?.pointer === event.pointerId) this.#extend(event);
    else if (event.pointerType === "mouse" && REACH[this.#tool]) this.#showRubber(this.#place(event));
  }

  #extend(event) {
    const events = event.getCoalescedEvents?.() ?? [];
    for (const one of events.length ? events : [event]) this.#to(this.#place(one), event.shiftKey);
  }

  #to(point, shift) {
    this.#action.gesture.to(point, shift);
    this.#action.steps++;
    if (REACH[this.#action.tool]) this.#rubber = point;
    this.#draw();
  }

  #up(event) {
    if (this.#action?.pointer !== event.pointerId) return;
    this.#extend(event);
    this.#finish();
    if (event.pointerType !== "mouse") this.#showRubber(null);
  }

  #finish() {
    const { gesture } = this.#action;
    this.#action = null;
    gesture.end?.();
    const after = [...gesture.still, ...gesture.live];
    const same = after.length === this.strokes.length && after.every((stroke) => this.strokes.includes(stroke));
    if (!same) return this.replace(after);
    this.#draw();
    this.dispatchEvent(new Event("live"));
  }

  #abandon(pointer) {
    if (this.#action?.pointer !== pointer) return;
    this.#action = null;
    this.#draw();
    this.dispatchEvent(new Event("live"));
  }

  #place(event) {
    const box = this.#canvas.getBoundingClientRect();
    const within = (value, most) => Math.round(Math.max(0, Math.min(most, value)) * 10) / 10;
    const pressure = event.pointerType === "pen" && event.pressure > 0 ? event.pressure : 0.5;
    return [
      within(((event.clientX - box.left) / box.width) * WIDTH, WIDTH),
      within(((event.clientY - box.top) / box.height) * HEIGHT, HEIGHT),
      Math.round(pressure * 100) / 100,
    ];
  }

  #showRubber(point) {
    this.#rubber = point;
    this.#draw();
  }

  // Keyboard: arrows move a pencil, the space bar puts it down and lifts it.

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = event.shiftKey ? 80 : 20;
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    const move = moves[event.key];
    const known = this.#tool === "hand" ? this.#handKey(event.key, move) : this.#toolKey(event.key, move);
    if (!known) return;
    event.preventDefault();
    this.#draw();
  }

  #toolKey(key, move) {
    const drawing = this.#action?.kind === "keyboard";
    if (move) {
      const [x, y] = this.#cursor ?? [WIDTH / 2, HEIGHT / 2];
      this.#cursor = [
        Math.max(0, Math.min(WIDTH, x + move[0])),
        Math.max(0, Math.min(HEIGHT, y + move[1])),
        0.5,
      ];
      if (drawing) this.#to(this.#cursor, false);
    } else if (key === " " || key === "Enter") {
      this.#cursor ??= [WIDTH / 2, HEIGHT / 2, 0.5];
      if (drawing) this.#finish();
      else if (!this.#action) {
        this.#begin("keyboard", "keyboard", this.#tool, this.#cursor);
        this.#to(this.#cursor, false);
      }
    } else if (key === "Escape" && drawing) {
      this.#abandon("keyboard");
    } else {
      return false;
    }
    return true;
  }

  #handKey(key, move) {
    const scale = { "+": 1.1, "=": 1.1, "-": 1 / 1.1 }[key];
    if (this.#action || !this.strokes.length) return false;
    if (key === " ") this.#hand.next(this.strokes);
    else if (key === "Escape") this.#hand.choose(null);
    else if (move || scale) {
      const chosen = this.#hand.of(this.strokes);
      const after = nudged(chosen, ...(move ?? [0, 0]), scale);
      if (chosen.length < this.strokes.length) this.#hand.choose(after);
      this.replace([...this.strokes.filter((stroke) => !chosen.includes(stroke)), ...after]);
    } else return false;
    return true;
  }

  #leaveKeyboard() {
    if (this.#action?.kind === "keyboard") this.#finish();
    this.#cursor = null;
    this.#rubber = null;
    this.#draw();
  }

  // Drawing, at the screen's own density.

  #resize() {
    const box = this.#canvas.getBoundingClientRect();
    const width = Math.max(1, Math.round(box.width * devicePixelRatio));
    this.#canvas.width = this.#ink.width = width;
    this.#canvas.height = this.#ink.height = Math.round((width * HEIGHT) / WIDTH);
    this.#colour = getComputedStyle(this.#canvas).color;
    this.#inked = null;
    this.#paint();
  }

  #draw() {
    this.#frame ||= requestAnimationFrame(() => this.#paint());
  }

  #paint() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const scale = this.#canvas.width / WIDTH;
    const gesture = this.#action?.gesture;
    const still = gesture?.still ?? this.strokes;
    if (still !== this.#inked) {
      this.#inked = still;
      const ink = this.#ink.getContext("2d");
      ink.setTransform(1, 0, 0, 1, 0, 0);
      ink.clearRect(0, 0, this.#ink.width, this.#ink.height);
      ink.scale(scale, scale);
      ink.strokeStyle = this.#colour;
      for (const stroke of still) drawStroke(ink, stroke);
    }
    const context = this.#context;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.#canvas.width, this.#canvas.height);
    context.drawImage(this.#ink, 0, 0);
    context.scale(scale, scale);
    context.strokeStyle = this.#colour;
    for (const stroke of gesture?.live ?? []) drawStroke(context, stroke);
    if (this.#tool === "hand") this.#drawHandles(context, gesture);
    const reach = REACH[this.#action?.tool ?? this.#tool];
    if (this.#rubber && reach) drawRing(context, this.#rubber, reach);
    if (this.#cursor) drawRing(context, this.#cursor, 10);
  }

  #drawHandles(context, gesture) {
    const unit = this.#unit;
    const chosen = gesture ? gesture.live : this.#hand.of(this.strokes);
    if (chosen.length) drawBox(context, bounds(chosen), unit, 5 * unit);
    if (gesture?.frame) drawBox(context, gesture.frame, unit);
  }
}

// The sheet of paper: pen, finger, mouse or keyboard in, strokes out.
import { HEIGHT, WIDTH, flip, fromSegment, simplify } from "./geometry.js";

const PENCIL = 9; // line width at middle pressure
const RUBBER = 22; // reach of the eraser
const NEAR = 2; // closer points add nothing
const PEN_MEMORY = 1500; // ms for which a hand may rest on the screen after the pen
const PALM = 60; // px: no finger is this wide
const MOST_STEPS = 200;

/** Which way a line runs at point b between a and c, as a unit vector; [0, 0] at its ends and corners. */
function direction(a, b, c) {
  if (!a || !c) return [0, 0];
  const [ux, uy, vx, vy] = [b[0] - a[0], b[1] - a[1], c[0] - b[0], c[1] - b[1]];
  const straight = (ux * vx + uy * vy) / (Math.hypot(ux, uy) * Math.hypot(vx, vy) || 1);
  const length = Math.hypot(c[0] - a[0], c[1] - a[1]);
  return straight > 0.6 && length ? [(c[0] - a[0]) / length, (c[1] - a[1]) / length] : [0, 0];
}

/** Events: "change" after each finished action, "live" when a line begins or is abandoned. */
export class Sketchpad extends EventTarget {
  tool = "pencil";
  strokes = [];
  #past = [];
  #future = [];
  #canvas;
  #context;
  #ink = document.createElement("canvas"); // finished strokes, drawn once
  #inkIsOld = true;
  #frame = 0;
  #action = null; // { pointer, kind, tool, stroke | before }
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

  get canUndo() { return this.#past.length > 0; }
  get canRedo() { return this.#future.length > 0; }
  get busy() { return this.#action !== null; }

  undo() { this.#travel(this.#past, this.#future); }
  redo() { this.#travel(this.#future, this.#past); }
  clear() { if (this.strokes.length) this.replace([]); }
  flip() { if (this.strokes.length) this.replace(flip(this.strokes)); }

  /** Put other strokes on the page, as one step that can be undone. */
  replace(strokes) {
    this.#remember(this.strokes);
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

  #remember(strokes) {
    this.#past.push(strokes);
    if (this.#past.length > MOST_STEPS) this.#past.shift();
    this.#future = [];
  }

  #put(strokes) {
    this.#action = null;
    this.strokes = strokes;
    this.#inkIsOld = true;
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
      const second = this.#action?.kind === "touch" && this.#action.stroke?.length < 6;
      if (second) this.#abandon(this.#action.pointer); // two fingers meant something else
      if (second || this.#isPalm(event)) return;
    }
    if (this.#action || ![0, 5].includes(event.button)) return;
    this.#canvas.setPointerCapture(event.pointerId);
    const erases = this.tool === "eraser" || event.button === 5; // 5: the pen's other end
    this.#action = { pointer: event.pointerId, kind: event.pointerType };
    if (erases) this.#action.before = this.strokes;
    else this.#action.stroke = [];
    this.#extend(event);
    this.dispatchEvent(new Event("live"));
  }

  #isPalm(event) {
    return event.timeStamp - this.#penSeen < PEN_MEMORY || Math.max(event.width, event.height) > PALM;
  }

  #move(event) {
    if (event.pointerType === "pen") this.#penSeen = event.timeStamp;
    if (this.#action?.pointer === event.pointerId) this.#extend(event);
    else if (event.pointerType === "mouse" && this.tool === "eraser") this.#showRubber(this.#place(event));
  }

  #extend(event) {
    const events = event.getCoalescedEvents?.() ?? [];
    for (const one of events.length ? events : [event]) {
      const point = this.#place(one);
      if (this.#action.stroke) {
        const last = this.#action.stroke.at(-1);
        if (!last || Math.hypot(point[0] - last[0], point[1] - last[1]) >= NEAR) this.#action.stroke.push(point);
      } else {
        this.#rub(point);
      }
    }
    this.#draw();
  }

  #up(event) {
    if (this.#action?.pointer !== event.pointerId) return;
    this.#extend(event);
    this.#finish();
    if (event.pointerType !== "mouse") this.#showRubber(null);
  }

  #finish() {
    const { stroke, before } = this.#action;
    this.#action = null;
    if (stroke) this.replace([...this.strokes, stroke]);
    else if (before !== this.strokes) {
      this.#remember(before);
      this.#put(this.strokes);
    }
  }

  #abandon(pointer) {
    if (this.#action?.pointer !== pointer) return;
    if (this.#action.before) {
      this.strokes = this.#action.before;
      this.#inkIsOld = true;
    }
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

  #rub(point) {
    const from = this.#rubber ?? point;
    const touched = (stroke) =>
      stroke.some((p, i) => fromSegment(p, from, point) < RUBBER ||
        (i > 0 && fromSegment(point, stroke[i - 1], p) < RUBBER));
    const left = this.strokes.filter((stroke) => !touched(stroke));
    if (left.length < this.strokes.length) {
      this.strokes = left;
      this.#inkIsOld = true;
    }
    this.#rubber = point;
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
    const drawing = this.#action?.kind === "keyboard";
    if (move) {
      const [x, y] = this.#cursor ?? [WIDTH / 2, HEIGHT / 2];
      this.#cursor = [
        Math.max(0, Math.min(WIDTH, x + move[0])),
        Math.max(0, Math.min(HEIGHT, y + move[1])),
        0.5,
      ];
      if (drawing && this.#action.stroke) this.#action.stroke.push(this.#cursor);
      if (drawing && this.#action.before) this.#rub(this.#cursor);
    } else if (event.key === " " || event.key === "Enter") {
      this.#cursor ??= [WIDTH / 2, HEIGHT / 2, 0.5];
      if (drawing) this.#finish();
      else if (!this.#action) {
        this.#action = { pointer: "keyboard", kind: "keyboard" };
        if (this.tool === "eraser") {
          this.#action.before = this.strokes;
          this.#rubber = null;
          this.#rub(this.#cursor);
        } else this.#action.stroke = [this.#cursor];
        this.dispatchEvent(new Event("live"));
      }
    } else if (event.key === "Escape" && drawing) {
      this.#abandon("keyboard");
    } else {
      return;
    }
    event.preventDefault();
    this.#draw();
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
    this.#inkIsOld = true;
    this.#paint();
  }

  #draw() {
    this.#frame ||= requestAnimationFrame(() => this.#paint());
  }

  #paint() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const scale = this.#canvas.width / WIDTH;
    if (this.#inkIsOld) {
      this.#inkIsOld = false;
      const ink = this.#ink.getContext("2d");
      ink.setTransform(1, 0, 0, 1, 0, 0);
      ink.clearRect(0, 0, this.#ink.width, this.#ink.height);
      ink.scale(scale, scale);
      for (const stroke of this.strokes) this.#line(ink, stroke);
    }
    const context = this.#context;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.#canvas.width, this.#canvas.height);
    context.drawImage(this.#ink, 0, 0);
    context.scale(scale, scale);
    if (this.#action?.stroke) this.#line(context, this.#action.stroke);
    if (this.#rubber && (this.tool === "eraser" || this.#action?.before)) this.#ring(context, this.#rubber, RUBBER);
    if (this.#cursor) this.#ring(context, this.#cursor, 10);
  }

  #line(context, stroke) {
    context.strokeStyle = this.#colour;
    context.lineCap = context.lineJoin = "round";
    const width = (pressure) => PENCIL * (0.4 + 1.2 * pressure);
    const even = stroke.every((point) => point[2] === stroke[0][2]);
    context.lineWidth = width(stroke[0][2]);
    context.beginPath();
    context.moveTo(stroke[0][0], stroke[0][1]);
    if (stroke.length === 1) context.lineTo(stroke[0][0] + 0.01, stroke[0][1]);
    const tangent = stroke.map((_, i) => direction(stroke[i - 1], stroke[i], stroke[i + 1]));
    for (let i = 1; i < stroke.length; i++) {
      // Curves through every point, smooth except where the hand turned sharply.
      const [a, b] = [stroke[i - 1], stroke[i]];
      if (!even) {
        context.beginPath();
        context.moveTo(a[0], a[1]);
        context.lineWidth = width((a[2] + b[2]) / 2);
      }
      const reach = Math.hypot(b[0] - a[0], b[1] - a[1]) / 3;
      context.bezierCurveTo(
        a[0] + tangent[i - 1][0] * reach, a[1] + tangent[i - 1][1] * reach,
        b[0] - tangent[i][0] * reach, b[1] - tangent[i][1] * reach,
        b[0], b[1],
      );
      if (!even) context.stroke();
    }
    if (even) context.stroke();
  }

  #ring(context, [x, y], radius) {
    context.strokeStyle = this.#colour;
    context.lineWidth = 3;
    context.globalAlpha = 0.5;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.stroke();
    context.globalAlpha = 1;
  }
}

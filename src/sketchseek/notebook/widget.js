// The widget's browser side, by anywidget's protocol: `strokes` go to Python, `answer` comes from there.
import { HEIGHT, WIDTH, bounds, fit, outline } from "./geometry.js";
import { Sketchpad } from "./sketchpad.js";

const SVG = "http://www.w3.org/2000/svg";
const MARKUP = `
<div class="sketchseek-sheet">
  <canvas tabindex="0" role="application" aria-roledescription="drawing area" aria-label="Drawing area: arrow keys move the pencil, space puts it down and lifts it"></canvas>
  <div class="sketchseek-tools"><button type="button" data-does="undo" disabled>Undo</button><button type="button" data-does="clear" disabled>Clear</button></div>
</div>
<div><p role="status"></p><ol aria-label="Pictures found"></ol></div>`;

/** Strokes that Python gave: where they don't lie on the sheet, or are tiny there, they are made to fit. */
function onSheet(strokes) {
  if (!strokes.length) return [];
  const [x0, y0, x1, y1] = bounds(strokes);
  const lies = x0 >= 0 && y0 >= 0 && x1 <= WIDTH && y1 <= HEIGHT && Math.max(x1 - x0, y1 - y0) > WIDTH / 8;
  return lies ? strokes.map((stroke) => stroke.map(([x, y]) => [x, y, 0.5])) : fit(strokes);
}

function item(hit) {
  const image = Object.assign(new Image(), { alt: "", src: hit.thumbnail });
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${hit.width} ${hit.height}`);
  for (const layer of ["sketchseek-halo", "sketchseek-line"]) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("class", layer);
    path.setAttribute("d", hit.outline);
    svg.append(path);
  }
  const frame = Object.assign(document.createElement("span"), { className: "sketchseek-frame" });
  frame.append(image, svg);
  const name = Object.assign(document.createElement("span"), { textContent: hit.name });
  const made = Object.assign(document.createElement("li"), { title: `${hit.picture}\n${Math.round(100 * hit.confidence)}% sure` });
  made.append(frame, name);
  return made;
}

function render({ model, el }) {
  el.classList.add("sketchseek");
  el.dataset.lmSuppressShortcuts = "true"; // JupyterLab's own keys rest while the pencil is moved by keys
  el.innerHTML = MARKUP;
  const find = (selector) => el.querySelector(selector);
  const pad = new Sketchpad(find("canvas"));
  let known = "[]"; // the strokes of both sides, so that what was sent does not come back as news
  let given = false; // Python is putting strokes on the sheet

  const showTools = () => {
    find("[data-does=undo]").disabled = !pad.canUndo;
    find("[data-does=clear]").disabled = !pad.strokes.length;
  };
  const showStrokes = () => {
    const strokes = model.get("strokes");
    if (JSON.stringify(strokes) === known) return;
    known = JSON.stringify(strokes);
    given = true;
    pad.restore(onSheet(strokes));
    given = false;
  };
  const showAnswer = () => {
    const { pictures, problem, note, hits } = model.get("answer");
    const all = `${pictures} picture${pictures === 1 ? "" : "s"}`;
    find("[role=status]").textContent = problem || [hits.length ? `${hits.length} of ${all}` : all, note].filter(Boolean).join(". ");
    find("ol").replaceChildren(...hits.map(item));
  };

  pad.addEventListener("change", () => {
    showTools();
    if (given) return;
    const strokes = outline(pad.strokes);
    known = JSON.stringify(strokes);
    model.set("strokes", strokes);
    model.save_changes();
  });
  find("[data-does=undo]").addEventListener("click", () => pad.undo());
  find("[data-does=clear]").addEventListener("click", () => pad.clear());
  model.on("change:strokes", showStrokes);
  model.on("change:answer", showAnswer);
  showStrokes();
  showAnswer();
  return () => {
    model.off("change:strokes", showStrokes);
    model.off("change:answer", showAnswer);
  };
}

export default { render };

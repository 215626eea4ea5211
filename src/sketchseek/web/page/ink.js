// How lines and marks look on the sheet: strokes as a pencil leaves them.
export const PENCIL = 9; // line width at middle pressure

/** Which way a line runs at point b between a and c, as a unit vector; [0, 0] at its ends and corners. */
function direction(a, b, c) {
  if (!a || !c) return [0, 0];
  const [ux, uy, vx, vy] = [b[0] - a[0], b[1] - a[1], c[0] - b[0], c[1] - b[1]];
  const straight = (ux * vx + uy * vy) / (Math.hypot(ux, uy) * Math.hypot(vx, vy) || 1);
  const length = Math.hypot(c[0] - a[0], c[1] - a[1]);
  return straight > 0.6 && length ? [(c[0] - a[0]) / length, (c[1] - a[1]) / length] : [0, 0];
}

/** A stroke: curves through every point, smooth except where the hand turned sharply. */
export function drawStroke(context, stroke) {
  context.lineCap = context.lineJoin = "round";
  const width = (pressure) => PENCIL * (0.4 + 1.2 * pressure);
  const even = stroke.every((point) => point[2] === stroke[0][2]);
  context.lineWidth = width(stroke[0][2]);
  context.beginPath();
  context.moveTo(stroke[0][0], stroke[0][1]);
  if (stroke.length === 1) context.lineTo(stroke[0][0] + 0.01, stroke[0][1]);
  const tangent = stroke.map((_, i) => direction(stroke[i - 1], stroke[i], stroke[i + 1]));
  for (let i = 1; i < stroke.length; i++) {
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

/** Where the eraser or the keyboard's pencil is. */
export function drawRing(context, [x, y], radius) {
  context.lineWidth = 3;
  context.globalAlpha = 0.5;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.stroke();
  context.globalAlpha = 1;
}

/** A dashed box; with `handle`, the half side of the squares at its corners. */
export function drawBox(context, [x0, y0, x1, y1], unit, handle = 0) {
  context.lineWidth = 1.5 * unit;
  context.setLineDash([5 * unit, 4 * unit]);
  context.globalAlpha = 0.6;
  context.strokeRect(x0, y0, x1 - x0, y1 - y0);
  context.setLineDash([]);
  context.globalAlpha = 1;
  if (!handle) return;
  for (const [x, y] of [[x0, y0], [x1, y0], [x0, y1], [x1, y1]]) {
    context.clearRect(x - handle, y - handle, 2 * handle, 2 * handle);
    context.strokeRect(x - handle, y - handle, 2 * handle, 2 * handle);
  }
}

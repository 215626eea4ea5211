// What an answer is worth: how many hits look right, which show the same, where the list may end.

const RIGHT = 0.5; // a hit that is right more often than not looks right
const CHANCE = 0.1; // of hits less sure than this, hardly one in ten is right
const FEWEST = 12; // so many are shown whatever they are worth
const NO_SHAPE = 0.28; // the cosine that a drawing has with just any picture
const SHAPE = 0.45; // and the one from which on its outline says something

/** How many of the first hits look right; what follows is the closest there is. */
export function looksRight({ hits }) {
  const first = hits.findIndex((hit) => hit.confidence < RIGHT);
  return first < 0 ? hits.length : first;
}

/** How many of these hits, which are best first, are better than chance; `from` is how many came before. */
export function worth({ hits }, from = 0) {
  const good = hits.findIndex((hit, i) => hit.confidence < CHANCE && from + i >= FEWEST);
  return good < 0 ? hits.length : good;
}

/** What to say below these hits where what follows them is no better than chance. */
export const farewell = (hits) => hits.every((hit) => hit.confidence >= CHANCE)
  ? "These are all the matches worth showing."
  : "The rest looks no more like it than any picture would.";

/** How strongly to draw the outline on a hit, from 0 (its shape has nothing to do with it) to 1. */
export const support = ({ score, confidence }) =>
  Math.max(0, Math.min(1, (score - NO_SHAPE) / (SHAPE - NO_SHAPE))) * Math.min(1, 0.4 + 2 * confidence);

const STYLE = "outlined?|filled?|solid|bold|thin|light|regular|duotone|linear|line|sharp|rounded?|twotone|two-tone|broken|bulk|16|20|24|28|32|48";
const STYLED = new RegExp(`([-_ ](${STYLE}))+$`, "i"), STYLES = new RegExp(`^(${STYLE})$`, "i");

/** Whether two icons of one set are one icon in two styles, by their names: `fill/bell.svg` and `bell-outline.svg`. */
function isVariant(a, b) {
  const [one, other] = [a, b].map(({ picture }) => {
    const parts = picture.split("/"), file = parts.pop();
    if (!/\.svg$/i.test(file)) return null;
    const plain = file.slice(0, -4).replace(STYLED, "");
    return [...parts.filter((part) => !STYLES.test(part)), plain].join("/").toLowerCase();
  });
  return one !== null && one === other;
}

/** Whether two hits show the same: copies, or an icon's outline and filled variant. */
export function isSame(a, b) {
  const off = Math.max(...a.box.map((side, i) => Math.abs(side / a.width - b.box[i] / b.width)));
  const shape = Math.abs(a.width / a.height - b.width / b.height);
  const stem = ({ picture }) => picture.split("/").at(-1).replace(/([-_ ](filled?|outlined?|copy|\(\d+\)))*\.\w+$/i, "");
  if (isVariant(a, b)) return true;
  return shape < 0.01 && a.mirrored === b.mirrored &&
    ((a.score > 0 && off < 0.002 && Math.abs(a.score - b.score) < 2e-4) || (off < 0.06 && stem(a) === stem(b)));
}

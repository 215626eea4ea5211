// What an answer is worth: whether the thing is here at all, how many hits look right, where the list may end.

const CHANCE = 0.1; // of hits less sure than this, hardly one in ten is right
const FEWEST = 12; // so many are shown whatever they are worth
const NO_SHAPE = 0.28; // the cosine that a drawing has with just any picture
const SHAPE = 0.45; // and the one from which on its outline says something

/** The heading above the hits. `present` is how likely the collection has the thing at all. */
export function verdict({ present, hits }) {
  if (present === undefined) return "Best matches";
  if (present < 0.35) return "Probably not here";
  if (present < 0.65) return "Perhaps here";
  const right = hits.reduce((sum, hit) => sum + hit.confidence, 0);
  return right < 1.5 ? "Probably here" : right < 8 ? "A few look right" : "Many look right";
}

/** How many of these hits, which are best first, are better than chance; `from` is how many came before. */
export function worth({ present, hits }, from = 0) {
  if (present === undefined) return hits.length;
  const good = hits.findIndex((hit, i) => hit.confidence < CHANCE && from + i >= FEWEST);
  return good < 0 ? hits.length : good;
}

/** What to say below these hits where what follows them is no better than chance. */
export const farewell = (hits) => hits.every((hit) => hit.confidence >= CHANCE)
  ? "These are all the matches worth showing."
  : "What follows is no better than chance.";

/** How far the drawing's shape supports a hit, from 0 (something else brought it) to 1. */
export const support = ({ score }) => Math.max(0, Math.min(1, (score - NO_SHAPE) / (SHAPE - NO_SHAPE)));

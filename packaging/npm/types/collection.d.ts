/** A point of a stroke: x, y, and the pen's pressure where there is one. Units are your own: only the shape counts. */
export type Point = readonly [x: number, y: number, pressure?: number];
export type Stroke = readonly Point[];
/** x0, y0, x1, y1 in pixels of the picture, upright. */
export type Box = [number, number, number, number];

export interface OpenOptions {
  /** Hears which share of the collection has come, from 0 to 1. */
  progress?: (share: number) => void;
  /** How many workers scan a large collection together; by default one for each core, up to 4. */
  workers?: number;
}

export interface SearchOptions {
  /** How many hits (20), after the first `offset` (0). */
  k?: number;
  offset?: number;
  /** Also look for the mirrored drawing (true). */
  mirror?: boolean;
  /** Also look for it turned by up to so many degrees (0). */
  turn?: number | "any" | string;
  /** What is looked for, by the names of the pictures: beside strokes, or without any. */
  words?: string;
  /** Look only among the icons of a set, or under a licence. */
  only?: { set?: string; licence?: string } | null;
}

/** What is known of a picture. */
export interface Picture {
  id: string;
  /** The published name. */
  picture: string;
  width: number;
  height: number;
  /** Where the publisher gave them. */
  title?: string;
  link?: string;
  set?: string;
  licence?: string;
}

/** A place in a picture at which the drawing was found. */
export interface Place {
  /** The cosine of the shapes, in [-1, 1]. */
  score: number;
  scale: number;
  mirrored: boolean;
  /** Degrees, clockwise. */
  rotation: number;
  box: Box;
  /** The strokes where they were found, in pixels of the picture. */
  outline: [number, number][][];
}

export interface Hit extends Picture, Place {
  rank: number;
  /** In [0, 1]; orders the hits. */
  confidence: number;
  dx: number;
  dy: number;
  /** Further places in the same picture, best first. */
  also: Place[];
  /** The word of its name that matched. */
  matched?: string;
}

export interface Answer {
  /** How many pictures were searched. */
  pictures: number;
  /** In [0, 1]: how likely the collection has the thing at all. */
  present: number;
  /** In [0, 1]: how likely it is among the first ten hits. */
  first_page: number;
  /** What is said of both. */
  verdict: "Likely here" | "Closest matches" | "Probably not here";
  hits: Hit[];
  took_ms: number;
  /** What is to be said of the words. */
  note?: string;
}

/** What went wrong, as a sentence. */
export class Problem extends Error {
  constructor(message: string, status: number);
  /** 422 for a drawing that cannot be searched for, 0 where nobody answered. */
  status: number;
}

/** A collection that is open. */
export class Collection {
  private constructor();
  /** How many pictures it has. */
  readonly pictures: number;
  readonly title: string;
  readonly version: string;
  /** Some pictures to begin with. */
  readonly some: Picture[];
  /** Drawings that lead back to a picture. */
  readonly examples: (Picture & { strokes: [number, number][][] })[];
  /** The sets and licences that `only` may name, and how many pictures each has. */
  readonly choices: { set: [string, number][]; licence: [string, number][] };
  /** The best pictures for strokes, words, or both. A search that is overtaken by a newer one rejects with an AbortError. */
  search(strokes: readonly Stroke[] | null, options?: SearchOptions): Promise<Answer>;
  /** An answer as a IIIF AnnotationPage; null where the site was published without `--iiif`. */
  annotations(answer: Pick<Answer, "hits">, address?: string): Record<string, unknown> | null;
  /** The address of a small picture of a hit. */
  thumbnail(picture: Pick<Picture, "id">): Promise<string>;
  /** The SVG document of a hit, where they were published; null otherwise. */
  original(picture: Pick<Picture, "id">): Promise<string | null>;
  /** Ends the workers: it cannot be searched any more. */
  close(): void;
}

/** Open what `sketchseek publish` wrote, at an address; rejects with a `Problem`. */
export function open(url: string | URL, options?: OpenOptions): Promise<Collection>;

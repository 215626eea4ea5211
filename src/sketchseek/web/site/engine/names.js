// Words matched with the names and titles of pictures, as words/names.py does; the numbers are the engine's.

const HUMP = /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu; // redCar, HTMLPage
const LONGEST = 400; // characters of a text that are looked at
const FOLDED = { ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d" };

/** The words and numbers of a text, without case and accents. */
function tokens(text) {
  const apart = text.slice(0, LONGEST).replace(HUMP, " ").toLowerCase();
  const folded = /^[\0-\x7f]*$/.test(apart) ? apart
    : apart.normalize("NFKD").replace(/[ßæœøłđ]/g, (letter) => FOLDED[letter]).replace(/\p{M}/gu, "");
  return folded.match(/\p{L}+|\d+/gu) ?? [];
}

/** A word without the ending of its plural. */
function stem(word) {
  if (word.length <= 3 || !word.endsWith("s") || /(ss|us|is)$/.test(word)) return word;
  if (word.endsWith("ies") && word.length > 4) return `${word.slice(0, -3)}y`;
  return word.slice(0, /(ches|shes|sses|xes|zes)$/.test(word) ? -2 : -1);
}

/** A stem, and its plurals. */
const forms = (short) => [short, `${short}s`, `${short}es`, ...(short.endsWith("y") ? [`${short.slice(0, -1)}ies`] : [])];

/** Letters to add, drop, change or swap with their neighbour; `most` + 1 stands for more than that. */
function distance(a, b, most) {
  let last = [], before = [], row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    [last, before, row] = [before, row, [i]];
    let least = i;
    for (let j = 1; j <= b.length; j++) {
      let cost = Math.min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, last[j - 2] + 1);
      row.push(cost);
      least = Math.min(least, cost);
    }
    if (least > most && Math.min(...before) > most) return most + 1;
  }
  return Math.min(row[b.length], most + 1);
}

/** Which letters a word has, a bit each. */
function lettersOf(word) {
  let bits = 0;
  for (let i = 0; i < word.length; i++) {
    const letter = word.charCodeAt(i) - 97;
    bits |= 1 << (letter >= 0 && letter < 26 ? letter : 26);
  }
  return bits;
}

function ones(bits) {
  let count = 0;
  for (; bits; bits &= bits - 1) count++;
  return count;
}

export class Names {
  #worth; // what matches count
  #common; // words that people put around the one that they mean
  #numbers = new Map(); // word -> number
  #words = [];
  #letters; // of words: a bit for each, 0 for numbers
  #postings = []; // of each word: pictures and what it weighs there, one after the other
  #crowd; // words in each name

  /** names, and titles or null: of the pictures. meaning: `describe_core` of the engine. */
  constructor({ picture, title }, { names: worth, "common words": common }) {
    this.#worth = worth;
    this.#common = new Set(common);
    this.#crowd = new Uint16Array(picture.length);
    const folders = [worth.folder, worth["second folder"], worth["third folder"]];
    picture.forEach((path, i) => {
      const parts = path.split("/"), file = parts.pop();
      const own = tokens(file.replace(/(.)\.[^.]*$/, "$1"));
      this.#crowd[i] = own.length;
      this.#note(own, i, worth.name);
      if (title?.[i]) this.#note(tokens(title[i]), i, worth.title);
      folders.forEach((weight, depth) => parts.length > depth && this.#note(tokens(parts.at(-1 - depth)), i, weight));
    });
    this.#letters = Int32Array.from(this.#words, (word) => (/^\d/.test(word) ? 0 : lettersOf(word)));
  }

  #note(words, picture, weight) {
    for (const word of words) {
      let number = this.#numbers.get(word);
      if (number === undefined) {
        this.#numbers.set(word, number = this.#words.push(word) - 1);
        this.#postings.push([]);
      }
      this.#postings[number].push(picture, weight);
    }
  }

  /** Whether anything is asked by a text. */
  static asks(text) { return tokens(text ?? "").length > 0; }

  /** How well the names of all pictures match a text: { scores: Float32Array, 0 for not at all, matched: by which word }. */
  search(text) {
    const typed = tokens(text).slice(0, this.#worth.words);
    const meant = typed.filter((word) => !this.#common.has(word));
    const asked = [...new Set(meant.length ? meant : typed)];
    const total = new Float32Array(this.#crowd.length), most = new Float32Array(total.length);
    const matched = new Map();
    for (const word of asked) {
      const best = new Map();
      for (const [number, fit] of this.#matches(word)) {
        const postings = this.#postings[number];
        for (let at = 0; at < postings.length; at += 2) {
          const [picture, value] = [postings[at], fit * postings[at + 1]];
          if (value > (best.get(picture)?.value ?? 0)) best.set(picture, { value, number });
        }
      }
      for (const [picture, { value, number }] of best) {
        total[picture] += value;
        if (value <= most[picture]) continue;
        most[picture] = value;
        matched.set(picture, this.#words[number]);
      }
    }
    const scores = total.map((sum, i) => {
      const score = sum && (sum / asked.length) * (1 - this.#worth.crowd + this.#worth.crowd / Math.max(this.#crowd[i], 1));
      return score >= this.#worth.least ? score : 0;
    });
    return { scores, matched };
  }

  /** Words of names that may be meant by one, and how well they fit. */
  #matches(word) {
    const fits = new Map(), short = stem(word);
    const add = (number, fit) => number !== undefined && !fits.has(number) && fits.set(number, fit);
    add(this.#numbers.get(word), 1);
    for (const form of forms(short)) add(this.#numbers.get(form), this.#worth["other ending"]);
    if ([...word].length < this.#worth["short word"] || /^\d/.test(word)) return fits;
    const exact = fits.size > 0;
    this.#words.forEach((other, number) => this.#letters[number] && other.includes(short) && add(number, this.#worth.inside));
    if (exact) return fits;
    for (const [number, mistakes] of this.#near(word)) {
      const fit = this.#worth[mistakes < 2 ? "one mistake" : "two mistakes"];
      for (const form of forms(stem(this.#words[number]))) {
        const meant = this.#numbers.get(form);
        if (meant !== undefined) fits.set(meant, Math.max(fits.get(meant) ?? 0, fit));
      }
    }
    return fits;
  }

  /** The words that one may be meant for, by number, and how many mistakes: fewest first, then those that begin alike. */
  #near(word) {
    const allowed = word.length >= this.#worth["long word"] ? 2 : 1, letters = lettersOf(word);
    const found = [];
    this.#words.forEach((other, number) => {
      if (!this.#letters[number] || Math.abs(other.length - word.length) > allowed) return;
      if (other.length < this.#worth["short word"] - 1 || ones(letters ^ this.#letters[number]) > 2 * allowed) return;
      const mistakes = distance(word, other, allowed);
      if (mistakes <= allowed) found.push([number, mistakes, Number(other[0] !== word[0])]);
    });
    return found.sort((a, b) => a[1] - b[1] || a[2] - b[2] || a[0] - b[0]).slice(0, this.#worth.near);
  }

  /** The chance that a picture is meant, by how well its name matches. */
  chance(score) {
    const { weight, steepness, half } = this.#worth;
    return 1 / (1 + Math.exp(-steepness * (weight * score - half)));
  }
}

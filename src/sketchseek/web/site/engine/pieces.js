// What a site keeps of each picture, one after the other in files: the pieces that are wanted are fetched, and kept for a while.

const KEPT = { files: 64, parts: 4096 }; // answers that stay in memory

/** A host's answer that is no file. */
export class Missing extends Error {
  constructor(status) {
    super(`A file of the index is missing (${status}).`);
    this.status = status;
  }
}

export class Pieces {
  #site;
  #files;
  #together;
  #firsts = [0]; // of each file, its first picture
  #begins; // of each picture, where its piece begins in its file
  #lengths;
  #kept = new Map(); // address -> promise of bytes, the least recently used first

  /** files: [{ file, bytes, pictures }]. lengths: of the pictures' pieces. together: pictures whose pieces come in one request;
   *  Infinity for whole files. */
  constructor(site, files, lengths, together = Infinity) {
    [this.#site, this.#files, this.#lengths, this.#together] = [site, files, lengths, together];
    this.#begins = new Float64Array(lengths.length);
    for (const { pictures } of files) {
      let [at, number] = [0, this.#firsts.at(-1)];
      for (const last = number + pictures; number < last; at += lengths[number++]) this.#begins[number] = at;
      this.#firsts.push(number);
    }
  }

  /** Whether files have room for pieces of these lengths, and for no more. */
  static fit(files, lengths) {
    let number = 0;
    return lengths.every((length) => length >= 0) && files.every(({ bytes, pictures }) => {
      for (const last = number + pictures; number < last; number++) bytes -= lengths[number];
      return bytes === 0;
    });
  }

  /** The pieces of some pictures. */
  get(numbers) { return Promise.all(numbers.map((number) => this.one(number))); }

  async one(number) {
    const file = this.#fileOf(number), first = this.#firsts[file];
    const isWhole = this.#together === Infinity;
    const from = isWhole ? first : number - ((number - first) % this.#together);
    const to = Math.min(from + this.#together, this.#firsts[file + 1]) - 1;
    const begin = this.#begins[from], end = this.#begins[to] + this.#lengths[to];
    const bytes = await this.#fetched(file, begin, end, isWhole);
    const at = this.#begins[number] - begin;
    return bytes.subarray(at, at + this.#lengths[number]);
  }

  #fileOf(number) {
    let [low, high] = [0, this.#files.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.#firsts[middle] <= number) low = middle;
      else high = middle;
    }
    return low;
  }

  #fetched(file, begin, end, isWhole) {
    const { file: name, bytes } = this.#files[file];
    // An address of its own for each range: it is kept under that for when there is no network (sw.js).
    const address = new URL(isWhole ? name : `${name}?bytes=${begin}-${end - 1}`, this.#site).href;
    let coming = this.#kept.get(address);
    this.#kept.delete(address);
    coming ??= fetch(address, isWhole ? {} : { headers: { range: `bytes=${begin}-${end - 1}` } }).then(async (response) => {
      if (!response.ok) throw new Missing(response.status);
      const come = new Uint8Array(await response.arrayBuffer());
      if (come.length === end - begin) return come;
      if (come.length === bytes && response.status === 200) return come.slice(begin, end); // a host that sends no parts of files
      throw new Missing("it is cut short");
    });
    coming.catch(() => this.#kept.delete(address)); // to be asked for again
    this.#kept.set(address, coming);
    if (this.#kept.size > (isWhole ? KEPT.files : KEPT.parts)) this.#kept.delete(this.#kept.keys().next().value);
    return coming;
  }
}

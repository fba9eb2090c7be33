/** A collection as a program remembers it: every version of every document, with the statements between which it was stored. */
export class History {
  /** Statements so far. */
  now = 0;
  #versions = new Map();

  /** The documents of this moment, by their `_id`. */
  get current() {
    const alive = [...this.#versions.values()]
      .map((each) => each.at(-1))
      .filter(({ until }) => until === Infinity);
    return new Map(alive.map(({ document }) => [document._id, document]));
  }

  /** Begins another statement, which ends the versions of the documents that it changes. */
  begin() {
    this.now++;
  }

  /** Stores a document, or removes it where it is undefined. */
  set(id, document) {
    const versions = this.#versions.get(id) ?? [];
    const last = versions.at(-1);
    if (last?.until === Infinity) last.until = this.now;
    if (document)
      versions.push({ document, from: this.now, until: Infinity, fresh: last?.until !== this.now });
    this.#versions.set(id, versions);
  }

  /** The versions of a document that were stored at some time from one statement to another, the ends included. */
  between(id, from, until) {
    return (this.#versions.get(id) ?? []).filter((each) => each.from <= until && each.until > from);
  }

  /** The version of a document right behind a statement. */
  at(id, statement) {
    return this.between(id, statement, statement).at(-1)?.document;
  }

  /** Every `_id` there ever was. */
  get ids() {
    return [...this.#versions.keys()];
  }
}

/**
 * What a writer knows of its documents: their acknowledged state, and what a statement under way would make of them.
 */
export class Model {
  /** Acknowledged documents by `_id`. */
  documents = new Map();
  /** Documents as the unanswered statement would leave them; undefined for one that it removes. */
  pending = new Map();

  /** Runs a statement that would leave the given documents, and takes them over once it is acknowledged. */
  async perform(outcome, statement) {
    this.pending = new Map(outcome);
    await statement();
    for (const [id, document] of this.pending) {
      if (document) this.documents.set(id, document);
      else this.documents.delete(id);
    }
    this.pending = new Map();
  }

  /** What is wrong with the documents found, as sentences. An unanswered statement may have happened or not. */
  differences(found) {
    const actual = new Map(found.map((document) => [document._id, document]));
    const ids = new Set([...this.documents.keys(), ...this.pending.keys(), ...actual.keys()]);
    return [...ids].flatMap((id) => {
      const allowed = [text(this.documents.get(id))];
      if (this.pending.has(id)) allowed.push(text(this.pending.get(id)));
      const have = text(actual.get(id));
      return allowed.includes(have) ? [] : [`${id}: found ${have}, acknowledged ${allowed.join(' or ')}`];
    });
  }

  /** Begins anew from what the server has. */
  adopt(found) {
    this.documents = new Map(found.map((document) => [document._id, document]));
    this.pending = new Map();
  }
}

function text(document) {
  return document ? JSON.stringify(document) : 'nothing';
}

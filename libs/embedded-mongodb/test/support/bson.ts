import { deserialize, EJSON, serialize } from 'bson';
import { decodeDocument } from '../../src/bson/decode.js';
import { encodeDocument } from '../../src/bson/encode.js';
import type { BsonDocument } from '../../src/bson/types.js';

/** A decoded document from a plain one; numbers become Int32 or Double, as when the driver sends them. */
export function doc(plain: Record<string, unknown>): BsonDocument {
  return decodeDocument(serialize(plain, { ignoreUndefined: false }));
}

/** A decoded document as the driver gives it to a program. */
export function plain(document: BsonDocument): Record<string, unknown> {
  return deserialize(encodeDocument(document));
}

/** A decoded document as extended JSON, with every type spelled out. */
export function typed(document: BsonDocument): string {
  return EJSON.stringify(deserialize(encodeDocument(document), { promoteValues: false }), { relaxed: false });
}

/** The error code that a function ends with. */
export function codeOf(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
  return undefined;
}

import { createHmac, timingSafeEqual } from 'node:crypto';
import { mongo, type Types } from 'mongoose';
import type { InstallationKey } from '../../database/index.js';
import { errorMessages, ValidationError } from '../../errors/index.js';
import type { Order } from '../definition/order.js';
import type { StoreFilter } from '../store/crud.store.js';
import type { Position } from './position.js';

const { EJSON, deserialize, serialize } = mongo.BSON;

/** Length of the signature: half that of the hash (RFC 2104, section 5). Unit: bytes. */
const SIGNATURE_BYTES = 16;

/** The list that a cursor belongs to. */
interface CursorList {
  readonly resource: string;
  readonly order: Order;
  /** The scope and the conditions. */
  readonly filter: StoreFilter;
}

/** Content of a cursor, as BSON, which preserves the type and exact value of each member. */
interface Payload {
  readonly at: readonly unknown[];
  readonly id: Types.ObjectId;
  /** Whether the position is inclusive. */
  readonly in?: true;
}

/**
 * Writes and reads the cursors of one list. A cursor is a position, signed with the installation's key
 * together with the list, so that clients can neither make one nor use it for another list.
 */
export class Cursors {
  private readonly binding: string;

  constructor(
    private readonly key: InstallationKey,
    { resource, order, filter }: CursorList,
  ) {
    this.binding = JSON.stringify([resource, order.text, canonical(filter)]);
  }

  async write({ values, id, inclusive }: Position): Promise<string> {
    const payload = serialize({ at: values, id, ...(inclusive && { in: true }) } satisfies Payload);
    return Buffer.concat([this.sign(payload, await this.key.get()), payload]).toString('base64url');
  }

  /** @throws ValidationError for the parameter if the text is not a cursor of this list */
  async read(parameter: string, text: string): Promise<Position> {
    const bytes = Buffer.from(text, 'base64url');
    // Decoding skips characters that are not in the alphabet.
    const isWhole = bytes.length > SIGNATURE_BYTES && bytes.toString('base64url') === text;
    if (!isWhole || !(await this.isGenuine(bytes))) {
      throw new ValidationError([{ parameter, detail: errorMessages.foreignCursor(parameter) }]);
    }
    const { at, id, in: inclusive = false } = deserialize(bytes.subarray(SIGNATURE_BYTES)) as Payload;
    return { values: at, id, inclusive };
  }

  private async isGenuine(bytes: Buffer): Promise<boolean> {
    const [signature, payload] = [bytes.subarray(0, SIGNATURE_BYTES), bytes.subarray(SIGNATURE_BYTES)];
    const isSignedWith = (key: Buffer) => timingSafeEqual(signature, this.sign(payload, key));
    const known = await this.key.get();
    if (isSignedWith(known)) return true;
    const current = await this.key.reload();
    return !current.equals(known) && isSignedWith(current);
  }

  private sign(payload: Uint8Array, key: Buffer): Buffer {
    // The length shows where the binding ends.
    const head = `${Buffer.byteLength(this.binding)}:${this.binding}`;
    return createHmac('sha256', key).update(head).update(payload).digest().subarray(0, SIGNATURE_BYTES);
  }
}

/** Gives the same text for the same predicates, whatever order a client wrote them in. */
function canonical({ $and = [], ...members }: StoreFilter): string {
  const texts = [...Object.entries(members), ...($and as StoreFilter[])].map((predicate) =>
    EJSON.stringify(predicate, { relaxed: false }),
  );
  return JSON.stringify(texts.sort());
}

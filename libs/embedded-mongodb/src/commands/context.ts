import { describe } from '../bson/describe.js';
import { toDouble, wholeNumber } from '../bson/numbers.js';
import { type BsonDocument, type BsonValue, isDocument, isNumber, typeName } from '../bson/types.js';
import { badValue, CommandError, failure, typeMismatch, unsupported } from '../errors.js';
import type { Catalog } from '../catalog/catalog.js';
import type { Collection } from '../catalog/collection.js';
import type { Store } from '../storage/store.js';
import type { Reply } from '../wire/reply.js';
import type { Cursors } from './cursors.js';
import { Pauses } from './pauses.js';
import type { Transactions } from './transactions.js';

/** The parts of the server that commands work on. */
export interface Engine {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly cursors: Cursors;
  readonly transactions: Transactions;
}

/** A command's handler. Exceptions become error replies. */
export type Handler = (command: Command, engine: Engine) => Reply | Promise<Reply>;

/**
 * One command with typed access to its fields. A field of another type is rejected with MongoDB's message.
 */
export class Command {
  readonly name: string;
  readonly database: string;
  readonly pauses: Pauses;

  constructor(
    readonly body: BsonDocument,
    readonly sequences: Map<string, Buffer[]>,
    readonly connectionId: number,
  ) {
    const [name = ''] = body.keys();
    this.name = name;
    this.database = databaseName(body.get('$db'));
    this.pauses = new Pauses(this.timeLimit());
  }

  /** The namespace of the collection that the command's first value names. */
  get namespace(): string {
    const collection = this.body.get(this.name);
    if (typeof collection !== 'string') {
      throw failure('InvalidNamespace', `collection name has invalid type ${typeName(collection ?? null)}`);
    }
    return namespaceOf(this.database, collection);
  }

  document(field: string): BsonDocument | undefined {
    const value = this.present(field);
    if (value !== undefined && !isDocument(value)) throw this.wrongType(field, value, 'object');
    return value;
  }

  string(field: string): string | undefined {
    const value = this.present(field);
    if (value !== undefined && typeof value !== 'string') throw this.wrongType(field, value, 'string');
    return value;
  }

  array(field: string): BsonValue[] | undefined {
    const value = this.present(field);
    if (value !== undefined && !Array.isArray(value)) throw this.wrongType(field, value, 'array');
    return value;
  }

  flag(field: string, fallback = false): boolean {
    const value = this.present(field) ?? fallback;
    if (typeof value !== 'boolean') throw this.wrongType(field, value, 'bool');
    return value;
  }

  /** A boolean for which MongoDB also accepts numbers: zero is false. */
  looseFlag(field: string): boolean {
    const value = this.present(field);
    return isNumber(value) ? toDouble(value) !== 0 : this.flag(field);
  }

  /** A non-negative whole number. */
  integer(field: string): number | undefined {
    const value = this.present(field);
    if (value === undefined) return undefined;
    if (!isNumber(value)) throw this.wrongType(field, value, 'long');
    const number = toDouble(value);
    if (number < 0) {
      throw new CommandError(
        51024,
        'Location51024',
        `BSON field '${field}' value must be >= 0, actual value '${describe(value)}'`,
      );
    }
    return Math.trunc(number) || 0;
  }

  /** Unit: milliseconds; 0 means no limit. */
  private timeLimit(): number {
    const value = this.body.get('maxTimeMS');
    if (value === undefined) return 0;
    if (!isNumber(value)) throw badValue('maxTimeMS must be a number');
    const limit = wholeNumber(value);
    if (limit === undefined) throw badValue('maxTimeMS has non-integral value');
    if (limit >= 0 && limit <= 2_147_483_647) return limit;
    throw badValue(`${describe(value)} value for maxTimeMS is out of range [0, 2147483647]`);
  }

  /** Documents of a field that may come as a sequence of OP_MSG. */
  documents(field: string): BsonDocument[] | undefined {
    return this.array(field)?.map((value) => {
      if (!isDocument(value)) throw this.wrongType(`${field}.0`, value, 'object');
      return value;
    });
  }

  /** Rejects options that would change the result, if they are given. */
  refuse(...fields: string[]): void {
    for (const field of fields) {
      const value = this.present(field);
      const empty = isDocument(value) && value.size === 0;
      if (value !== undefined && value !== false && !empty)
        throw unsupported(`The option ${field} of ${this.name}`);
    }
  }

  /** Rejects every collation except the simple one, which compares as this server always does. */
  refuseCollation(): void {
    const value = this.document('collation');
    if (value && !isSimple(value)) throw unsupported(`The option collation of ${this.name}`);
  }

  /** A field's value; null counts as absent. */
  private present(field: string): BsonValue | undefined {
    const value = this.body.get(field);
    return value === null ? undefined : value;
  }

  private wrongType(field: string, value: BsonValue, expected: string): CommandError {
    return typeMismatch(
      `BSON field '${this.name}.${field}' is the wrong type '${typeName(value)}', expected type '${expected}'`,
    );
  }
}

/** Whether a collation compares strings by their bytes; an empty one means no collation. */
export function isSimple(collation: BsonDocument): boolean {
  return collation.size === 0 || (collation.size === 1 && collation.get('locale') === 'simple');
}

/** @throws CommandError InvalidNamespace (73) */
export function namespaceOf(database: string, collection: string): string {
  const namespace = `${database}.${collection}`;
  if (
    collection === '' ||
    collection.startsWith('.') ||
    collection.includes('\0') ||
    collection.includes('$')
  ) {
    throw failure('InvalidNamespace', `Invalid namespace specified '${namespace}'`);
  }
  if (Buffer.byteLength(namespace) > 255) {
    throw failure(
      'InvalidNamespace',
      `Fully qualified namespace is too long. Namespace: ${namespace} Max: 255`,
    );
  }
  return namespace;
}

function databaseName(value: BsonValue | undefined): string {
  if (typeof value !== 'string')
    throw failure('FailedToParse', "BSON field '$db' is missing but a required field");
  if (!/^[^/\\. "$\0]{1,63}$/.test(value))
    throw failure('InvalidNamespace', `Invalid database name: '${value}'`);
  return value;
}

/**
 * The collection of a namespace, which is created if it is missing; inside `Store.write`.
 *
 * @throws CommandError InvalidNamespace (73) for names that MongoDB reserves.
 */
export function collectionFor({ catalog }: Engine, namespace: string): Collection {
  const existing = catalog.find(namespace);
  if (existing) return existing;
  if (/^[^.]*\.system\./.test(namespace)) {
    throw failure('InvalidNamespace', `Invalid system namespace: ${namespace}`);
  }
  return catalog.create(namespace);
}

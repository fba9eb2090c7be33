import {
  DomainError,
  errorMessages,
  toPointer,
  ValidationError,
  type Violation,
} from '../../errors/index.js';
import { isPlainObject, shorten } from '../../fields/index.js';
import { checkHarmless } from '../../http/index.js';

/** Maximum number of operations of one bulk request. Unit: operations. */
export const MAX_OPERATIONS = 1_000;

/** One operation of a bulk request with its shape checked. Its route checks its values. */
export type Operation =
  | { readonly kind: 'create'; readonly body: unknown }
  | { readonly kind: 'update'; readonly id: string; readonly body: unknown; readonly ifMatch?: string }
  | { readonly kind: 'del'; readonly id: string; readonly ifMatch?: string }
  | { readonly kind: 'malformed'; readonly error: DomainError };

/** A bulk request that has been read. */
export interface BulkRequest {
  readonly operations: readonly Operation[];
  /** Whether all operations are carried out, or none. */
  readonly atomic: boolean;
}

const KINDS = ['create', 'update', 'del'] as const;

/** The members of each kind of operation, and whether they are required. */
const MEMBERS = {
  update: { _id: true, changes: true, ifMatch: false },
  del: { _id: true, ifMatch: false },
} as const;

/** Reads the body of a bulk request. A violation in one operation becomes the error of that operation only. */
export function readOperations(body: unknown): BulkRequest {
  if (!isPlainObject(body)) throw new ValidationError([{ pointer: '', detail: errorMessages.notAnObject }]);
  const { operations, atomic = false } = body;
  const isList = Array.isArray(operations) && operations.length > 0 && operations.length <= MAX_OPERATIONS;
  check([
    ...(isList ? [] : [{ pointer: '/operations', detail: errorMessages.operations(MAX_OPERATIONS) }]),
    ...(typeof atomic === 'boolean' ? [] : [wrongType(['atomic'], 'true or false')]),
    ...unknownMembers(body, ['operations', 'atomic']),
  ]);
  const read = (operations as unknown[]).map((value) => operationFrom(() => readOperation(value)));
  return { operations: read, atomic: atomic === true };
}

/** The operation that a function reads. What it throws becomes the error of that operation only. */
export function operationFrom(read: () => Operation): Operation {
  try {
    return read();
  } catch (error) {
    if (error instanceof DomainError) return { kind: 'malformed', error };
    throw error;
  }
}

function readOperation(value: unknown): Operation {
  const members = isPlainObject(value) ? value : {};
  check(unknownMembers(members, KINDS));
  const [kind, ...more] = KINDS.filter((name) => Object.hasOwn(members, name));
  if (!kind || more.length > 0)
    throw new ValidationError([{ pointer: '', detail: errorMessages.oneOperation }]);
  const content = members[kind];
  if (kind === 'create') {
    checkHarmless(content);
    return { kind, body: content };
  }
  if (!isPlainObject(content)) throw new ValidationError([wrongType([kind], 'an object')]);
  const unknowns = unknownMembers(content, Object.keys(MEMBERS[kind]), [kind]);
  const wrong = Object.entries(MEMBERS[kind]).flatMap(([name, isRequired]) =>
    memberViolation([kind, name], content[name], isRequired),
  );
  check([...unknowns, ...wrong]);
  const { _id: id, changes: body, ifMatch } = content as { _id: string; changes: unknown; ifMatch?: string };
  if (kind === 'del') return { kind, id, ifMatch };
  checkHarmless(body);
  return { kind, id, body, ifMatch };
}

/** Pointers are relative to the operation. */
function memberViolation(path: [string, string], value: unknown, isRequired: boolean): Violation[] {
  const [, name] = path;
  if (value === undefined && isRequired)
    return [{ pointer: toPointer(path), detail: errorMessages.requiredField(name) }];
  const fits = value === undefined || name === 'changes' || typeof value === 'string';
  return fits ? [] : [wrongType(path, 'a string')];
}

function check([first, ...others]: readonly Violation[]): void {
  if (first) throw new ValidationError([first, ...others]);
}

function wrongType(path: readonly string[], type: string): Violation {
  return { pointer: toPointer(path), detail: errorMessages.wrongType(path.at(-1) ?? '', type) };
}

function unknownMembers(value: object, known: readonly string[], path: string[] = []): Violation[] {
  const unknowns = Object.keys(value).filter((name) => !known.includes(name));
  return unknowns.map((name) => ({
    pointer: toPointer([...path, name]),
    detail: errorMessages.unknownField(shorten(name), known),
  }));
}

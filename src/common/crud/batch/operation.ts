import {
  type DomainError,
  errorMessages,
  MalformedRequestError,
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

type Members = Readonly<Record<string, unknown>>;

const KINDS = ['create', 'update', 'del'] as const;

/** The members of each kind of operation, and whether they are required. */
const MEMBERS = {
  update: { _id: true, changes: true, ifMatch: false },
  del: { _id: true, ifMatch: false },
} as const;

/** Reads the body of a bulk request. A violation in one operation becomes the error of that operation only. */
export function readOperations(body: unknown): BulkRequest {
  if (!isPlainObject(body)) throw new ValidationError([{ pointer: '', detail: errorMessages.notAnObject }]);
  const unknowns = unknownMembers(body, ['operations', 'atomic']);
  const { operations, atomic = false } = body;
  const isList = Array.isArray(operations) && operations.length > 0 && operations.length <= MAX_OPERATIONS;
  const violation = { pointer: '/operations', detail: errorMessages.operations(MAX_OPERATIONS) };
  const isFlag = typeof atomic === 'boolean';
  const wrong = { pointer: '/atomic', detail: errorMessages.wrongType('atomic', 'true or false') };
  const [first, ...others] = [...(isList ? [] : [violation]), ...(isFlag ? [] : [wrong]), ...unknowns];
  if (first) throw new ValidationError([first, ...others]);
  return { operations: (operations as unknown[]).map(readOperation), atomic: atomic === true };
}

function readOperation(value: unknown): Operation {
  const [first, ...others] = violationsOf(value);
  if (first) return { kind: 'malformed', error: new ValidationError([first, ...others]) };
  const [[kind, content]] = Object.entries(value as Members) as [[(typeof KINDS)[number], unknown]];
  try {
    checkHarmless(kind === 'update' ? (content as Members).changes : content);
  } catch (error) {
    if (error instanceof MalformedRequestError) return { kind: 'malformed', error };
    throw error;
  }
  if (kind === 'create') return { kind, body: content };
  const { _id: id, changes: body, ifMatch } = content as { _id: string; changes: unknown; ifMatch?: string };
  return kind === 'update' ? { kind, id, body, ifMatch } : { kind, id, ifMatch };
}

/** Violations in the shape of an operation. Pointers are relative to the operation. */
function violationsOf(value: unknown): Violation[] {
  if (!isPlainObject(value)) return [{ pointer: '', detail: errorMessages.oneOperation }];
  const unknowns = unknownMembers(value, KINDS);
  if (unknowns.length > 0) return unknowns;
  const [kind, ...more] = KINDS.filter((name) => Object.hasOwn(value, name));
  if (!kind || more.length > 0) return [{ pointer: '', detail: errorMessages.oneOperation }];
  if (kind === 'create') return [];
  const content = value[kind];
  if (!isPlainObject(content))
    return [{ pointer: `/${kind}`, detail: errorMessages.wrongType(kind, 'an object') }];
  return [
    ...unknownMembers(content, Object.keys(MEMBERS[kind]), kind),
    ...Object.entries(MEMBERS[kind]).flatMap(([name, required]) =>
      memberViolation(kind, name, content[name], required),
    ),
  ];
}

function memberViolation(kind: string, name: string, value: unknown, required: boolean): Violation[] {
  const pointer = toPointer([kind, name]);
  if (value === undefined) return required ? [{ pointer, detail: errorMessages.requiredField(name) }] : [];
  if (name === 'changes' || typeof value === 'string') return [];
  return [{ pointer, detail: errorMessages.wrongType(name, 'a string') }];
}

function unknownMembers(value: Members, known: readonly string[], parent?: string): Violation[] {
  const unknowns = Object.keys(value).filter((name) => !known.includes(name));
  return unknowns.map((name) => ({
    pointer: toPointer(parent === undefined ? [name] : [parent, name]),
    detail: errorMessages.unknownField(shorten(name), known),
  }));
}

import { isPlainObject } from '../../fields/index.js';
import { errorMessages, ForbiddenFieldError, toPointer } from '../../errors/index.js';
import { type CallerPredicate, needsToken, type TenantContext } from '../../tenancy/index.js';
import { type Fail, failIf } from '../options/checks.js';
import type { AnyCrudOptions, CrudFieldRule } from '../options/crud-options.js';
import { isRequiredByKind } from './kinds.js';
import { KEPT } from './check-fields.js';
import type { CrudDefinition } from './crud-definition.js';
import type { Offered } from './query-definition.js';

/** Who may read and write a field. */
interface FieldRule {
  readonly read: CallerPredicate;
  /** Nobody may write what they may not read: the answer to a write could tell of the value. */
  readonly write: CallerPredicate;
}

/** The rules of the fields that only some callers read or write, by field. */
export type FieldRules = ReadonlyMap<string, FieldRule>;

const everybody: CallerPredicate = () => true;

/** The rules that the options describe. */
export function fieldRulesOf({ fields = {} }: AnyCrudOptions): FieldRules {
  const rules = Object.entries(fields as Readonly<Record<string, CrudFieldRule>>);
  return new Map(
    rules.map(([field, { read = everybody, write = everybody }]) => [
      field,
      { read, write: (caller) => read(caller) && write(caller) },
    ]),
  );
}

/** The fields of a resource that a caller may not read. */
export function hiddenFrom(rules: FieldRules, caller: TenantContext): readonly string[] {
  return [...rules].filter(([, { read }]) => !read(caller)).map(([field]) => field);
}

/** Makes a function that returns a definition as a caller knows it: without the fields that the caller may not read. */
export function viewsOf(definition: CrudDefinition): CrudDefinition['viewOf'] {
  const { fieldRules } = definition;
  const views = new Map<string, CrudDefinition>([['', definition]]);
  return (caller) => {
    const hidden = hiddenFrom(fieldRules, caller);
    const key = hidden.join();
    const view = views.get(key) ?? without(definition, hidden);
    views.set(key, view);
    return view;
  };
}

function without(definition: CrudDefinition, hidden: readonly string[]): CrudDefinition {
  const { query, shownFields, expandable } = definition;
  const isShown = (path: string) => !hidden.includes(path.split('.', 1)[0] ?? path);
  const offered = ({ filters, orders }: Offered): Offered => ({
    filters: new Map([...filters].filter(([path]) => isShown(path))),
    orders: new Map([...orders].filter(([, { keys }]) => keys.every(({ path }) => isShown(path)))),
  });
  return {
    ...definition,
    query: { ...query, ...offered(query), live: offered(query.live) },
    shownFields: shownFields.filter(isShown),
    expandable: new Map([...expandable].filter(([path]) => isShown(path))),
  };
}

/**
 * Rejects a body with fields that its sender may not write, before anything else is said of their values.
 *
 * @throws ForbiddenFieldError that points to each
 */
export function refuseForbidden(rules: FieldRules, caller: TenantContext, body: unknown): void {
  if (rules.size === 0 || !isPlainObject(body)) return;
  const names = Object.keys(body).filter((name) => rules.get(name)?.write(caller) === false);
  if (names.length === 0) return;
  throw new ForbiddenFieldError(
    names.map((name) => ({ pointer: toPointer([name]), detail: errorMessages.forbiddenField(name) })),
  );
}

/** Checks the option `fields`: that nothing else tells of a field that a caller may not read. */
export function checkFieldRules(definition: CrudDefinition, fail: Fail): void {
  const { archive, createReader, disabled, fieldRules, isolation, kinds, options, parent, query } =
    definition;
  const { schema, visible } = definition;
  const inputs = createReader.fields;
  for (const field of fieldRules.keys()) {
    const { read, write } = (options.fields as Readonly<Record<string, CrudFieldRule>>)[field] ?? {};
    const asked = [
      ...(read ? (['get', 'count'] as const) : []),
      ...(write ? (['create', 'update'] as const) : []),
    ];
    const open = asked.find((action) => !disabled.has(action) && !needsToken(isolation[action]));
    failIf(fail, `fields.${field} `, {
      'is not a field of the schema. Name one of its own fields, without dots.':
        field.includes('.') || !(schema.path(field) || schema.pathType(field) === 'nested'),
      'isolates records. Choose another field.':
        Object.values(isolation).some((fields) => field in fields) || field === parent?.field,
      'decides which records are found, or is set by the service. Choose another field.':
        KEPT.includes(field) || field === archive?.field || field in visible,
      'is searched, and the words of a search are the same for all. Leave it out of query.search.':
        query.search?.fields.some((path) => path === field || path.startsWith(`${field}.`)),
      'is required in a create, which callers who may not write it could not make. Make it optional.':
        inputs.some(({ name, required }) => name === field && required) || isRequiredByKind(kinds, field),
      [`asks who is calling, but the action ${open} takes no token. Add isolationFields.${open}.`]:
        open !== undefined,
    });
  }
}

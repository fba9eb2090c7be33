import { isPlainObject } from '../../fields/index.js';
import { errorMessages, ForbiddenFieldError, toPointer } from '../../errors/index.js';
import { type CallerPredicate, decide, needsToken, type TenantContext } from '../../tenancy/index.js';
import { failIf } from '../options/checks.js';
import { ACTIONS, type AnyCrudOptions, type CrudFieldRule } from '../options/crud-options.js';
import { isRequiredByKind } from './kinds.js';
import { SERVICE_FIELDS } from './check-fields.js';
import type { CrudDefinition } from './crud-definition.js';
import { isDeclared, isWithin } from '../schema/schema-paths.js';

interface FieldRule {
  readonly read: CallerPredicate;
  /** Nobody may write what they may not read: the response to a write could tell of the value. */
  readonly write: CallerPredicate;
}

/** The rules of the fields that only some callers read or write, by field. */
export type FieldRules = ReadonlyMap<string, FieldRule>;

export function fieldRulesOf({ fields = {} }: AnyCrudOptions): FieldRules {
  const rules = Object.entries(fields as Readonly<Record<string, CrudFieldRule>>);
  const ruleOf = ({ read = () => true, write = () => true }: CrudFieldRule): FieldRule => ({
    read: (caller) => decide(read, caller),
    write: (caller) => decide(read, caller) && decide(write, caller),
  });
  return new Map(rules.map(([field, rule]) => [field, ruleOf(rule)]));
}

/** The fields of a resource that a caller may not read. */
export function hiddenFrom(rules: FieldRules, caller: TenantContext): readonly string[] {
  return [...rules].filter(([, { read }]) => !read(caller)).map(([field]) => field);
}

/**
 * Rejects a body with fields that its sender may not write, before anything else is said of their values.
 *
 * @returns all of these fields, which no error about the body may name
 * @throws ForbiddenFieldError that points to each
 */
export function rejectForbidden(rules: FieldRules, caller: TenantContext, body: unknown): readonly string[] {
  const forbidden = [...rules].filter(([, { write }]) => !write(caller)).map(([field]) => field);
  const names = isPlainObject(body) ? forbidden.filter((name) => Object.hasOwn(body, name)) : [];
  if (names.length === 0) return forbidden;
  throw new ForbiddenFieldError(
    names.map((name) => ({ pointer: toPointer([name]), detail: errorMessages.forbiddenField(name) })),
  );
}

/** Checks the option `fields`: that nothing else tells of a field that a caller may not read. */
export function checkFieldRules(definition: CrudDefinition): void {
  const { archive, createReader, disabled, fail, fieldRules, isolation, kinds } = definition;
  const { options, query, references, schema, visible } = definition;
  const inputs = createReader.fields;
  const unique = schema.indexes().flatMap(([keys, index]) => (index.unique ? [Object.keys(keys)] : []));
  for (const field of fieldRules.keys()) {
    const { read, write } = options.fields?.[field] ?? {};
    const asked = { get: read, count: read, create: write, update: write, del: undefined };
    const isPart = (path: string) => isWithin(path, field);
    const isSent = (path: string) => !isPart(path) && inputs.some(({ name }) => isWithin(path, name));
    const open = ACTIONS.find((one) => asked[one] && !disabled.has(one) && !needsToken(isolation[one]));
    failIf(fail, `fields.${field} `, {
      'says nothing. Write read, write or both.': !read && !write,
      'is not a field of the schema. Name one of its own fields, without dots.':
        field.includes('.') || !isDeclared(schema, field),
      'decides which records are found, or is set by the service. Choose another field.':
        Object.values(isolation).some((fields) => field in fields) ||
        [...SERVICE_FIELDS, archive?.field, ...Object.keys(visible)].includes(field),
      'is searched, and the words of a search are the same for all. Leave it out of query.search.':
        query.search?.fields.some(isPart),
      'is required in a create, which callers who may not write it could not make. Make it optional.':
        inputs.some(({ name, required }) => name === field && required) || isRequiredByKind(kinds, field),
      'is unique, and a restore, or a write of another field of the index, would tell of a value. Let everybody read it, or choose another index.':
        read && unique.some((keys) => keys.some(isPart) && (archive !== undefined || keys.some(isSent))),
      "is a reference, and what a deletion does about it would tell others. Write onDelete: 'ignore'.":
        read && references.some(({ path, onDelete }) => isPart(path) && onDelete !== 'ignore'),
      [`asks who is calling, but the action ${open} takes no token. Add isolationFields.${open}.`]:
        open !== undefined,
    });
  }
}

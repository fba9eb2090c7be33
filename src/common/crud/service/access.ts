import { isDeepStrictEqual } from 'node:util';
import { type Schema, Types, mongo, type SchemaType } from 'mongoose';
import {
  ClaimRequiredError,
  UnauthenticatedError,
  errorMessages,
  ForbiddenFieldError,
  InvalidIdError,
  toPointer,
  ValidationError,
} from '../../errors/index.js';
import { isPlainObject } from '../../fields/index.js';
import { isObjectId } from '../../ids/index.js';
import {
  assertScope,
  type IsolationFields,
  type IsolationSource,
  type TenantScope,
} from '../../tenancy/index.js';
import type { Archived } from '../definition/archive.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { SCALARS } from '../definition/query-definition.js';
import { entryTypeOf } from '../schema/schema-paths.js';
import { plain } from '../definition/output.js';
import type { CrudAction } from '../options/crud-options.js';
import { predicatesOf } from '../query/conditions.js';
import type { ListQuery, ReadQuery } from '../query/list-query.js';
import type { Fields, StoreFilter } from '../schema/store-types.js';

/** Makes every predicate of a resource. No other code turns a scope into a filter. */
export class Access {
  constructor(private readonly definition: CrudDefinition) {}

  /** The values of the fields that isolate an action, in the store's types. @throws UnauthenticatedError or its like */
  isolationValues(action: CrudAction, scope: TenantScope): Fields {
    return this.valuesOf(this.definition.isolation[action], scope);
  }

  /** A new record with the values of the fields that isolate its creation. A list gets its value as one more entry. */
  isolated(record: Readonly<Fields>, isolationValues: Readonly<Fields>): Fields {
    const { schema } = this.definition;
    const values = Object.entries(isolationValues).map(([field, value]) => {
      if (!entryTypeOf(schema.path(field))) return [field, value] as const;
      const entries = [record[field] ?? []].flat();
      return [field, isIsolatedBy(schema, field, entries, value) ? entries : [...entries, value]] as const;
    });
    return { ...record, ...Object.fromEntries(values) };
  }

  /** @throws ValidationError if a list of the record has no room for the entry that isolates it */
  async requireRoom(given: Readonly<Fields>, isolated: Readonly<Fields>): Promise<void> {
    const { createReader } = this.definition;
    const lengthOf = (list: unknown) => (Array.isArray(list) ? list.length : 0);
    const full = createReader.fields
      .filter(
        ({ name, schema: { maxItems = Infinity } }) =>
          lengthOf(isolated[name]) > Math.max(maxItems, lengthOf(given[name])),
      )
      .map(({ name }) => [name, plain(isolated[name])] as const);
    if (full.length > 0) await createReader.check(Object.fromEntries(full));
  }

  /** The filter of the records that a caller can reach with an action. @throws UnauthenticatedError or its like */
  filter(
    action: CrudAction,
    scope: TenantScope,
    id?: string | Types.ObjectId,
    { archived }: ReadQuery = {},
  ): StoreFilter {
    const { archivedIsolation, isolation } = this.definition;
    return {
      ...this.there(archived),
      ...this.valuesOf((archived ? archivedIsolation : isolation)[action], scope),
      ...(id !== undefined && { _id: objectId(id) }),
    };
  }

  /** The filter of the records that a query selects among those that a caller can reach with an action. */
  listing(action: 'get' | 'count', scope: TenantScope, query: ListQuery): StoreFilter {
    const filter = this.filter(action, scope, undefined, query);
    const predicates = predicatesOf(query);
    // Next to the scope, never among its members, so that no condition can replace one.
    return predicates.length === 0 ? filter : { ...filter, $and: predicates };
  }

  /** The filter of what a caller may read from another resource, and of its parent if the request names one. */
  reading(scope: TenantScope): StoreFilter {
    return { ...this.there(), ...this.owned(scope) };
  }

  /** The same whether they are archived or not, and whatever `visible` says. */
  owned(scope: TenantScope): StoreFilter {
    const { isolation, parent } = this.definition;
    const isNamed = ([field, { param }]: [string, IsolationSource]) =>
      field !== parent?.field || param !== parent.param || param in scope.params;
    const fields = Object.fromEntries(Object.entries(isolation.get).filter(isNamed));
    return this.valuesOf(fields, scope);
  }

  /** Predicate of every record that can be read, whoever owns it. */
  private there(archived?: Archived): StoreFilter {
    const { archive, label, visible } = this.definition;
    if (!archive && archived !== undefined) {
      throw new Error(`${label} has no archive. Give its options archive: { field }, or leave archived out.`);
    }
    if (!archive || archived === 'include') return visible;
    return { ...visible, ...(archived === 'only' ? archive.only : archive.live) };
  }

  private valuesOf(sources: IsolationFields, scope: TenantScope): Fields {
    assertScope(scope);
    return this.typedValues(sources, scope.valuesOf(sources));
  }

  private typedValues(sources: IsolationFields, values: Readonly<Fields>): Fields {
    const typed = Object.entries(values).map(([field, value]): [string, unknown] => {
      const { alternatives, isList } = sources[field] ?? {};
      if (alternatives) {
        const sets = value as Readonly<Fields>[];
        return [field, alternatives.map((fields, i) => this.typedValues(fields, sets[i] ?? {}))];
      }
      const several = isList ? [value].flat() : [value];
      const found = several.map((one) => this.typed(field, one, sources[field]));
      return [field, isList && found.length > 1 ? { $in: found } : found[0]];
    });
    return Object.fromEntries(typed);
  }

  /**
   * The isolation of a new record, with the value that its body names where there are several.
   *
   * @throws ForbiddenFieldError if the body names a value of others, ValidationError if it must name one
   */
  chosen(isolationValues: Readonly<Fields>, input: Readonly<Fields>): Fields {
    const { inputFields, isolation: sources, schema } = this.definition;
    const values = Object.entries(isolationValues).map(([field, value]) => {
      if (!sources.create[field]?.isList) return [field, value];
      const pointer = toPointer([field]);
      const own = valuesIn(value);
      const given = input[field];
      const found = given === undefined ? own : own.filter((one) => isIsolatedBy(schema, field, given, one));
      if (found.length === 0)
        throw new ForbiddenFieldError([{ pointer, detail: errorMessages.forbiddenValue(field) }]);
      const detail = errorMessages.oneOfYours(field, inputFields.includes(field));
      if (found.length > 1) throw new ValidationError([{ pointer, detail }]);
      return [field, found[0]];
    });
    return Object.fromEntries(values) as Fields;
  }

  /** A value in the type that the store has for a field, or for the entries of a list. */
  private typed(field: string, value: unknown, { claim, param, identifies }: Partial<IsolationSource> = {}) {
    const declared = this.definition.schema.path(field);
    const type = entryTypeOf(declared) ?? declared;
    const isPath = param !== undefined && typeof value === 'string';
    // A path may have an identifier in either case.
    const given = isPath && type.instance === 'ObjectId' ? value.toLowerCase() : value;
    const found = typedValue(type, given, isPath);
    if (found !== undefined) return found;
    if (identifies) throw new UnauthenticatedError(false);
    if (param === undefined) throw new ClaimRequiredError(claim ?? field);
    if (type.instance === 'ObjectId') throw new InvalidIdError(param);
    const shape = `${SCALARS[type.instance]?.shape ?? 'a value'}, in the form in which the service shows it`;
    throw new ValidationError([{ parameter: param, detail: errorMessages.wrongParameter(param, shape) }]);
  }
}

/** The values of a field, one or several, that isolate an action. */
function valuesIn(value: unknown): readonly unknown[] {
  return isPlainObject(value) && Array.isArray(value.$in) ? (value.$in as unknown[]) : [value];
}

/** Whether what a record has in a field is the value that isolates it, or a list that has it as an entry. */
export function isIsolatedBy(schema: Schema, field: string, given: unknown, value: unknown): boolean {
  const declared = schema.path(field);
  const entryType = entryTypeOf(declared);
  const type = entryType ?? declared;
  return (entryType ? [given].flat() : [given]).some((one) =>
    valuesIn(value).some((own) => isDeepStrictEqual(plain(castTo(type, one)), plain(own))),
  );
}

/** The identifier of one record. A missing one would match any record of the scope. @throws InvalidIdError */
export function objectId(id: unknown): Types.ObjectId {
  if (id instanceof Types.ObjectId) return id;
  if (typeof id !== 'string' || !isObjectId(id)) throw new InvalidIdError('id');
  return new Types.ObjectId(id);
}

/** 1.5 and 1.50 are equal to the database. */
const SHORTEST_DECIMAL = /^(?!-0$)-?\d+(?:\.\d*[1-9])?$/;

/**
 * A value in the type of a field; undefined if it has another type. Never a cast: `1`, `"1"` and `true` would be one account.
 *
 * @param isPath whether the value is a text that spells it
 */
function typedValue(type: SchemaType, value: unknown, isPath: boolean): unknown {
  // Beyond these limits, different numbers of a token are one number by now.
  if (typeof value === 'number' && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) return undefined;
  const found = castTo(type, value);
  const spelled = shown(found);
  if (spelled === undefined || spelled === null) return undefined;
  if (type.instance === 'Decimal128' && !SHORTEST_DECIMAL.test(String(spelled))) return undefined;
  return isDeepStrictEqual(isPath ? String(spelled) : spelled, shown(value)) ? found : undefined;
}

function shown(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  return plain(value instanceof mongo.Double ? value.value : value);
}

/** A value in a type; undefined if the type cannot have it. */
function castTo(type: SchemaType, value: unknown): unknown {
  try {
    return type.cast(value) as unknown;
  } catch {
    return undefined;
  }
}

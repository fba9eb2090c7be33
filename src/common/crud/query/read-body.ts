import { errorMessages, toPointer, ValidationError, type Violation } from '../../errors/index.js';
import { isPlainObject, shorten } from '../../fields/index.js';
import { asksForArchived } from '../definition/archive.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import type { FilterField } from '../definition/query-definition.js';
import { ConditionReader } from './conditions.js';
import { BODY_LIMITS, type ListQuery, OPERATORS, type Where } from './list-query.js';
import { parametersOf, readParameters } from './read-query.js';

/** The type of a parameter's value in a body. A list is one that a query string separates by commas. */
export function bodyTypeOf(parameter: string): 'list' | 'number' | 'text' {
  if (['sort', 'fields', 'expand'].includes(parameter)) return 'list';
  return parameter === 'offset' || parameter === 'limit' ? 'number' : 'text';
}

/**
 * Reads a query in a body (RFC 10008): `where` is a tree of conditions, and every other member the parameter of that name.
 *
 * @throws ValidationError that points to each unknown or invalid member, and names what is accepted
 */
export function readBodyQuery(body: unknown, definition: CrudDefinition): ListQuery {
  if (!isPlainObject(body)) throw new ValidationError([{ pointer: '', detail: errorMessages.notAnObject }]);
  const violations: Violation[] = [];
  const reject = (name: string, detail: string) =>
    void violations.push({ pointer: toPointer([name]), detail });
  const known = parametersOf('list', definition);
  const text: Record<string, string> = {};
  for (const [name, value] of Object.entries(body)) {
    if (name === 'where') continue;
    const written = textOf(name, value);
    if (!known.includes(name))
      reject(shorten(name), errorMessages.unknownField(shorten(name), ['where', ...known]));
    else if (written === undefined) reject(name, errorMessages.wrongType(name, SHAPES[bodyTypeOf(name)]));
    else text[name] = written;
  }
  const { filters } = asksForArchived(body) ? definition.query : definition.query.live;
  const reader = new WhereReader(filters, violations);
  const where = body.where === undefined ? { and: [] } : reader.read(body.where, ['where']);
  // A cursor is bound to the conditions, in whatever order they are sent.
  const conditions = 'and' in where ? where.and : [where];
  const query = readParameters('list', text, definition, reject);
  const [first, ...others] = violations;
  if (first) throw new ValidationError([first, ...others]);
  return { ...query, ...(conditions.length > 0 && { conditions }), isBody: true };
}

const SHAPES = { list: 'a list of one or more names', number: 'a whole number', text: 'a text' } as const;

/** A value as a query string would have it; undefined if it has another type. */
function textOf(name: string, value: unknown): string | undefined {
  const type = bodyTypeOf(name);
  if (type === 'number') return typeof value === 'number' ? String(value) : undefined;
  if (type === 'text') return typeof value === 'string' ? value : undefined;
  const isName = (entry: unknown) => typeof entry === 'string' && !entry.includes(',');
  return Array.isArray(value) && value.length > 0 && value.every(isName) ? value.join() : undefined;
}

type Path = readonly (string | number)[];

/** Reads the member `where`. Everything that it cannot read is a violation. */
class WhereReader {
  private readonly conditions = new ConditionReader(true);

  constructor(
    private readonly filters: ReadonlyMap<string, FilterField>,
    private readonly violations: Violation[],
  ) {}

  /** All members of an object are true together. @param level number of `and`, `or` and `not` around it */
  read(where: unknown, path: Path, level = 0): Where {
    if (!isPlainObject(where)) {
      const detail = errorMessages.wrongType(String(path.at(-1)), 'an object of conditions');
      return { and: this.reject(path, detail) };
    }
    const and = Object.entries(where).flatMap(([name, value]): Where[] => {
      const at = [...path, name];
      if (name === 'and' || name === 'or' || name === 'not') return this.branch(name, value, at, level + 1);
      const field = this.filters.get(name);
      if (field) return this.field(field, value, at);
      const allowed = [...this.filters.keys(), 'and', 'or', 'not'];
      return this.reject([...path, shorten(name)], errorMessages.unknownFieldName(shorten(name), allowed));
    });
    const [only] = and;
    return only && and.length === 1 ? only : { and };
  }

  private branch(name: 'and' | 'or' | 'not', value: unknown, path: Path, level: number): Where[] {
    const { entries, levels } = BODY_LIMITS;
    if (level > levels) return this.reject(path, errorMessages.tooManyLevels(levels));
    if (name === 'not') return [{ not: this.read(value, path, level) }];
    const shape = `a list of 1 to ${entries} objects of conditions`;
    if (!Array.isArray(value) || value.length === 0 || value.length > entries)
      return this.reject(path, errorMessages.wrongType(name, shape));
    const read = value.map((entry, i) => this.read(entry, [...path, i], level));
    return [name === 'and' ? { and: read } : { or: read }];
  }

  /** A value, or operators with theirs. */
  private field(field: FilterField, value: unknown, path: Path): Where[] {
    const read = (operator: string, operand: unknown, at: Path) =>
      this.conditions.read(field, operator, operand, String(at.at(-1)), (detail) => this.reject(at, detail));
    if (!isPlainObject(value)) return read('eq', value, path);
    const entries = Object.entries(value);
    const shape = `a value, or an object of ${OPERATORS[field.kind].join(', ')}`;
    if (entries.length === 0) return this.reject(path, errorMessages.wrongType(field.path, shape));
    return entries.flatMap(([name, operand]) => read(shorten(name), operand, [...path, shorten(name)]));
  }

  private reject(path: Path, detail: string): Where[] {
    this.violations.push({ pointer: toPointer(path), detail });
    return [];
  }
}

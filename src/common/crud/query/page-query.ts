import { Injectable, type PipeTransform } from '@nestjs/common';
import { errorMessages, ValidationError, type Violation } from '../../errors/index.js';

/** One page by its position. Unit: records. */
export interface PagePosition {
  readonly offset: number;
  readonly limit: number;
}

/** Bounds of the paging parameters. Unit: records. */
export const PAGE_LIMITS = {
  offset: { minimum: 0, default: 0 },
  limit: { minimum: 1, maximum: 100, default: 20 },
} as const;

/** How a resource is paged. */
export interface Paging {
  /** Whether a query without page parameters returns every record; otherwise it returns the first page. */
  readonly unpaged: boolean;
  /** Maximum number of records per page. Unit: records. */
  readonly maxLimit: number;
}

const DEFAULT_PAGING: Paging = { unpaged: true, maxLimit: PAGE_LIMITS.limit.maximum };

/**
 * Reads `offset` and `limit`. Either one requests a page; the other takes its default.
 *
 * @param violations receives an entry for each that is not a whole number within its bounds
 * @returns undefined if every record is requested
 */
export function readPosition(
  query: Readonly<Record<string, unknown>>,
  { unpaged, maxLimit }: Paging,
  violations: Violation[],
): PagePosition | undefined {
  if (unpaged && query.offset === undefined && query.limit === undefined) return undefined;
  const read = (name: 'offset' | 'limit', fallback: number, maximum?: number): number => {
    const { minimum } = PAGE_LIMITS[name];
    const value = wholeNumber(query[name] ?? String(fallback));
    if (value !== undefined && value >= minimum && value <= (maximum ?? Number.MAX_SAFE_INTEGER))
      return value;
    violations.push({ parameter: name, detail: errorMessages.wholeNumber(name, minimum, maximum) });
    return fallback;
  };
  return {
    offset: read('offset', PAGE_LIMITS.offset.default),
    limit: read('limit', Math.min(PAGE_LIMITS.limit.default, maxLimit), maxLimit),
  };
}

/** Reads `offset` and `limit` for hand-written controllers; undefined if every record is requested. */
@Injectable()
export class PageQueryPipe implements PipeTransform<Record<string, unknown>, PagePosition | undefined> {
  /** @throws ValidationError if one is not a whole number within its bounds */
  transform(query: Record<string, unknown>): PagePosition | undefined {
    const violations: Violation[] = [];
    const position = readPosition(query, DEFAULT_PAGING, violations);
    const [first, ...others] = violations;
    if (first) throw new ValidationError([first, ...others]);
    return position;
  }
}

function wholeNumber(text: unknown): number | undefined {
  return typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : undefined;
}

import { Injectable, type PipeTransform } from '@nestjs/common';
import { errorMessages, ValidationError, type Violation } from '../../errors/index.js';

/** One page by its position. Unit: records. */
export interface PageQuery {
  readonly offset: number;
  readonly limit: number;
}

/** Bounds of the paging parameters (seed, section "Limits"). Unit: records. */
export const PAGE_LIMITS = {
  offset: { minimum: 0, default: 0 },
  limit: { minimum: 1, maximum: 100, default: 20 },
} as const;

/**
 * Reads `offset` and `limit`; either is enough for a page, neither is none.
 *
 * @throws ValidationError where one is not a whole number within its bounds
 */
@Injectable()
export class PageQueryPipe implements PipeTransform<Record<string, unknown>, PageQuery | undefined> {
  transform(query: Record<string, unknown>): PageQuery | undefined {
    if (query.offset === undefined && query.limit === undefined) return undefined;
    const violations: Violation[] = [];
    const read = (name: 'offset' | 'limit', maximum?: number): number => {
      const { minimum, default: fallback } = PAGE_LIMITS[name];
      const value = wholeNumber(query[name] ?? String(fallback));
      if (value !== undefined && value >= minimum && value <= (maximum ?? Number.MAX_SAFE_INTEGER))
        return value;
      violations.push({ parameter: name, detail: errorMessages.wholeNumber(name, minimum, maximum) });
      return fallback;
    };
    const page = { offset: read('offset'), limit: read('limit', PAGE_LIMITS.limit.maximum) };
    const [first, ...others] = violations;
    if (first) throw new ValidationError([first, ...others]);
    return page;
  }
}

function wholeNumber(text: unknown): number | undefined {
  return typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : undefined;
}

import { errorMessages, type Violation } from '../../errors/index.js';
import { COUNT_MODES, type ListQuery } from './list-query.js';
import { type Paging, readPosition } from './page-query.js';

/** The parameters of a page as the client sent them. */
type PageParameters = Readonly<Partial<Record<'offset' | 'limit' | 'after' | 'before' | 'count', string>>>;

/** The requested page. A cursor can be verified only once the scope is known. */
type RequestedPage = Pick<ListQuery, 'offset' | 'limit' | 'after' | 'before' | 'count'>;

/**
 * Reads the parameters of a page: `limit` with `offset` or with a cursor, and `count`.
 *
 * @returns undefined if every record is requested
 */
export function readPage(
  text: PageParameters,
  paging: Paging,
  violations: Violation[],
): RequestedPage | undefined {
  const { after, before } = text;
  const isCursor = after !== undefined || before !== undefined;
  refuseBoth(text, violations);
  const position = readPosition(text, isCursor ? { ...paging, unpaged: false } : paging, violations);
  const count = readCount(text.count, position !== undefined, violations);
  if (!position) return undefined;
  const { offset, limit } = position;
  return {
    limit,
    ...(!isCursor && { offset }),
    ...(after !== undefined && { after }),
    ...(before !== undefined && { before }),
    ...(count && { count }),
  };
}

/** Rejects two positions of one page. */
function refuseBoth(text: PageParameters, violations: Violation[]): void {
  const [one, other] = (['after', 'before', 'offset'] as const).filter((name) => text[name] !== undefined);
  if (one === undefined || other === undefined) return;
  violations.push({ parameter: one, detail: errorMessages.exclusiveParameters(one, other) });
}

function readCount(text: string | undefined, isPage: boolean, violations: Violation[]): ListQuery['count'] {
  if (text === undefined) return undefined;
  const mode = COUNT_MODES.find((known) => known === text);
  if (!mode) {
    const detail = errorMessages.wrongParameter('count', `one of ${COUNT_MODES.join(', ')}`);
    violations.push({ parameter: 'count', detail });
  } else if (!isPage) violations.push({ parameter: 'count', detail: errorMessages.countWithoutPage });
  return mode;
}

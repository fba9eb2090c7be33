import type { BsonDocument, BsonValue } from '../bson/types.js';
import { compileFilter, type Filter } from '../query/filter.js';
import { parseSort } from '../query/sort.js';
import type { Index } from '../index/index.js';
import type { Collection, StoredDocument } from '../catalog/collection.js';
import type { Store } from '../storage/store.js';
import { Scan } from './scan.js';
import { sortMatches } from './order.js';
import { naturalOrder } from './natural.js';
import { plan, type Plan } from './plan.js';

/** A query of a collection. */
export interface QueryRequest {
  filter: BsonDocument;
  sort?: BsonDocument;
  skip?: number;
  /** 0 or absent means no limit. */
  limit?: number;
  hint?: BsonValue;
  /** Only the documents in this index are wanted: it is walked whether or not it contains all matches. */
  within?: Index;
}

/** A query with its plan, ready to run. */
export class Query {
  readonly filter: Filter;
  readonly plan: Plan;
  readonly scan: Scan;
  /** The request, with a natural order turned into a hint. */
  readonly request: QueryRequest;

  /** @throws CommandError if filter, sort or hint are invalid, or if the store is closed */
  constructor(
    store: Store,
    readonly collection: Collection | undefined,
    given: QueryRequest,
  ) {
    store.checkOpen();
    const request = naturalOrder(given);
    this.request = request;
    this.filter = compileFilter(request.filter);
    const sort = request.sort ? parseSort(request.sort) : [];
    this.plan = collection
      ? plan(store, collection, {
          given: request.filter,
          filter: this.filter,
          sort,
          hint: request.hint,
          within: request.within,
        })
      : { access: { kind: 'eof' }, sorted: true, exact: true };
    this.scan = new Scan(store, collection, this.plan, this.filter);
  }

  /** The matches in order, after the skip and up to the limit; `undefined` is an opportunity to pause. */
  *matches(): Generator<StoredDocument | undefined> {
    const { skip = 0, limit = 0 } = this.request;
    let toSkip = skip;
    let left = limit > 0 ? limit : Infinity;
    try {
      for (const match of this.ordered(skip + left)) {
        if (match && toSkip > 0) {
          toSkip--;
          yield undefined;
          continue;
        }
        yield match;
        if (match && --left === 0) break;
      }
    } finally {
      // Also if the reader stops early: an open cursor slows down every later write.
      this.scan.end();
    }
  }

  /** The number of matching documents, with as little reading as the plan allows. */
  *count(): Generator<number | undefined> {
    const { skip = 0, limit = 0 } = this.request;
    const bounded = (count: number): number => {
      const left = Math.max(0, count - skip);
      return limit > 0 ? Math.min(limit, left) : left;
    };
    const { access, exact } = this.plan;
    const whole =
      access.kind === 'collscan' ||
      (access.kind === 'ixscan' && !access.index.definition.sparse && !access.index.definition.partial);
    if (this.collection && this.request.filter.size === 0 && whole) {
      yield bounded(this.collection.counters.documents);
      return;
    }
    if (access.kind === 'ixscan' && exact) {
      yield bounded(this.scan.count(access));
      return;
    }
    let count = 0;
    for (const match of this.matches()) {
      if (match) count++;
      yield undefined;
    }
    yield count;
  }

  private ordered(keep: number): Generator<StoredDocument | undefined> {
    const { sort } = this.request;
    if (this.plan.sorted || !sort) return this.scan.matches();
    return sortMatches(this.scan, parseSort(sort), keep);
  }
}

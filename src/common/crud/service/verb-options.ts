import type { ReadQuery } from '../query/list-query.js';
import type { StoreFilter } from '../store/crud.store.js';

/** Options of the verbs that take values. */
export interface WriteOptions {
  /**
   * Whether the values are checked by the input class. Bodies that a route has checked are not checked twice. Code may
   * also set fields that no client may send; the schema checks those. It may not in a request whose body no `@CrudAction`
   * describes: there nobody can tell what came from the client.
   *
   * @default true
   */
  validate?: boolean;
}

/** Options of the verbs that change or remove a record. */
export interface ConditionalOptions {
  /** ETags with their quotes, one of which the record must have, or `*`. @default the `If-Match` of the request */
  ifMatch?: string | readonly string[];
}

/** Options of a change by code. */
export interface ChangeOptions extends ConditionalOptions, Pick<ReadQuery, 'archived'> {
  /** What the record must be like for the change, decided by the command that makes it; in values of the store. @default anything */
  where?: StoreFilter;
}

/** Options of the verb that archives. */
export interface ArchiveOptions extends ConditionalOptions {
  /** Whether a record that is archived already is archived anew. @default it is not reached */
  archived?: 'include';
}

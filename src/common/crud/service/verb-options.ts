import type { ReadQuery } from '../query/list-query.js';
import type { StoreFilter } from '../store/crud.store.js';

/** Options of the verbs that take values. */
export interface WriteOptions {
  /**
   * Whether to check the values against the input class. Bodies that a route has already checked are not
   * checked again. Code may also set fields that clients may not send; the schema checks those. This is not
   * allowed in a request whose body no `@CrudAction` describes, because nobody can tell there which values
   * came from the client.
   *
   * @default true
   */
  validate?: boolean;
}

/** Options of the verbs that change or remove a record. */
export interface ConditionalOptions {
  /** ETags in quotes, one of which the record must have, or `*`. @default the `If-Match` of the request */
  ifMatch?: string | readonly string[];
}

/** Options of a change made by code. */
export interface ChangeOptions extends ConditionalOptions, Pick<ReadQuery, 'archived'> {
  /**
   * Condition on the record, checked by the command that makes the change; in values of the store.
   *
   * @default none
   */
  where?: StoreFilter;
}

/** Options of the verb that archives. */
export interface ArchiveOptions extends ConditionalOptions {
  /** Whether to archive again a record that is already archived. @default it is not found */
  archived?: 'include';
}

import type { Schema } from 'mongoose';
import type { AnyCrudOptions } from '../options/crud-options.js';
import type { Fail } from '../options/fail.js';
import { OUTBOX } from '../store/outbox-entry.js';

/** Checks the option `outbox`: a deleted record would take its events with it. */
export function checkOutbox(
  { outbox = false, archive, disable = [], references = {} }: AnyCrudOptions,
  schema: Schema,
  fail: Fail,
): void {
  if (typeof outbox !== 'boolean') fail('outbox must be true or false.');
  if (!outbox) return;
  if (!archive && !disable.includes('del')) {
    fail(
      "outbox keeps events in the record, which DELETE removes. Add archive: { field }, or disable: ['del'].",
    );
  }
  const cascading = Object.entries(references).find(([, { onDelete }]) => onDelete === 'cascade');
  if (cascading) {
    fail(
      `outbox keeps events in the record, which references.${cascading[0]} deletes with another. Choose another onDelete.`,
    );
  }
  if (schema.path(OUTBOX) || schema.pathType(OUTBOX) === 'nested') {
    fail(`the schema has "${OUTBOX}", where events are kept. Rename the field.`);
  }
}

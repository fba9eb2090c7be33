import type { BsonValue } from '../../bson/types.js';
import { fieldFilter } from '../../query/filter.js';
import { clauseOperators } from '../../query/operators.js';

/** The fields of a DBRef, which are always compared as values. */
for (const name of ['$ref', '$id', '$db']) {
  clauseOperators.define(name, (argument: BsonValue) => fieldFilter(name, new Map([['$eq', argument]])));
}

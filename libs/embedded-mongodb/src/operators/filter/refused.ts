import { clauseOperators, fieldOperators } from '../../query/operators.js';

/** Operators of MongoDB that a filter of this server lacks. */
const names = [
  '$alwaysTrue',
  '$alwaysFalse',
  '$where',
  '$text',
  '$jsonSchema',
  '$geoWithin',
  '$geoIntersects',
  '$near',
  '$nearSphere',
  '$within',
  '$geoNear',
  '$maxDistance',
  '$minDistance',
  '$uniqueDocs',
  '$bitsAllSet',
  '$bitsAllClear',
  '$bitsAnySet',
  '$bitsAnyClear',
  '$sampleRate',
];

fieldOperators.refuse(...names);
clauseOperators.refuse(...names);

import { Int32 } from 'bson';
import { type Stage, stages } from '../../pipeline/stage.js';
import type { BsonDocument, BsonValue } from '../../bson/types.js';
import { failureAt } from '../../errors.js';
import { projectStage } from './project.js';

stages.define('$unset', { parse: unsetStage, updates: true });

function unsetStage(argument: BsonValue): Stage {
  if (typeof argument !== 'string' && !Array.isArray(argument)) {
    throw failureAt(31002, '$unset specification must be a string or an array');
  }
  const paths = typeof argument === 'string' ? [argument] : argument;
  if (paths.length === 0) {
    throw failureAt(31119, '$unset specification must be a string or an array with at least one field');
  }
  const spec: BsonDocument = new Map();
  for (const path of paths) {
    if (typeof path !== 'string') {
      throw failureAt(
        31120,
        '$unset specification must be a string or an array containing only string values',
      );
    }
    if (spec.has(path)) throw failureAt(31250, `Invalid $unset :: caused by :: Path collision at ${path}`);
    spec.set(path, new Int32(0));
  }
  // Unlike a projection, which would take a lone `_id: 0` as an inclusion of the rest, this only removes
  // fields.
  return projectStage(spec);
}

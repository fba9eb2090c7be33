import { updates } from '../../update/operator.js';

/** Operators of MongoDB that an update of this server lacks. */
updates.refuse('$bit');

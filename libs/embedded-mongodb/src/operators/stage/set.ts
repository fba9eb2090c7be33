import { addFieldsStage } from './add-fields.js';
import { stages } from '../registry.js';

/** Another name of `$addFields`. */
stages.define('$set', { parse: addFieldsStage, updates: true });

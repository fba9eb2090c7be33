import { addFieldsStage } from './add-fields.js';
import { stages } from '../../pipeline/stage.js';

/** Another name of `$addFields`. */
stages.define('$set', { parse: (argument) => addFieldsStage('$set', argument), updates: true });

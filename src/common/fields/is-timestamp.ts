import { TIMESTAMP_SHAPE } from './field-messages.js';
import { decoratorOf, type FieldDecorator, type ScalarOptions } from './field-rule.js';
import { isTimestampDate } from './parse-timestamp.js';

/** Options of `IsTimestamp`. */
export interface TimestampOptions extends Omit<ScalarOptions<string>, 'default'> {
  /** Stored if a create omits the field; a function is called for each record. @default none */
  default?: Date | (() => Date);
}

/** A timestamp, sent as an RFC 3339 string and stored as a `Date`. */
export function IsTimestamp(options: TimestampOptions = {}): FieldDecorator {
  const shape = TIMESTAMP_SHAPE;
  return decoratorOf(
    {
      name: 'isTimestamp',
      kind: 'timestamp',
      list: false,
      shape,
      refusal: (value) => (isTimestampDate(value) ? undefined : shape),
      schema: { type: 'string', format: 'date-time' },
      storeType: Date,
    },
    options,
  );
}

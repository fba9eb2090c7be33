/** An identifier as the service writes it: 24 lower-case hexadecimal digits. A JSON Schema pattern. */
export const OBJECT_ID_PATTERN = '^[0-9a-f]{24}$';

/** An identifier as clients may write it: 24 hexadecimal digits in either case. A JSON Schema pattern. */
export const OBJECT_ID_INPUT_PATTERN = '^[0-9a-fA-F]{24}$';

const OBJECT_ID_INPUT = new RegExp(OBJECT_ID_INPUT_PATTERN);

/** Whether a value is an identifier as clients may write it. */
export function isObjectId(value: unknown): value is string {
  return typeof value === 'string' && OBJECT_ID_INPUT.test(value);
}

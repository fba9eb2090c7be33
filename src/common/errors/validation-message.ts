import type { Violation } from './domain.error.js';
import { toPointer } from './json-pointer.js';

/**
 * The beginning of a class-validator message: parent names with dots, as Nest's ValidationPipe prepends them,
 * some words, and the field's name. `items.0.each value in tags must be a string` is about `items.0.tags`.
 */
const MESSAGE =
  /^((?:[\w$-]+\.)*)(?:each value in )?(?:nested )?(?:property )?(?:"([^"]+)"|([\w$-]+)) (?:must|should|is not)\b/;

/**
 * One message of a ValidationPipe as a fault of the field that it names, or of the whole body if it names
 * none.
 */
export function toViolation(message: string): Violation {
  const [, parents = '', quoted, plain = ''] = MESSAGE.exec(message) ?? [];
  const segments = [...parents.split('.').filter(Boolean), ...((quoted ?? plain) ? [quoted ?? plain] : [])];
  // A custom sentence may begin with a capital: "You must accept the terms".
  const isPath = quoted !== undefined || !/^[A-Z]/.test(segments[0] ?? '');
  return { pointer: isPath ? toPointer(segments) : '', detail: message };
}

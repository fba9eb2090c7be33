import type { Violation } from './domain.error.js';
import { toPointer } from './json-pointer.js';

/**
 * How class-validator begins a message: parents with dots, as Nest's ValidationPipe puts them before it, some words, and the
 * field's name. `items.0.each value in tags must be a string` is about `items.0.tags`.
 */
const MESSAGE =
  /^((?:[\w$-]+\.)*)(?:each value in )?(?:nested )?(?:property )?(?:"([^"]+)"|([\w$-]+)) (?:must|should|is not)\b/;

/** One message of a ValidationPipe, with the field that it names; the whole body if it names none. */
export function toViolation(message: string): Violation {
  const [, parents = '', quoted, plain = ''] = MESSAGE.exec(message) ?? [];
  const segments = [...parents.split('.').filter(Boolean), ...((quoted ?? plain) ? [quoted ?? plain] : [])];
  // A sentence of someone's own may begin with a capital: "You must accept the terms".
  const isPath = quoted !== undefined || !/^[A-Z]/.test(segments[0] ?? '');
  return { pointer: isPath ? toPointer(segments) : '', detail: message };
}

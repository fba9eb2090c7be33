import type { Type } from '@nestjs/common';
import type { FieldDescription } from './field-description.js';

/** Reads bodies strictly as a class describes them. */
export class InputReader<T extends object> {
  readonly fields: readonly FieldDescription[] = [];

  constructor(
    protected readonly type: Type<T>,
    protected readonly options: { extras?: readonly string[] } = {},
  ) {}

  read(_body: unknown, _options: { extras?: boolean } = {}): Promise<T> {
    throw new Error('read is not written yet');
  }

  readPatch(_body: unknown, _options: { extras?: boolean } = {}): Promise<Partial<T>> {
    throw new Error('readPatch is not written yet');
  }

  check(_values: Partial<T>): Promise<void> {
    throw new Error('check is not written yet');
  }
}

import { type Violation, ValidationError } from '../../src/common/errors/index.js';

/** The faults that a reading is refused with; an empty list if it is accepted. Any other error is thrown on. */
export async function faultsOf(reading: Promise<unknown>): Promise<readonly Violation[]> {
  try {
    await reading;
    return [];
  } catch (error) {
    if (error instanceof ValidationError) return error.errors;
    throw error;
  }
}

/** Asserts that a reading is refused with exactly these faults; with none, that it is accepted. */
export async function expectFaults(reading: Promise<unknown>, ...faults: Violation[]): Promise<void> {
  expect(await faultsOf(reading)).toEqual(faults);
}

/** A fault of a field, whose sentence begins with its name: by default the end of the pointer. */
export function fault(pointer: string, sentence: string, name = pointer.split('/').pop() ?? ''): Violation {
  return { pointer, detail: `"${name.replaceAll('~1', '/').replaceAll('~0', '~')}" ${sentence}` };
}

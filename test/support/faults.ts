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

import { DatabaseUnavailableError } from './database-unavailable.error.js';

/** The database can be reached, but an operation took longer than its time limit. */
export class DatabaseTooSlowError extends DatabaseUnavailableError {}

/** Metadata key under which a handler keeps its isolation fields. */
export const ISOLATION_FIELDS = 'tenancy:isolation-fields';

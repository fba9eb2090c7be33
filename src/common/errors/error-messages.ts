/**
 * Every error that a client can meet: its stable code, its status and its title. `docs/errors.md` lists the same
 * table, and a test compares the two.
 */
export const ERROR_TABLE = {
  MALFORMED_REQUEST: { status: 400, title: 'Malformed request' },
  VALIDATION_FAILED: { status: 400, title: 'Validation failed' },
  INVALID_ID: { status: 400, title: 'Invalid identifier' },
  UNKNOWN_EVENT: { status: 400, title: 'Unknown event' },
  QUERY_TOO_BROAD: { status: 400, title: 'Query too broad' },
  UNAUTHENTICATED: { status: 401, title: 'Authentication required' },
  INVALID_TOKEN: { status: 401, title: 'Invalid token' },
  INSUFFICIENT_SCOPE: { status: 403, title: 'Insufficient scope' },
  TENANT_REQUIRED: { status: 403, title: 'Tenant required' },
  CLAIM_REQUIRED: { status: 403, title: 'Claim required' },
  FORBIDDEN_FIELD: { status: 403, title: 'Forbidden field' },
  RECORD_NOT_FOUND: { status: 404, title: 'Record not found' },
  PATH_NOT_FOUND: { status: 404, title: 'Path not found' },
  METHOD_NOT_ALLOWED: { status: 405, title: 'Method not allowed' },
  REQUEST_TIMEOUT: { status: 408, title: 'Request timed out' },
  STILL_REFERENCED: { status: 409, title: 'Still referenced' },
  WRITE_CONFLICT: { status: 409, title: 'Write conflict' },
  IDEMPOTENCY_KEY_IN_USE: { status: 409, title: 'Idempotency key in use' },
  DUPLICATE_VALUE: { status: 409, title: 'Duplicate value' },
  TOO_MANY_SUBSCRIPTIONS: { status: 409, title: 'Too many subscriptions' },
  PRECONDITION_FAILED: { status: 412, title: 'Precondition failed' },
  BODY_TOO_LARGE: { status: 413, title: 'Body too large' },
  URI_TOO_LONG: { status: 414, title: 'URI too long' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, title: 'Unsupported media type' },
  EXPECTATION_FAILED: { status: 417, title: 'Expectation failed' },
  IDEMPOTENCY_KEY_REUSED: { status: 422, title: 'Idempotency key reused' },
  NOT_CARRIED_OUT: { status: 424, title: 'Not carried out' },
  TOO_MANY_REQUESTS: { status: 429, title: 'Too many requests' },
  TOO_MANY_STREAMS: { status: 429, title: 'Too many streams' },
  HEADERS_TOO_LARGE: { status: 431, title: 'Request headers too large' },
  INTERNAL_ERROR: { status: 500, title: 'Internal error' },
  TRANSACTIONS_UNAVAILABLE: { status: 501, title: 'Transactions unavailable' },
  AUTHENTICATION_UNAVAILABLE: { status: 503, title: 'Authentication unavailable' },
  DEADLINE_EXCEEDED: { status: 503, title: 'Deadline exceeded' },
  DATABASE_UNAVAILABLE: { status: 503, title: 'Database unavailable' },
  INDEX_UNAVAILABLE: { status: 503, title: 'Index unavailable' },
  OVERLOADED: { status: 503, title: 'Overloaded' },
  QUERY_TOO_SLOW: { status: 503, title: 'Query too slow' },
  SHUTTING_DOWN: { status: 503, title: 'Shutting down' },
} as const satisfies Record<string, { status: number; title: string }>;

/** Stable upper-case word that identifies an error to programs. */
export type ErrorCode = keyof typeof ERROR_TABLE;

/** The messages that clients read, in one place. */
export const errorMessages = {
  notAnObject: 'The body must be a JSON object.',
  malformedJson: 'The body is not valid JSON. Send one JSON object, encoded in UTF-8.',
  harmfulJson:
    'The body is nested too deeply, or has an object with more than 10,000 names or a nested field named "constructor" or "_bsontype".',
  operations: (max: number) => `"operations" must be a list of 1 to ${max} operations.`,
  notCarriedOut: 'Another operation of the same request failed, so that none was carried out.',
  oneOperation: 'An operation must have exactly one of "create", "update" and "del".',
  malformedUrl: 'The URL is not valid. Percent-encode its special characters in UTF-8.',
  malformedRequest: 'The request could not be read. Check its body, headers and encoding.',
  malformedHttp: 'The request is not valid HTTP/1.1.',
  unknownTransferCoding: '"Transfer-Encoding" can only be chunked. Send the body without another coding.',
  repeatedHeader: (name: string) => `The header "${name}" must be given once.`,
  tooManyChunks: 'The body comes in too many small chunks. Send fewer and larger ones.',
  validationFailed: (count: number, first: string) =>
    count === 1
      ? `The request is not valid: ${first}`
      : `The request has ${count} faults; the first: ${first}`,
  unknownField: (name: string, allowed: readonly string[]) =>
    allowed.length === 0
      ? `"${name}" is not an input field; this path takes no body.`
      : `"${name}" is not an input field. Allowed: ${allowed.join(', ')}.`,
  forbiddenField: (name: string) => `You may not write "${name}". Leave it out.`,
  forbiddenValue: (name: string) => `"${name}" must be one of yours.`,
  oneOfYours: (name: string, isInput: boolean) =>
    isInput
      ? `"${name}" is needed, since several are yours. Name one of them.`
      : `Your token has several values of "${name}". Send one with the value that the record is to have.`,
  nullOnCreate: (name: string) => `"${name}" must not be null. Leave the field out instead.`,
  nullOnRequired: (name: string) => `"${name}" is required and cannot be removed with null.`,
  requiredField: (name: string) => `"${name}" is required.`,
  immutable: (name: string) => `"${name}" cannot be changed.`,
  undeclaredField: (name: string) => `"${name}" is not a field of this record.`,
  wrongType: (name: string, type: string) => `"${name}" must be ${type}.`,
  wrongMapName: (path: string, name: string) =>
    `"${path}" cannot have the name ${JSON.stringify(name)}. Leave out dots, and "$" at the start.`,
  wrongEntry: (name: string, type: string) => `Every entry of "${name}" must be ${type}.`,
  wrongPlace: (name: string) =>
    `"${name}" must be a place with a longitude from -180 to 180 and a latitude from -90 to 90, in that order.`,
  rejectedValues: 'The database cannot store the record with these values. Change them.',
  wrongFormat: (name: string) => `"${name}" does not have the required form.`,
  notOneOf: (name: string, values: readonly unknown[]) =>
    `"${name}" must be one of ${values.map(String).join(', ')}.`,
  outOfBounds: (name: string, kind: 'min' | 'max' | 'minlength' | 'maxlength', limit: unknown) => {
    const [bound, unit] = [
      kind.startsWith('min') ? 'at least' : 'at most',
      kind.endsWith('length') ? ' characters' : '',
    ];
    const shown = limit instanceof Date ? limit.toISOString() : String(limit);
    return `"${name}" must be ${unit ? 'a string of ' : ''}${bound} ${shown}${unit}.`;
  },
  invalidId: 'The id must be 24 hexadecimal digits.',
  unknownParameter: (name: string, allowed: readonly string[]) =>
    allowed.length === 0
      ? `"${name}" is not a parameter here; this path takes none.`
      : `"${name}" is not a parameter here. Allowed: ${allowed.join(', ')}.`,
  tooManyParameters: (max: number) => `The URL has more than ${max} parameters. Leave some out.`,
  repeatedParameter: (name: string) => `"${name}" must be given once.`,
  wrongParameter: (name: string, shape: string) => `"${name}" must be ${shape}.`,
  unknownOperator: (path: string, operator: string, allowed: readonly string[]) =>
    `"${path}" has no operator "${operator}". Allowed: ${allowed.join(', ')}.`,
  exclusiveParameters: (one: string, other: string) => `"${one}" cannot be combined with "${other}".`,
  countWithoutPage: '"count" goes with a page. Send "limit", too.',
  foreignCursor: (name: string) =>
    `"${name}" is not a cursor of this list. Use "next" or "prev" of a page with the same filter and order.`,
  tooManyConditions: (max: number) => `A query has at most ${max} conditions. Leave some out.`,
  tooManyLevels: (max: number) => `"where" has at most ${max} levels of and, or and not. Leave some out.`,
  unknownOrder: (order: string, allowed: readonly string[]) =>
    `"${order}" is not an order here. Allowed: ${allowed.join('; ')}.`,
  searchTooLong: (max: number) => `"q" has at most ${max} characters.`,
  unbalancedQuotes: '"q" has a quote without its counterpart. Put a phrase between two of them.',
  nothingToFind: '"q" must have a word or phrase to find: letters or digits, without a minus in front.',
  unknownFieldName: (name: string, allowed: readonly string[]) =>
    `"${name}" is not a field of the records here. Allowed: ${allowed.join(', ')}.`,
  notFlat: (name: string) => `"${name}" has no place in a cell of CSV. Leave it out, or ask for JSON.`,
  notExpandable: (path: string, allowed: readonly string[]) =>
    `"${path}" cannot be expanded here. Allowed: ${allowed.join(', ')}.`,
  wholeNumber: (name: string, min: number, max?: number) =>
    max === undefined
      ? `"${name}" must be a whole number, at least ${min}.`
      : `"${name}" must be a whole number from ${min} to ${max}.`,
  unauthenticated: 'This operation needs a token: send "Authorization: Bearer <token>".',
  unidentified: 'This operation is for those who have signed in. Sign in first.',
  invalidToken: 'The token does not verify or has expired. Get a new one.',
  insufficientScope: (scope: string) =>
    `The token must have the scope "${scope}". Ask the issuer for one with it.`,
  tenantRequired: (claim: string) =>
    `The token must carry a tenant: claim "${claim}", 24 hexadecimal digits.`,
  claimRequired: (claim: string) =>
    `The token must carry the claim "${claim}", with a value of the right type.`,
  stillReferenced: (label: string, by: string) =>
    `The ${label} is still referenced by ${by}. Change or delete those first.`,
  writeConflict: 'The record was changed by others again and again in the meantime. Try again.',
  noSuchReference: (field: string, label: string) => `"${field}" names no ${label} that you can use.`,
  ownEntry: (field: string) => `"${field}" must keep the entry that lets you change the record.`,
  recordNotFound: (label: string) => `${label} not found`,
  pathNotFound: 'There is no such path. Check it.',
  methodNotAllowed: (method: string, allow: readonly string[]) =>
    `${method} is not possible on this path. Allowed: ${allow.join(', ')}.`,
  requestTimeout: 'The request did not arrive in time. Send it again.',
  duplicateValue: (fields: readonly string[]) =>
    `A record with the same ${fields.join(', ') || 'unique value'} exists. Choose another value.`,
  preconditionFailed:
    'The record has changed since you read it. Read it again, and send its new ETag as If-Match.',
  entityTags: (name: string) => `"${name}" must be * or a list of ETags with their quotes, such as "3".`,
  keyOfStream: (name: string) =>
    `"${name}" is not possible with a stream, which cannot be compared with an earlier one. Leave it out.`,
  idempotencyKey: (name: string) => `"${name}" must be given once, as 1 to 255 visible ASCII characters.`,
  idempotencyKeyInUse: 'The first request with this Idempotency-Key is still being answered. Try again.',
  idempotencyKeyReused:
    'This Idempotency-Key was sent with another body before. Choose a new key for a new request.',
  repeatedName: (name: string) => `"${name.slice(0, 100)}" occurs twice in one object. Send it once.`,
  bodyTooLarge: (limit: number) => `The body is larger than ${limit} bytes. Send less at a time.`,
  mergedTooLarge: (limit: number) =>
    `The body, merged into the record, is larger than ${limit} bytes. Send less, or remove something.`,
  tooManyWords: (field: string, max: number) =>
    `"${field}" has too many different words: at most ${max} of a record can be searched. Send less text.`,
  hiddenEntries: (path: string) =>
    `A hook changed "${path}", whose entries have hidden fields, and left some of them out. It must set them in every entry.`,
  recordTooLarge: 'The record would be larger than the database can store. Send less, or remove something.',
  uriTooLong: 'A part of the path is too long.',
  unsupportedMediaType: (allowed: readonly string[]) => `The content type must be ${allowed.join(' or ')}.`,
  unsupportedContentCoding:
    'The body must not be compressed or coded otherwise. Leave "Content-Encoding" out.',
  expectationFailed: 'The only expectation that a request may have is 100-continue. Leave "Expect" out.',
  headersTooLarge: 'The request headers are too large.',
  internalError: 'Something went wrong on our side. Quote the requestId when you report it.',
  authenticationUnavailable: 'The keys that verify tokens cannot be fetched. Try again later.',
  transactionsUnavailable:
    'This database has no transactions, which the request needs. Its operator can make it a replica set.',
  indexUnavailable:
    'This resource waits for an index that the database cannot build. Its operator has to act.',
  searchUnavailable: 'The words of older records are being indexed. Search again later.',
  databaseUnavailable: 'The database cannot be reached or is too slow. Try again later.',
  queryTooBroad: (path: string, max: number) =>
    `"${path}" matches more than ${max} records. Narrow the condition.`,
  queryTooSlow: 'This query takes the database too long. Narrow its filter, or try again later.',
  unknownEvent:
    'Your tenant has no event with this Last-Event-ID. Leave the header out, and list what you may have missed.',
  tooManyStreams: {
    events: (max: number) => `Your tenant has ${max} streams open. Close one, or try again later.`,
    lists: (max: number) =>
      `You read ${max} whole lists at the same time, which is the maximum. Read pages, or try again later.`,
    imports: (max: number) =>
      `You have ${max} imports running, which is the maximum. Send more lines in each, or try again later.`,
  },
  tooManySubscriptions: (max: number) =>
    `Your tenant has ${max} subscriptions, which is the maximum. Delete one that is no longer needed.`,
  tooManyRequests: {
    address: 'Your address has sent as many requests as it may in a minute. Slow down.',
    tenant: 'Your tenant has sent as many requests as it may in a minute. Slow down.',
    badTokens:
      'Your address has sent too many tokens that do not verify. Get a new token, and try again later.',
    keys: 'Your tenant, or your address, has stored as much with Idempotency-Keys as it may in 24 hours. Try again later, or leave the header out.',
    share: 'Your tenant, or your address, has more requests waiting than its share. Send fewer at a time.',
  },
  deadlineExceeded:
    'The request could not be answered in time. Of a write, look whether it was carried out before you try again.',
  overloaded: 'This process has as much to do as it can. Try again later.',
  shuttingDown: 'This process is shutting down. Try again.',
};

/**
 * The message of a code that always has the same one. It has the name of the code: OVERLOADED has `overloaded`.
 *
 * @throws Error if there is none
 */
export function messageOf(code: string): string {
  const name = code.toLowerCase().replaceAll(/_./g, ([, letter = '']) => letter.toUpperCase());
  const message = errorMessages[name as keyof typeof errorMessages];
  if (typeof message !== 'string') throw new Error(`${code} has no message of its own. Add ${name}.`);
  return message;
}

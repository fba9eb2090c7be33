/** The public exports of the package that `npm run pack` makes. */
export * from './common/crud/index.js';
export {
  type ApiDescription,
  createCrudApp,
  type CrudAppOptions,
  shutDownOnSignal,
  type ShutdownOptions,
} from './common/server/index.js';
export { CRUD_CONNECTION, Database, UnusableDatabaseError } from './common/database/index.js';
export {
  ApiProblems,
  DomainError,
  DuplicateValueError,
  errorMessages,
  InvalidIdError,
  PreconditionFailedError,
  type Problem,
  type ProblemCode,
  RecordNotFoundError,
  toPointer,
  UnauthenticatedError,
  ValidationError,
  type Violation,
  WriteConflictError,
} from './common/errors/index.js';
export { type AfterHook, type EntityEvent, entityEventName, OnEntityEvent } from './common/events/index.js';
export {
  type DecimalOptions,
  type EnumValues,
  type FieldDecorator,
  type FieldOptions,
  IsDecimal,
  IsFlag,
  IsIdentifier,
  IsListOf,
  IsNested,
  IsNumber,
  IsOneOf,
  IsReference,
  IsText,
  IsTimestamp,
  IsWholeNumber,
  type JsonSchema,
  jsonSchemaOf,
  type ListOptions,
  type NumberOptions,
  parseTimestamp,
  type ScalarOptions,
  schemaOf,
  type TextOptions,
  type TimestampOptions,
  type WholeNumberOptions,
} from './common/fields/index.js';
export { HealthModule, ShutdownState } from './common/health/index.js';
export {
  ReadsQuery,
  StrictBody,
  StrictQueryInterceptor,
  TakesQuery,
  UnderLoad,
} from './common/http/index.js';
export { CurrentReservation, type Reservation, Unstored } from './common/idempotency/index.js';
export { isObjectId, OBJECT_ID_PATTERN } from './common/ids/index.js';
export { Metrics } from './common/metrics/index.js';
export {
  anyOf,
  callerOf,
  type CallerPredicate,
  claim,
  claims,
  CurrentScope,
  currentTenant,
  fromRequest,
  hasRole,
  type IsolationFields,
  type IsolationRequest,
  type IsolationSource,
  routeParam,
  scopeOf,
  type SignedInRequest,
  type TenantContext,
  TenantScope,
  type TokenVerifierOptions,
  unlessCaller,
  unrestrictedScope,
} from './common/tenancy/index.js';
export type { HttpRequest, HttpResponse, Platform, RequestState } from './common/request/index.js';

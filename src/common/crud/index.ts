export { AUDIT_OUTCOMES, AuditEntry, AuditEntryInput, type AuditOutcome } from './audit/audit-entry.js';
export { CrudModule, type CrudOverrides } from './crud.module.js';
export type { DatabaseOptions } from '../database/index.js';
export type { CrudRootAsyncOptions, CrudRootOptions } from './crud-root.js';
export { getCrudResourceToken, getCrudServiceToken, InjectCrudService } from './options/crud.tokens.js';
export { CrudAction, type CrudActionOptions } from './pipeline/crud-action.decorator.js';
export { listOf, pageOf, patchOf } from './routes/routes.js';
export { CurrentQuery } from './pipeline/crud.interceptor.js';
export { createBodyPipe, IdPipe, updateBodyPipe } from './pipeline/pipes.js';
export { CrudController } from './pipeline/crud.controller.js';
export { type EntityTags, etagOf, isKnown, readEntityTags, revisionsOf } from './definition/entity-tags.js';
export { type Order, orderOf, type SortKey } from './definition/query-definition.js';
export { Compressed, varyBy } from '../http/index.js';
export { prefersRepresentation } from './pipeline/respond.js';
export { streamJsonArray } from './pipeline/record-stream.js';
export { recordReference } from './openapi/create-classes.js';
export { documentationOf } from './openapi/document-route.js';
export {
  ArchivedResult,
  CountResult,
  CreatedResult,
  DeletedResult,
  schemaClass,
  UpdatedResult,
} from './openapi/schema-class.js';
export type * from './options/crud-hooks.js';
export {
  type AnyCrudOptions,
  type CrudAction as CrudActionName,
  type CrudBatchHandler,
  type CrudFieldRule,
  type CrudHandler,
  type CrudInput,
  type CrudListOptions,
  crudOptions,
  type CrudOptions,
  type CrudOutput,
  type CrudOutputFunction,
  type CrudParent,
  type CrudQueryOptions,
  type CrudReference,
  type CrudRouteOptions,
  type PathOf,
  type SortKeyOf,
} from './options/crud-options.js';
export type { Changes, CreateValues, FieldOf, Presented, Stored, UpdateValues } from './options/records.js';
export { Page, type PageCursors } from './query/pages.js';
export {
  type Condition,
  COUNT_MODES,
  type CountMode,
  type ListQuery,
  type PageQuery,
  type Operator,
  type ReadQuery,
  type Where,
} from './query/list-query.js';
export { conditionOf } from './query/conditions.js';
export { type Outbox, Outboxes } from './store/outbox.js';
export { resetsSearchIndex } from './search/search-index.js';
export { fieldsPipe, type PagePosition, PageQueryPipe, type Paging, project } from './query/read-query.js';
export {
  type ArchiveOptions,
  type ChangeOptions,
  type ConditionalOptions,
  CrudService,
  type ReadOptions,
  type WriteOptions,
} from './service/crud.service.js';
export { Crud } from './service/unit-of-work.js';
export type { CrudStore } from './store/crud.store.js';
export type { AggregationStage, StoreChange, StoreFilter, StoreRead, Updated } from './schema/store-types.js';
export type { Hold, ReferenceHolds } from './store/reference-holds.js';

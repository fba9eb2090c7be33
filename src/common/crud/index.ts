export { createBodyPipe, updateBodyPipe } from './body.pipe.js';
export { CountResult, CreatedResult, DeletedResult, MergePatchOf, UpdatedResult } from './crud.classes.js';
export { CrudController } from './crud.controller.js';
export { ApiCreateBody, ApiIdParam, ApiPaging, ApiSuccess, ApiUpdateBody } from './crud.documentation.js';
export { CrudModule, type CrudOverrides } from './crud.module.js';
export type {
  CrudAction,
  CrudHooks,
  CrudOptions,
  FieldOf,
  Presented,
  Stored,
} from './crud-options.interface.js';
export { type Changes, CrudResource, CrudService } from './crud.service.js';
export { CrudRoute, type CrudRouteOptions } from './crud-route.decorator.js';
export type { CrudStore, StoreChange, StoreFilter, StoreWindow } from './crud.store.js';
export { getCrudResourceToken, getCrudServiceToken, InjectCrud } from './crud.tokens.js';
export { etagOf } from './etag.js';
export { IdPipe } from './id.pipe.js';
export { streamJsonArray } from './json-array.stream.js';
export { prefersRepresentation } from './prefer.js';
export { Page } from './query/page.js';
export { type PageQuery, PageQueryPipe } from './query/page-query.js';

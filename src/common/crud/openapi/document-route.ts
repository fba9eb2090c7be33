import { RequestMethod, type Type } from '@nestjs/common';
import {
  ApiBody,
  ApiExtraModels,
  ApiOperation,
  ApiParam,
  ApiQuery,
  ApiResponse,
  ApiSecurity,
  getSchemaPath,
} from '@nestjs/swagger';
import { ApiProblems, ApiProblemsOf, type ErrorCode, LOAD_ERRORS } from '../../errors/index.js';
import { MERGE_PATCH_TYPE, NDJSON_TYPE } from '../../http/index.js';
import { type IsolationFields, isOpen, needsToken } from '../../tenancy/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { isClass } from '../definition/output.js';
import type { ResourceMetadata } from '../http/resource-metadata.js';
import { ARCHIVED_PARAMETER } from '../query/list-query.js';
import { ignoresBody, isBatch, isolationOfHandler, onceFieldsOf, type Route } from '../routes/routes.js';
import type { CrudClasses } from './create-classes.js';
import {
  ApiArchived,
  ApiCreateBody,
  ApiExpand,
  ApiIdempotencyKey,
  ApiIdParam,
  ApiIfMatch,
  ApiIfNoneMatch,
  ApiSuccess,
  ApiUpdateBody,
  BEARER,
  REPLAYED_HEADER,
} from './decorators.js';
import { documentBatch } from './document-batch.js';
import { documentedClass } from './documented-class.js';
import { ApiReading } from './query-parameters.js';

/** Everything that the OpenAPI document says about a route, as decorators of its handler. */
export function documentRoute(
  route: Route,
  resource: ResourceMetadata,
  classes: CrudClasses,
): MethodDecorator[] {
  const { definition } = resource;
  const isolation = isolationOfHandler(resource, route.handler);
  return [
    ApiOperation({ operationId: `${definition.name}_${route.handler}`, summary: route.summary(definition) }),
    ...documentPath(route, definition),
    ...documentQuery(route, definition),
    ...documentBody(route, classes),
    ...(isBatch(route) ? [documentBatch(route, resource, classes)] : []),
    ...documentConditions(route),
    ...documentAnswer(route, definition, classes),
    ApiProblemsOf(
      { label: definition.label, contentTypes: contentTypesOf(route) },
      ...problemsOf(route, definition, isolation),
    ),
    ...documentSecurity(definition, isolation),
  ];
}

/** Names the scheme by which callers are known, as far as it is known itself. */
export function documentSecurity({ security }: CrudDefinition, fields: IsolationFields): MethodDecorator[] {
  const scheme = security ?? (needsToken(fields) ? BEARER : undefined);
  return isOpen(fields) || scheme === undefined ? [] : [ApiSecurity(scheme)];
}

/** The content types of a route's body. */
function contentTypesOf({ body }: Route): readonly string[] {
  if (body === 'lines') return [NDJSON_TYPE];
  return body === 'update' ? [MERGE_PATCH_TYPE, 'application/json'] : ['application/json'];
}

function isPublic({ action }: Route, { isolation }: CrudDefinition): boolean {
  return action === undefined || isOpen(isolation[action]);
}

/** Whether a route takes `archived`, which requires a token even if the rest of the route is public. */
function takesArchived({ query, reads }: Route, { archive }: CrudDefinition): boolean {
  return archive !== undefined && (reads !== undefined || query.includes(ARCHIVED_PARAMETER));
}

function documentPath(route: Route, { path, label, parent }: CrudDefinition): MethodDecorator[] {
  const names = `${path}/${route.path}`.split('/').filter((segment) => segment.startsWith(':'));
  return names.map((segment) => {
    const name = segment.slice(1);
    if (name === 'id') return ApiIdParam(label);
    if (name === parent?.param) return ApiIdParam(parent.entity.name, name);
    return ApiParam({ name, schema: { type: 'string' } });
  });
}

function documentQuery(route: Route, definition: CrudDefinition): MethodDecorator[] {
  const archived = takesArchived(route, definition)
    ? [ApiArchived(isPublic(route, definition) ? (definition.security ?? BEARER) : undefined)]
    : [];
  const { expandable } = definition;
  const isExpandable = expandable.size > 0 && (route.reads === 'list' || route.reads === 'get');
  const expand = isExpandable ? [ApiExpand([...expandable.keys()])] : [];
  if (route.reads) return [ApiReading(route.reads, definition), ...expand, ...archived];
  const others = route.query.filter((name) => archived.length === 0 || name !== ARCHIVED_PARAMETER);
  const texts = others.map((name) => ApiQuery({ name, required: false, schema: { type: 'string' } }));
  return [...texts, ...archived];
}

function documentConditions(route: Route): MethodDecorator[] {
  const ifMatch = takesIfMatch(route) ? [ApiIfMatch()] : [];
  if (route.handler === 'get') return [ApiIfNoneMatch()];
  return takesKey(route) ? [ApiIdempotencyKey(), ...ifMatch] : ifMatch;
}

/**
 * Whether a route takes an `Idempotency-Key`. A stream is too long to compare with that of an earlier
 * request.
 */
function takesKey({ body, method }: Route): boolean {
  return method === RequestMethod.POST && body !== 'lines';
}

function takesIfMatch({ action, answer, path }: Route): boolean {
  return ((action === 'update' || action === 'del') && path === ':id') || answer === 'restore';
}

function documentBody({ body }: Route, classes: CrudClasses): MethodDecorator[] {
  if (body === undefined) return [];
  if (body === 'create') return [ApiCreateBody(classes.create)];
  if (body === 'update') return [ApiUpdateBody(classes.update)];
  return isClass(body) ? [ApiBody({ type: documentedClass(body), required: true })] : [];
}

function documentAnswer(route: Route, definition: CrudDefinition, classes: CrudClasses): MethodDecorator[] {
  const { answer, method, response, status } = route;
  if (answer === 'bulk' || answer === 'import') return [];
  if (answer !== 'own')
    return [
      ApiSuccess(answer, definition.path, {
        ...classes,
        once: onceFieldsOf(definition),
        unpaged: definition.list.unpaged,
        ndjson: true,
        hasCursors: true,
        status,
      }),
    ];
  const type: Type<object> =
    response && response !== definition.entity ? documentedClass(response) : classes.record;
  return [
    ApiExtraModels(type),
    ApiResponse({
      status,
      description: 'Done',
      headers: method === RequestMethod.POST ? REPLAYED_HEADER : undefined,
      content: { 'application/json': { schema: { $ref: getSchemaPath(type) } } },
    }),
  ];
}

function problemsOf(
  route: Route,
  definition: CrudDefinition,
  isolation: IsolationFields,
): (ErrorCode | number)[] {
  const { answer, body, errors } = route;
  const { path, schema, parent } = definition;
  const hasParams = `${path}/${route.path}`.includes(':');
  const codes: (ErrorCode | number)[] = ['VALIDATION_FAILED', ...errors];
  const readsBody = body !== undefined || ignoresBody(route);
  if (readsBody) codes.push('MALFORMED_REQUEST', 'UNSUPPORTED_MEDIA_TYPE');
  if (readsBody && body !== 'lines') codes.push('BODY_TOO_LARGE');
  const isRestore = answer === 'restore';
  const isWrite = (body !== undefined && !isBatch(route)) || isRestore;
  if (isWrite && hasUniqueIndex(schema)) codes.push('DUPLICATE_VALUE');
  if (body === 'update' && mayConflict(definition)) codes.push('WRITE_CONFLICT');
  if ((isRestore || answer === 'archive') && hasUpdateHook(definition)) codes.push('WRITE_CONFLICT');
  if (route.reads === 'list' || route.reads === 'count') codes.push('QUERY_TOO_SLOW');
  if (takesKey(route)) codes.push('IDEMPOTENCY_KEY_IN_USE', 'IDEMPOTENCY_KEY_REUSED');
  if (hasParams) codes.push('INVALID_ID', 'URI_TOO_LONG');
  if (parent && !isBatch(route)) codes.push('RECORD_NOT_FOUND');
  if (takesIfMatch(route)) codes.push('PRECONDITION_FAILED');
  const { archive } = definition;
  const asked =
    archive && takesArchived(route, definition) ? [isolation, archive.isolation.get] : [isolation];
  if (!asked.every(isOpen)) codes.push('UNAUTHENTICATED');
  if (asked.some(needsToken)) {
    codes.push('INVALID_TOKEN', 'INSUFFICIENT_SCOPE', 'TENANT_REQUIRED', 'AUTHENTICATION_UNAVAILABLE');
  }
  return [
    ...new Set<ErrorCode | number>([
      ...codes,
      ...LOAD_ERRORS,
      'DATABASE_UNAVAILABLE',
      'INDEX_UNAVAILABLE',
      'INTERNAL_ERROR',
    ]),
  ];
}

/** Whether an update depends on the current state of the record, because of a hook or a merge. */
function mayConflict(definition: CrudDefinition): boolean {
  const { fields } = definition.updateReader;
  return (
    hasUpdateHook(definition) || fields.some(({ kind, list }) => !list && ['nested', 'other'].includes(kind))
  );
}

function hasUpdateHook({ hooks }: CrudDefinition): boolean {
  return typeof hooks === 'function' ? 'beforeUpdate' in hooks.prototype : 'beforeUpdate' in hooks;
}

function hasUniqueIndex(schema: CrudDefinition['schema']): boolean {
  return schema.indexes().some(([, options]) => options.unique === true);
}

/** Documents that a delete may be rejected, which is known only once every resource is. */
export function documentRestriction(controller: Type<object>): void {
  const descriptor = Object.getOwnPropertyDescriptor(controller.prototype, 'del') as
    TypedPropertyDescriptor<never> | undefined;
  const inherited = (controller.prototype as Partial<Record<string, never>>).del;
  const method = descriptor ?? (inherited === undefined ? undefined : { value: inherited });
  if (method) ApiProblems('STILL_REFERENCED')(controller.prototype as object, 'del', method);
}

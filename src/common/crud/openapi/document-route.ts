import { applyDecorators, RequestMethod, type Type } from '@nestjs/common';
import {
  ApiBody,
  ApiConsumes,
  ApiExcludeEndpoint,
  ApiExtraModels,
  ApiOperation,
  ApiResponse,
  type ApiResponseOptions,
  ApiSecurity,
  type ParameterObject,
  type SecurityRequirementObject,
} from '@nestjs/swagger';
import { ApiProblems, ApiProblemsOf, type ErrorCode, LOAD_ERRORS } from '../../errors/index.js';
import { MERGE_PATCH_TYPE, NDJSON_TYPE } from '../../http/index.js';
import { type IsolationFields, isOpen, needsToken } from '../../tenancy/index.js';
import { CrudDefinition } from '../definition/crud-definition.js';
import { hasHook } from '../definition/check-fields.js';
import { fieldsOf, isClass, jsonSchemaOf } from '../../fields/index.js';
import type { AnyCrudOptions, CrudHandler } from '../options/crud-options.js';
import {
  returnsRecord,
  type ControllerMetadata,
  generatedRoutesOf,
  ignoresBody,
  inputOf,
  isBatch,
  isolationOfHandler,
  type Route,
  Shape,
  takesIfMatch,
  takesInput,
} from '../routes/routes.js';
import { type CrudClasses, createClasses } from './create-classes.js';
import {
  documentParameter,
  headerParameter,
  idParameter,
  ofField,
  queryBody,
  readParameters,
} from './parameters.js';
import { type Exchange, exchangeOf, headersOf, NOT_MODIFIED, takesKey } from './responses.js';
import { documentedClass, modelsOf, refTo, schemaClass } from './schema-class.js';

/** Everything that the OpenAPI document says about a route, as decorators of its handler. */
export function documentRoute(
  route: Route,
  resource: ControllerMetadata,
  classes: CrudClasses,
): MethodDecorator[] {
  const { definition } = resource;
  // OpenAPI before 3.2 has no such operation.
  if (RequestMethod[route.method] === 'QUERY') return [ApiExcludeEndpoint()];
  const isolation = isolationOfHandler(resource, route.handler);
  const parameters = [
    ...pathParameters(route, definition),
    ...queryParameters(route, definition),
    ...headerParameters(route, definition),
  ];
  const security = [...securityOfArchive(route, definition), ...securityOf(definition, isolation)];
  const contentTypes = contentTypesOf(route);
  const input = bodyOf(route, definition, classes);
  const { body = input.body, models, response } = exchangeOf(route, resource, classes);
  const headers = { ...response.headers, ...headersOf(route, definition) };
  return [
    ApiOperation({ operationId: `${definition.name}_${route.handler}`, summary: route.summary(definition) }),
    ...parameters.map(documentParameter),
    ...security.map((requirement) => ApiSecurity(requirement)),
    ApiExtraModels(...[...input.models, ...models].flatMap(modelsOf)),
    ...(body ? [ApiConsumes(...contentTypes.toSorted()), ApiBody({ required: true, ...body })] : []),
    ...(takesIfNoneMatch(route, definition) ? [ApiResponse(NOT_MODIFIED)] : []),
    ApiResponse({ ...response, headers, status: route.status } as ApiResponseOptions),
    ApiProblemsOf({ label: definition.label, contentTypes }, ...problemsOf(route, definition, isolation)),
  ];
}

/**
 * Documents handlers of a controller of your own as the generated ones of a resource:
 *
 * ```ts
 * const Documented = documentationOf(todos);
 * …
 * @Documented('update') @Patch(':id') update() { … }
 * ```
 */
export function documentationOf(options: AnyCrudOptions): (handler: CrudHandler) => MethodDecorator {
  const definition = new CrudDefinition(options);
  const classes = createClasses(definition);
  const routes = new Map(generatedRoutesOf(definition).map((route) => [route.handler, route]));
  return (handler) =>
    applyDecorators(...documentRoute(routes.get(handler) as Route, { definition, routes }, classes));
}

/** Names the scheme by which callers are known, as far as it is known itself. */
export function documentSecurity(definition: CrudDefinition, fields: IsolationFields): MethodDecorator[] {
  return securityOf(definition, fields).map((requirement) => ApiSecurity(requirement));
}

/** Name of the security scheme of tokens, as Nest's `addBearerAuth` calls it. */
const BEARER = 'bearer';

function securityOf({ security }: CrudDefinition, fields: IsolationFields): SecurityRequirementObject[] {
  const scheme = security ?? (needsToken(fields) ? BEARER : undefined);
  return isOpen(fields) || scheme === undefined ? [] : [{ [scheme]: [] }];
}

/** A route that everybody may use, but for archived records, takes a token or none. */
function securityOfArchive(route: Route, definition: CrudDefinition): SecurityRequirementObject[] {
  const { isolation, security = BEARER } = definition;
  const isPublic = route.action === undefined || isOpen(isolation[route.action]);
  return takesArchived(route, definition) && isPublic ? [{}, { [security]: [] }] : [];
}

/** The content types of a route's body. */
function contentTypesOf({ body, consumes, method }: Route): readonly string[] {
  if (consumes !== undefined) return [consumes];
  if (body === 'lines') return [NDJSON_TYPE];
  const isPatch = body === 'update' || (body instanceof Shape && method === RequestMethod.PATCH);
  return isPatch ? [MERGE_PATCH_TYPE, 'application/json'] : ['application/json'];
}

/** Whether a route takes `archived`, which requires a token even if the rest of the route is public. */
function takesArchived({ reads }: Route, { archive }: CrudDefinition): boolean {
  return archive !== undefined && reads !== undefined;
}

function pathParameters(route: Route, { path, label, parent }: CrudDefinition): ParameterObject[] {
  const names = `${path}/${route.path}`.split('/').filter((segment) => segment.startsWith(':'));
  return names.map((segment) => {
    const name = segment.slice(1);
    if (name === 'id') return idParameter(label);
    if (name === parent?.param) return idParameter(parent.entity.name, name);
    return { name, in: 'path', required: true, schema: { type: 'string' } };
  });
}

function queryParameters({ body, query, reads }: Route, definition: CrudDefinition): ParameterObject[] {
  if (body === 'query') return [];
  if (reads) return readParameters(reads, definition);
  return query ? fieldsOf(query).map((field) => ofField(field, 'query')) : [];
}

function headerParameters(route: Route, definition: CrudDefinition): ParameterObject[] {
  const isInput = route.body === 'create' || route.body === 'update';
  return [
    ...(isInput ? [headerParameter('Prefer')] : []),
    ...(route.headers ? fieldsOf(route.headers).map((field) => ofField(field, 'header')) : []),
    ...(takesIfNoneMatch(route, definition) ? [headerParameter('If-None-Match')] : []),
    ...(takesKey(route) ? [headerParameter('Idempotency-Key')] : []),
    ...(takesIfMatch(route, definition) ? [headerParameter('If-Match')] : []),
  ];
}

/** Whether a route returns one record that the client may have already. */
function takesIfNoneMatch(route: Route, definition: CrudDefinition): boolean {
  return route.kind === 'get' || (route.method === RequestMethod.GET && returnsRecord(route, definition));
}

function bodyOf(
  route: Route,
  definition: CrudDefinition,
  classes: CrudClasses,
): Pick<Exchange, 'body' | 'models'> {
  const { body, consumes } = route;
  if (consumes !== undefined) return { models: [], body: { schema: {} } };
  if (body === 'query') return { models: [classes.where], body: queryBody(definition, classes.where) };
  const type = bodyClassOf(route, definition, classes);
  if (!type) return { models: [] };
  const isPatch = body === 'update' || body instanceof Shape;
  return {
    models: [type],
    body: { schema: refTo(type), ...(isPatch && { description: PATCH_DESCRIPTION }) },
  };
}

const PATCH_DESCRIPTION =
  'JSON Merge Patch (RFC 7396): only the supplied fields change; null removes an optional one.';

function bodyClassOf(route: Route, definition: CrudDefinition, classes: CrudClasses) {
  const { body } = route;
  const input = inputOf(definition, route);
  if (input && (definition.kinds || !isClass(body))) return classes[input];
  if (body instanceof Shape)
    return schemaClass(`${body.type.name}Patch`, jsonSchemaOf(body.type, { partial: true }));
  return isClass(body) ? documentedClass(body) : undefined;
}

function problemsOf(
  route: Route,
  definition: CrudDefinition,
  isolation: IsolationFields,
): (ErrorCode | number)[] {
  const { kind, body, errors } = route;
  const { archivedIsolation, path, schema, parent } = definition;
  const readsBody = body !== undefined || route.consumes !== undefined || ignoresBody(route);
  const isSearch = route.reads === 'list' || route.reads === 'count';
  const isRestore = kind === 'restore';
  const isWrite = (body !== undefined && !isBatch(route) && !route.reads) || isRestore;
  const mayConflict =
    (body === 'update' && dependsOnRecord(definition)) ||
    ((isRestore || kind === 'archive') && hasHook(definition, 'beforeUpdate')) ||
    (kind === 'del' && definition.events !== undefined);
  const scopes = takesArchived(route, definition) ? [isolation, archivedIsolation.get] : [isolation];
  // The router gives every parameter a value.
  const mayLackValue = scopes.some((fields) =>
    Object.values(fields).some(({ param }) => param === undefined),
  );
  const when = (condition: boolean | undefined, ...codes: ErrorCode[]) => (condition ? codes : []);
  const codes: (ErrorCode | number)[] = [
    'VALIDATION_FAILED',
    ...errors,
    ...when(readsBody, 'MALFORMED_REQUEST', 'UNSUPPORTED_MEDIA_TYPE'),
    ...when(readsBody && body !== 'lines', 'BODY_TOO_LARGE'),
    ...when(isWrite && schema.indexes().some(([, index]) => index.unique), 'DUPLICATE_VALUE'),
    ...when(takesInput(definition, route) && definition.fieldRules.size > 0, 'FORBIDDEN_FIELD'),
    ...when(mayConflict, 'WRITE_CONFLICT'),
    ...when(isSearch, 'QUERY_TOO_SLOW'),
    ...when(isSearch && definition.query.isReferring, 'QUERY_TOO_BROAD'),
    ...when(takesKey(route), 'IDEMPOTENCY_KEY_IN_USE', 'IDEMPOTENCY_KEY_REUSED'),
    ...when(`${path}/${route.path}`.includes(':'), 'INVALID_ID', 'URI_TOO_LONG'),
    ...when(parent && !isBatch(route), 'RECORD_NOT_FOUND'),
    ...when(takesIfMatch(route, definition), 'PRECONDITION_FAILED'),
    ...when(mayLackValue, 'UNAUTHENTICATED'),
    ...when(
      scopes.some(needsToken),
      'INVALID_TOKEN',
      'INSUFFICIENT_SCOPE',
      'TENANT_REQUIRED',
      'AUTHENTICATION_UNAVAILABLE',
    ),
    ...LOAD_ERRORS,
    'DATABASE_UNAVAILABLE',
    'INDEX_UNAVAILABLE',
    'INTERNAL_ERROR',
  ];
  return [...new Set(codes)];
}

/** Whether an update depends on the current state of the record, because of a hook or a merge. */
function dependsOnRecord(definition: CrudDefinition): boolean {
  const { fields } = definition.updateReader;
  return (
    hasHook(definition, 'beforeUpdate') ||
    definition.kinds !== undefined ||
    fields.some(({ kind, list }) => !list && ['nested', 'other'].includes(kind))
  );
}

/** Documents that a delete may be rejected, which is known only once every resource is. */
export function documentRestriction({ prototype }: Type<object>): void {
  const method = Object.getOwnPropertyDescriptor(prototype, 'del') as
    TypedPropertyDescriptor<never> | undefined;
  if (method) ApiProblems('STILL_REFERENCED')(prototype as object, 'del', method);
}

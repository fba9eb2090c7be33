import { applyDecorators, type Type } from '@nestjs/common';
import {
  ApiBody,
  ApiConsumes,
  ApiExtraModels,
  ApiHeader,
  ApiOperation,
  ApiParam,
  ApiQuery,
  ApiResponse,
  type ApiResponseOptions,
  ApiSecurity,
  type ParameterObject,
  type ResponseObject,
  type SchemaObject,
  type SecurityRequirementObject,
} from '@nestjs/swagger';
import { MERGE_PATCH_TYPE } from '../../http/index.js';
import { PAGE_LIMITS, type Paging } from '../query/read-query.js';
import {
  fieldsParameter,
  idParameter,
  IDEMPOTENCY_KEY,
  IF_MATCH,
  IF_NONE_MATCH,
  pagingParameters,
  PREFER,
} from './parameters.js';
import { type AnswerClasses, NOT_MODIFIED, type SuccessKind, successOf } from './responses.js';
import { refTo } from './schema-class.js';

/** Everything that the document says about a route, in the terms of OpenAPI 3.0. */
export interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly parameters?: readonly ParameterObject[];
  readonly body?: {
    /** Its content types. @default ['application/json'] */
    readonly types?: readonly string[];
    readonly schema: object;
    readonly description?: string;
  };
  /** The responses, by status. */
  readonly responses?: Readonly<Record<number, ResponseObject>>;
  readonly security?: readonly SecurityRequirementObject[];
  /** The classes whose schemas the operation refers to. */
  readonly models?: readonly Type<unknown>[];
}

/** Has Nest's document say this about a handler. What several decorators say of one handler adds up. */
export function documented(operation: Operation): MethodDecorator {
  const {
    operationId,
    summary,
    parameters = [],
    body,
    responses = {},
    security = [],
    models = [],
  } = operation;
  return applyDecorators(
    ...(operationId === undefined ? [] : [ApiOperation({ operationId, summary })]),
    ApiExtraModels(...(models as Type<unknown>[])),
    ...parameters.map(parameterDecorator),
    ...(body?.types ? [ApiConsumes(...body.types)] : []),
    ...(body ? [ApiBody({ required: true, schema: body.schema, description: body.description })] : []),
    ...Object.entries(responses).map(([status, response]) =>
      ApiResponse({ ...response, status: Number(status) } as ApiResponseOptions),
    ),
    ...security.map((requirement) => ApiSecurity(requirement)),
  );
}

function parameterDecorator({ in: place, ...parameter }: ParameterObject): MethodDecorator {
  const { schema, ...options } = parameter;
  if (place === 'header') return ApiHeader(parameter);
  const decorator = place === 'path' ? ApiParam : ApiQuery;
  return decorator({ ...options, schema: schema as SchemaObject });
}

/** Documents an identifier in the path. */
export function ApiIdParam(label: string, name = 'id'): MethodDecorator {
  return documented({ parameters: [idParameter(label, name)] });
}

/** Documents `offset` and `limit`. */
export function ApiPaging(
  paging: Paging = { unpaged: true, maxLimit: PAGE_LIMITS.limit.maximum },
): MethodDecorator {
  return documented({ parameters: pagingParameters(paging) });
}

/** Documents `fields`. */
export function ApiFields(names: readonly string[]): MethodDecorator {
  return documented({ parameters: [fieldsParameter(names)] });
}

/** Documents `If-Match`. */
export function ApiIfMatch(): MethodDecorator {
  return documented({ parameters: [IF_MATCH] });
}

/** Documents `If-None-Match` and its response. */
export function ApiIfNoneMatch(): MethodDecorator {
  return documented({ parameters: [IF_NONE_MATCH], responses: NOT_MODIFIED });
}

/** Documents the `Idempotency-Key` header of a POST. */
export function ApiIdempotencyKey(): MethodDecorator {
  return documented({ parameters: [IDEMPOTENCY_KEY] });
}

/** Documents the body of a create and its `Prefer` header. */
export function ApiCreateBody(type: Type<unknown>): MethodDecorator {
  return documented({ body: createBody(type), parameters: [PREFER], models: [type] });
}

/** Documents the body of an update, in both of its content types, and its `Prefer` header. */
export function ApiUpdateBody(type: Type<unknown>): MethodDecorator {
  return documented({ body: updateBody(type), parameters: [PREFER], models: [type] });
}

export function createBody(type: Type<unknown>): Operation['body'] {
  return { schema: refTo(type) };
}

export function updateBody(type: Type<unknown>): Operation['body'] {
  return {
    types: ['application/json', MERGE_PATCH_TYPE],
    schema: refTo(type),
    description:
      'JSON Merge Patch (RFC 7396): only the supplied fields change; null removes an optional one.',
  };
}

/** Documents the successful response of a handler. */
export function ApiSuccess(answer: SuccessKind, path: string, classes: AnswerClasses): MethodDecorator {
  return documented(successOf(answer, path, classes));
}

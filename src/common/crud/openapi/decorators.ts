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
import { modelsOf } from './schema-class.js';

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
  /** Headers of each of them, besides its own. */
  readonly headers?: ResponseObject['headers'];
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
    headers,
    security = [],
    models = [],
  } = operation;
  return applyDecorators(
    ...(operationId === undefined ? [] : [ApiOperation({ operationId, summary })]),
    ApiExtraModels(...models.flatMap(modelsOf)),
    ...parameters.map(parameterDecorator),
    ...(body?.types ? [ApiConsumes(...body.types)] : []),
    ...(body ? [ApiBody({ required: true, schema: body.schema, description: body.description })] : []),
    ...Object.entries(responses).map(([code, response]) => {
      const status = Number(code);
      return ApiResponse({
        ...response,
        status,
        headers: { ...response.headers, ...headers },
      } as ApiResponseOptions);
    }),
    ...security.map((requirement) => ApiSecurity(requirement)),
  );
}

function parameterDecorator({ in: place, ...parameter }: ParameterObject): MethodDecorator {
  const { schema, ...options } = parameter;
  if (place === 'header') return ApiHeader(parameter);
  const decorator = place === 'path' ? ApiParam : ApiQuery;
  return decorator({ ...options, schema: schema as SchemaObject });
}

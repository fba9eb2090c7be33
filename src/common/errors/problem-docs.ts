import { STATUS_CODES } from 'node:http';
import { applyDecorators, HttpException } from '@nestjs/common';
import {
  ApiExtraModels,
  ApiProperty,
  ApiPropertyOptional,
  ApiResponse,
  getSchemaPath,
} from '@nestjs/swagger';
import { ERROR_TABLE, type ErrorCode, errorMessages } from './error-messages.js';
import * as errors from './errors.js';
import type { ProblemCode, Violation } from './errors.js';
import { featureError, PROBLEM_CONTENT_TYPE, toProblem } from './problems.js';

/** One violation of a request, as the explorer shows it. */
class ProblemViolation {
  @ApiPropertyOptional({ description: 'JSON Pointer (RFC 6901) to the fault in the body', example: '/title' })
  pointer?: string;

  @ApiPropertyOptional({ description: 'Name of the query or path parameter at fault', example: 'limit' })
  parameter?: string;

  @ApiProperty({ description: 'What is wrong and what would be right' })
  detail!: string;
}

/** The body of every error: the members of RFC 9457, section 3.1, and four additional ones (section 3.2). */
export class ProblemBody {
  @ApiProperty({ format: 'uri', example: 'urn:problem:validation-failed' })
  type!: string;

  @ApiProperty({ example: 'Validation failed' })
  title!: string;

  @ApiProperty({ type: 'integer', example: 400 })
  status!: number;

  @ApiProperty({ description: 'What went wrong and what to do' })
  detail!: string;

  @ApiProperty({ description: 'Path of the request' })
  instance!: string;

  @ApiProperty({
    description:
      'Stable word for programs. The service has ' +
      `${Object.keys(ERROR_TABLE).join(', ')}; a resource may have others of its own.`,
    pattern: '^[A-Z][A-Z0-9_]*$',
    example: 'VALIDATION_FAILED',
    type: String,
  })
  code!: ProblemCode;

  @ApiProperty({ description: 'The same text as `detail`' })
  message!: string;

  @ApiProperty({ description: 'Identifies the request in the log' })
  requestId!: string;

  @ApiPropertyOptional({ type: [ProblemViolation] })
  errors?: readonly Violation[];
}
export type Problem = ProblemBody;

/** The result of a line of a stream, if it is an error. */
export class LineProblemBody extends ProblemBody {
  @ApiProperty({ type: 'integer', minimum: 1, description: 'Number of the line, from 1', example: 1 })
  line!: number;
}

/** Reference to the schema of every error body. */
export const PROBLEM_SCHEMA = { $ref: getSchemaPath(ProblemBody) };

/** Errors of every handler whose requests are rejected under load. */
export const LOAD_ERRORS = [
  'TOO_MANY_REQUESTS',
  'OVERLOADED',
  'DEADLINE_EXCEEDED',
] as const satisfies readonly ErrorCode[];

const header = (description: string) => ({ description, schema: { type: 'string' as const } });
const RETRY_AFTER = { 'Retry-After': header('When to try again. Unit: seconds') };

/** Headers that accompany a status. */
const HEADERS: Readonly<Record<number, Record<string, ReturnType<typeof header>>>> = {
  401: { 'WWW-Authenticate': header('How to authenticate (RFC 6750)') },
  409: { 'Retry-After': header('Of a request in flight: when to try again. Unit: seconds') },
  429: RETRY_AFTER,
  503: RETRY_AFTER,
};

/**
 * Documents the errors of a handler, one response per status, with an example of each. A number is the status
 * of one of your own exceptions, such as 402 for a `PaymentRequired`.
 */
export function ApiProblems(...problems: (ErrorCode | number)[]): MethodDecorator {
  return ApiProblemsOf({}, ...problems);
}

/** The same, with examples that name a resource. */
export function ApiProblemsOf(context: ExampleContext, ...problems: (ErrorCode | number)[]): MethodDecorator {
  const all = problems.map((problem) => problemExample(problem, context));
  const statuses = [...new Set(all.map(({ status }) => status))].sort();
  return applyDecorators(
    ApiExtraModels(ProblemBody),
    ...statuses.map((status) => {
      const same = all.filter((problem) => problem.status === status);
      const examples = Object.fromEntries(same.map((value) => [value.code, { summary: value.title, value }]));
      return ApiResponse({
        status,
        description: [...new Set(same.map(({ title }) => title))].join(', or '),
        headers: HEADERS[status],
        content: { [PROBLEM_CONTENT_TYPE]: { schema: PROBLEM_SCHEMA, examples } },
      });
    }),
  );
}

/** Route details for its examples. */
export interface ExampleContext {
  /** Name of the record for clients. @default "Record" */
  label?: string;
  /** The content types of the body. @default JSON */
  contentTypes?: readonly string[];
}

const REQUEST_ID = '4b5a9a5e-0d0c-4f0e-9a53-4c1f6d1f2b7e';

type Example = (context: Required<ExampleContext>) => errors.DomainError;

/** A realistic error of each code whose message or whose violations name parts of the request. */
const EXAMPLES: Readonly<Partial<Record<ErrorCode, Example>>> = {
  MALFORMED_REQUEST: () => new errors.MalformedRequestError(errorMessages.malformedJson),
  VALIDATION_FAILED: () =>
    new errors.ValidationError([
      { parameter: 'colour', detail: errorMessages.unknownParameter('colour', []) },
    ]),
  INVALID_ID: () => new errors.InvalidIdError('id'),
  INSUFFICIENT_SCOPE: () => new errors.InsufficientScopeError('posts'),
  TENANT_REQUIRED: () => new errors.TenantRequiredError('tenant'),
  CLAIM_REQUIRED: () => new errors.ClaimRequiredError('sub'),
  FORBIDDEN_FIELD: () =>
    new errors.ForbiddenFieldError([{ pointer: '/salary', detail: errorMessages.forbiddenField('salary') }]),
  RECORD_NOT_FOUND: ({ label }) => new errors.RecordNotFoundError(label),
  METHOD_NOT_ALLOWED: () => new errors.MethodNotAllowedError('DELETE', ['GET', 'HEAD', 'POST']),
  STILL_REFERENCED: ({ label }) => new errors.StillReferencedError(label.toLowerCase(), 'other records'),
  DUPLICATE_VALUE: () => new errors.DuplicateValueError(['name']),
  TOO_MANY_SUBSCRIPTIONS: () => new errors.TooManySubscriptionsError(100),
  BODY_TOO_LARGE: () => new errors.BodyTooLargeError(1_048_576),
  UNSUPPORTED_MEDIA_TYPE: ({ contentTypes }) => new errors.UnsupportedMediaTypeError(contentTypes),
  TOO_MANY_REQUESTS: () => new errors.TooManyRequestsError('tenant', 30),
  TOO_MANY_STREAMS: () => new errors.TooManyStreamsError('events', 10),
  QUERY_TOO_BROAD: () => new errors.QueryTooBroadError('category.name', 1_000),
};

/** The body of an error as an example in the document, which fills in its `instance`. */
function problemExample(
  problem: ErrorCode | number,
  { label = 'Record', contentTypes = ['application/json'] }: ExampleContext,
): Problem {
  const error =
    typeof problem === 'number'
      ? featureError(new HttpException(STATUS_CODES[problem] ?? 'Error', problem))
      : (EXAMPLES[problem]?.({ label, contentTypes }) ?? new errors.DomainError(problem));
  return toProblem(error, { path: '', id: REQUEST_ID });
}

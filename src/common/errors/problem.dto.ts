import { applyDecorators } from '@nestjs/common';
import {
  ApiExtraModels,
  ApiProperty,
  ApiPropertyOptional,
  ApiResponse,
  getSchemaPath,
} from '@nestjs/swagger';
import { PROBLEM_CONTENT_TYPE } from './domain.error.js';
import { ERROR_TABLE, type ErrorCode } from './error-messages.js';
import { type ExampleContext, nameOfProblem, problemExample } from './problem-examples.js';

/** One fault of a request, as the explorer shows it. */
class ProblemViolation {
  @ApiPropertyOptional({ description: 'JSON Pointer (RFC 6901) to the fault in the body', example: '/title' })
  pointer?: string;

  @ApiPropertyOptional({ description: 'Name of the query or path parameter at fault', example: 'limit' })
  parameter?: string;

  @ApiProperty({ description: 'What is wrong and what would be right' })
  detail!: string;
}

/** The body of every error, as the explorer shows it. */
class ProblemBody {
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
  })
  code!: string;

  @ApiProperty({ description: 'The same text as `detail`' })
  message!: string;

  @ApiProperty({ description: 'Identifies the request in the log' })
  requestId!: string;

  @ApiPropertyOptional({ type: [ProblemViolation] })
  errors?: ProblemViolation[];
}

/** The result of a line of a stream, if it is an error. */
class LineProblemBody extends ProblemBody {
  @ApiProperty({ type: 'integer', minimum: 1, description: 'Number of the line, from 1', example: 1 })
  line!: number;
}

/** The class and schema of the error of a line. */
export const LINE_PROBLEM = LineProblemBody;

/** Reference to the schema of every error body. */
export const PROBLEM_SCHEMA = { $ref: getSchemaPath(ProblemBody) };

/** Errors of every handler whose requests are rejected under load. */
export const LOAD_ERRORS = [
  'TOO_MANY_REQUESTS',
  'OVERLOADED',
  'DEADLINE_EXCEEDED',
] as const satisfies readonly ErrorCode[];

/** Headers that accompany a status. */
const PROBLEM_HEADERS: Readonly<
  Record<number, Record<string, { description: string; schema: { type: 'string' } }>>
> = {
  401: { 'WWW-Authenticate': { description: 'How to authenticate (RFC 6750)', schema: { type: 'string' } } },
  409: {
    'Retry-After': {
      description: 'Of a request in flight: when to try again. Unit: seconds',
      schema: { type: 'string' },
    },
  },
  429: { 'Retry-After': { description: 'When to try again. Unit: seconds', schema: { type: 'string' } } },
  503: { 'Retry-After': { description: 'When to try again. Unit: seconds', schema: { type: 'string' } } },
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
  const rows = problems.map((problem) => ({
    ...nameOfProblem(problem),
    value: problemExample(problem, context),
  }));
  const statuses = [...new Set(rows.map(({ status }) => status))].sort();
  return applyDecorators(
    ApiExtraModels(ProblemBody),
    ...statuses.map((status) => {
      const same = rows.filter((row) => row.status === status);
      const examples = Object.fromEntries(
        same.map(({ name, title, value }) => [name, { summary: title, value }]),
      );
      return ApiResponse({
        status,
        description: [...new Set(same.map(({ title }) => title))].join(', or '),
        headers: PROBLEM_HEADERS[status],
        content: { [PROBLEM_CONTENT_TYPE]: { schema: PROBLEM_SCHEMA, examples } },
      });
    }),
  );
}

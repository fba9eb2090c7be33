import { applyDecorators } from '@nestjs/common';
import {
  ApiExtraModels,
  ApiProperty,
  ApiPropertyOptional,
  ApiResponse,
  getSchemaPath,
} from '@nestjs/swagger';
import { ERROR_TABLE, type ErrorCode } from './error-messages.js';
import { PROBLEM_CONTENT_TYPE } from './problem.js';

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
    description: 'Stable word for programs',
    enum: Object.keys(ERROR_TABLE),
    enumName: 'ErrorCode',
  })
  code!: string;

  @ApiProperty({ description: 'The same text as `detail`' })
  message!: string;

  @ApiProperty({ description: 'Identifies the request in the log' })
  requestId!: string;

  @ApiPropertyOptional({ type: [ProblemViolation] })
  errors?: ProblemViolation[];
}

/** Headers that go with a status. */
const PROBLEM_HEADERS: Readonly<
  Record<number, Record<string, { description: string; schema: { type: 'string' } }>>
> = {
  401: { 'WWW-Authenticate': { description: 'How to authenticate (RFC 6750)', schema: { type: 'string' } } },
  503: { 'Retry-After': { description: 'When to try again. Unit: seconds', schema: { type: 'string' } } },
};

/** Documents the errors that a handler answers with, one response a status. */
export function ApiProblems(...codes: ErrorCode[]): MethodDecorator {
  const statuses = [...new Set(codes.map((code) => ERROR_TABLE[code].status))].sort();
  return applyDecorators(
    ApiExtraModels(ProblemBody),
    ...statuses.map((status) => {
      const titles = codes
        .filter((code) => ERROR_TABLE[code].status === status)
        .map((code) => ERROR_TABLE[code].title);
      return ApiResponse({
        status,
        description: titles.join(', or '),
        headers: PROBLEM_HEADERS[status],
        content: { [PROBLEM_CONTENT_TYPE]: { schema: { $ref: getSchemaPath(ProblemBody) } } },
      });
    }),
  );
}

import { ERROR_TABLE, type ErrorCode, type Violation } from '../../src/common/errors/index.js';
import type { TestResponse } from './test-app.js';

/** What a test says of an error; everything else in its body follows from it. */
export interface ExpectedProblem {
  status: number;
  /** A row of the error table, or the word of an exception of a feature's own, which then has a title, too. */
  code: ErrorCode | (string & {});
  /** @default that of the error table */
  title?: string;
  detail: string;
  instance: string;
  errors?: Violation[];
}

/** Asserts a whole error response: status, content type, and every member of the problem (RFC 9457). */
export function expectProblem(response: TestResponse, { errors, ...expected }: ExpectedProblem): void {
  const title = expected.title ?? titleOf(expected.code);
  expect(response.body).toEqual({
    ...expected,
    type: `urn:problem:${expected.code.toLowerCase().replaceAll('_', '-')}`,
    title,
    message: expected.detail,
    requestId: response.headers.get('x-request-id'),
    ...(errors && { errors }),
  });
  expect(response.status).toBe(expected.status);
  expect(response.headers.get('content-type')).toBe('application/problem+json');
}

function titleOf(code: string): string {
  if (code in ERROR_TABLE) return ERROR_TABLE[code as ErrorCode].title;
  throw new Error(`The code "${code}" is not in the error table: give the title of the exception, too.`);
}

/** Asserts a validation error that has exactly these faults. */
export function expectInvalid(response: TestResponse, instance: string, ...errors: Violation[]): void {
  const found =
    errors.length === 1 ? 'The request is not valid' : `The request has ${errors.length} faults; the first`;
  const detail = `${found}: ${errors[0]?.detail}`;
  expectProblem(response, { status: 400, code: 'VALIDATION_FAILED', detail, instance, errors });
}

export function expectNotFound(response: TestResponse, instance: string, label: string): void {
  expectProblem(response, { status: 404, code: 'RECORD_NOT_FOUND', detail: `${label} not found`, instance });
}

export function expectInvalidId(response: TestResponse, instance: string, parameter = 'id'): void {
  const detail = 'The id must be 24 hexadecimal digits.';
  const errors = [{ parameter, detail }];
  expectProblem(response, { status: 400, code: 'INVALID_ID', detail, instance, errors });
}

export function expectUnauthenticated(response: TestResponse, instance: string): void {
  const detail = 'This operation needs a token: send "Authorization: Bearer <token>".';
  expectProblem(response, { status: 401, code: 'UNAUTHENTICATED', detail, instance });
  expect(response.headers.get('www-authenticate')).toBe('Bearer');
}

export function expectInvalidToken(response: TestResponse, instance: string): void {
  const detail = 'The token does not verify or has expired. Get a new one.';
  expectProblem(response, { status: 401, code: 'INVALID_TOKEN', detail, instance });
  expect(response.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
}

export function expectNoTenant(claim: string) {
  return (response: TestResponse, instance: string): void => {
    const detail = `The token must carry a tenant: claim "${claim}", 24 hexadecimal digits.`;
    expectProblem(response, { status: 403, code: 'TENANT_REQUIRED', detail, instance });
  };
}

export function expectNoPath(response: TestResponse, instance: string): void {
  const detail = 'There is no such path. Check it.';
  expectProblem(response, { status: 404, code: 'PATH_NOT_FOUND', detail, instance });
}

/** Asserts the 405 of a method that a path does not have; the answer to HEAD has no body. */
export function expectNoMethod(response: TestResponse, method: string, instance: string, allow: string) {
  const detail = `${method} is not possible on this path. Allowed: ${allow}.`;
  if (method === 'HEAD') expect([response.status, response.text]).toEqual([405, '']);
  else expectProblem(response, { status: 405, code: 'METHOD_NOT_ALLOWED', detail, instance });
  expect(response.headers.get('allow')).toBe(allow);
}

const MEMBERS = ['code', 'detail', 'instance', 'message', 'requestId', 'status', 'title', 'type'];
const LEAKS = /mongo|bson|cast|stack|node_modules|\.js\b|\.ts\b|fastify|\bnest\b/i;

/** Asserts a client error as problem+json (RFC 9457) that gives nothing of the inside away. */
export function expectClientError(response: TestResponse, ...statuses: number[]): void {
  expect(statuses).toContain(response.status);
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  const { errors: _, ...members } = response.body;
  expect(Object.keys(members).sort()).toEqual(MEMBERS);
  expect(members).toMatchObject({ status: response.status, message: members.detail });
  expect(members.detail.replace(/"[^"]*"/g, '')).not.toMatch(LEAKS);
  expect(response.text.length).toBeLessThan(20_000);
}

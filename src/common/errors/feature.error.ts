import { STATUS_CODES } from 'node:http';
import type { HttpException } from '@nestjs/common';
import { DomainError, type ProblemCode, type Violation } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** The stable word of an error, as in `code`. */
const CODE = /^[A-Z][A-Z0-9_]*$/;

/** Maximum number of messages in one response. */
const MAX_MESSAGES = 50;

/** How long a client should wait after a 503 that does not say so itself. Unit: seconds. */
const RETRY_AFTER_503 = 5;

/** A Nest exception that your own code threw. Clients see its status and text. */
export class FeatureError extends DomainError {
  readonly code: ProblemCode;
  override readonly errors: readonly Violation[] | undefined;
  override readonly headers: Readonly<Record<string, string>>;
  private readonly httpStatus: number;

  constructor(exception: HttpException) {
    const response = exception.getResponse();
    const status = exception.getStatus();
    const errors = messagesOf(response).map(toViolation);
    const [first] = errors;
    super(first ? errorMessages.validationFailed(errors.length, first.detail) : textOf(response, status), {
      cause: exception,
    });
    this.httpStatus = status;
    this.errors = first && errors;
    this.code = first && status === 400 ? 'VALIDATION_FAILED' : codeOf(exception);
    this.headers = headersOf(response, status);
  }

  override get status(): number {
    return this.httpStatus;
  }

  override get title(): string {
    return this.code === 'VALIDATION_FAILED' ? super.title : titleOf(this.httpStatus);
  }
}

/** A `ValidationPipe` lists all its faults in `message`; every other exception has one text. */
function messagesOf(response: string | object): string[] {
  const message: unknown = memberOf(response, 'message');
  return Array.isArray(message) ? message.slice(0, MAX_MESSAGES).map(String) : [];
}

/** An `Error` in place of a body is a cause, whose text may come from anywhere. */
function textOf(response: string | object, status: number): string {
  if (typeof response === 'string') return response || titleOf(status);
  const texts = [memberOf(response, 'detail'), memberOf(response, 'message')];
  return texts.find((text): text is string => typeof text === 'string' && text !== '') ?? titleOf(status);
}

function codeOf(exception: HttpException): ProblemCode {
  const named: unknown = memberOf(exception.getResponse(), 'code');
  if (typeof named === 'string' && CODE.test(named)) return named;
  const { name } = exception.constructor;
  const ofClass = name === 'HttpException' ? '' : toCode(name.replace(/(Exception|Error)$/, ''));
  return CODE.test(ofClass) ? ofClass : toCode(titleOf(exception.getStatus()));
}

/** "NotFound" and "Not Found" are NOT_FOUND, "I'm a Teapot" is IM_A_TEAPOT. */
function toCode(words: string): string {
  return words
    .replaceAll("'", '')
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, '_')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase();
}

function titleOf(status: number): string {
  return STATUS_CODES[status] ?? `Status ${status}`;
}

function headersOf(response: string | object, status: number): Record<string, string> {
  // RFC 9110, section 15.5.2: a 401 must say how to authenticate.
  if (status === 401) return { 'WWW-Authenticate': 'Bearer' };
  if (status !== 429 && status !== 503) return {};
  const said = Number(memberOf(response, 'retryAfter') ?? Number.NaN);
  if (said >= 0 && said < Infinity) return { 'Retry-After': String(Math.ceil(said)) };
  return status === 503 ? { 'Retry-After': String(RETRY_AFTER_503) } : {};
}

/** In JavaScript, an exception may have no body, whatever its type says. */
function memberOf(response: unknown, name: string): unknown {
  if (typeof response !== 'object' || response === null || response instanceof Error) return undefined;
  return (response as Record<string, unknown>)[name];
}

/**
 * The beginning of a class-validator message: parent names with dots, as Nest's ValidationPipe prepends them,
 * some words, and the field's name. `items.0.each value in tags must be a string` is about `items.0.tags`.
 */
const MESSAGE =
  /^((?:[\w$-]+\.)*)(?:each value in )?(?:nested )?(?:property )?(?:"([^"]+)"|([\w$-]+)) (?:must|should|is not)\b/;

/**
 * One message of a ValidationPipe as a fault of the field that it names, or of the whole body if it names
 * none.
 */
function toViolation(message: string): Violation {
  const [, parents = '', quoted, plain = ''] = MESSAGE.exec(message) ?? [];
  const segments = [...parents.split('.').filter(Boolean), ...((quoted ?? plain) ? [quoted ?? plain] : [])];
  // A custom sentence may begin with a capital: "You must accept the terms".
  const isPath = quoted !== undefined || !/^[A-Z]/.test(segments[0] ?? '');
  return { pointer: isPath ? toPointer(segments) : '', detail: message };
}

/**
 * The JSON Pointer to a part of a body (RFC 6901): `toPointer(['items', 0, 'name'])` is `/items/0/name`, and
 * an empty list points to the body itself. `~` and `/` in a name are escaped (section 3).
 */
export function toPointer(segments: readonly (string | number)[]): string {
  return segments
    .map((segment) => `/${String(segment).replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('');
}

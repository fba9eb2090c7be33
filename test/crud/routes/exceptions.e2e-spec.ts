import {
  BadGatewayException,
  BadRequestException,
  Body,
  ConflictException,
  Controller,
  ForbiddenException,
  Get,
  GoneException,
  HttpException,
  ImATeapotException,
  InternalServerErrorException,
  Module,
  NotFoundException,
  Param,
  ParseIntPipe,
  Post,
  ServiceUnavailableException,
  UnauthorizedException,
  UnprocessableEntityException,
  ValidationPipe,
} from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsEmail, IsInt, IsString, ValidateNested } from 'class-validator';
import { useResourceApp } from '../../support/resource-app.js';
import type { TestResponse } from '../../support/test-app.js';

class PaymentRequired extends HttpException {
  constructor() {
    super('Your plan has no more seats. Upgrade it.', 402);
  }
}

class QuotaExceededException extends HttpException {
  constructor(response: object) {
    super(response, 429);
  }
}

/** Whatever a feature may throw, by the path that throws it. */
const THROWN: Record<string, () => unknown> = {
  'bad-request': () => new BadRequestException('Send a date in the future.'),
  payment: () => new PaymentRequired(),
  'payment-bare': () => new HttpException('Pay first.', 402),
  forbidden: () => new ForbiddenException('Ask an owner to do this.'),
  'not-found': () => new NotFoundException('No such basket.'),
  'not-found-bare': () => new NotFoundException(),
  conflict: () => new ConflictException('The order was sent meanwhile.'),
  gone: () => new GoneException('The offer has ended.'),
  teapot: () => new ImATeapotException('Short and stout.'),
  unprocessable: () => new UnprocessableEntityException('The sum is not zero.'),
  unauthorized: () => new UnauthorizedException('Log in again.'),
  quota: () => new QuotaExceededException({ message: 'Slow down.', retryAfter: 29.2 }),
  'quota-bare': () => new QuotaExceededException({ message: 'Slow down.' }),
  unavailable: () => new ServiceUnavailableException('The printer is out of paper.'),
  'unavailable-for': () => new ServiceUnavailableException({ message: 'Come back.', retryAfter: 60 }),
  gateway: () => new BadGatewayException('The bank does not answer.'),
  internal: () => new InternalServerErrorException('The disk of the shop is full.'),
  coded: () => new HttpException({ code: 'OUT_OF_STOCK', message: 'Two are left.', left: 2 }, 409),
  'coded-lower': () => new ConflictException({ code: 'outOfStock', message: 'Two are left.' }),
  body: () => new HttpException({ left: 2 }, 409),
  bodyless: () => new HttpException(undefined as never, 410),
  'error-body': () => new ConflictException(new Error('mongodb://user:secret@db')),
  error: () => new Error('mongodb://user:secret@db'),
  text: () => 'secret',
  'http-error': () => Object.assign(new Error('secret'), { statusCode: 404, expose: true }),
  redirect: () => new HttpException('secret', 302),
};

class Part {
  @IsString() name!: string;
}

class Order {
  @IsEmail() email!: string;
  @IsInt({ each: true }) counts!: number[];
  @ValidateNested({ each: true }) @Type(() => Part) items!: Part[];
}

@ApiExcludeController()
@Controller('thrown')
class ThrowingController {
  @Get(':name')
  throwIt(@Param('name') name: string): never {
    throw THROWN[name]?.();
  }

  @Get('number/:id')
  number(@Param('id', ParseIntPipe) id: number): number {
    return id;
  }

  @Post('orders')
  order(@Body(new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true })) order: Order): Order {
    return order;
  }

  @Post('strict-orders')
  strict(@Body(new ValidationPipe({ errorHttpStatusCode: 422 })) order: Order): Order {
    return order;
  }

  @Get('sentences/of-its-own')
  sentences(): never {
    throw new BadRequestException(['You must accept the terms.', '"stock" must be a whole number.', 'No.']);
  }
}

@Module({ controllers: [ThrowingController] })
class ThrowingModule {}

const app = useResourceApp({ module: ThrowingModule });

/** Asserts a whole answer. */
function expectAnswer(
  response: TestResponse,
  path: string,
  [status, title, code, detail]: readonly [number, string, string, string],
  errors?: object[],
): void {
  expect(response.body).toEqual({
    type: `urn:problem:${code.toLowerCase().replaceAll('_', '-')}`,
    title,
    status,
    detail,
    instance: path,
    code,
    message: detail,
    requestId: response.headers.get('x-request-id'),
    ...(errors && { errors }),
  });
  expect(response.status).toBe(status);
  expect(response.headers.get('content-type')).toBe('application/problem+json');
}

describe("an exception of Nest's that a feature throws keeps its status and text", () => {
  it.each([
    ['bad-request', 400, 'Bad Request', 'BAD_REQUEST', 'Send a date in the future.'],
    ['payment', 402, 'Payment Required', 'PAYMENT_REQUIRED', 'Your plan has no more seats. Upgrade it.'],
    ['payment-bare', 402, 'Payment Required', 'PAYMENT_REQUIRED', 'Pay first.'],
    ['forbidden', 403, 'Forbidden', 'FORBIDDEN', 'Ask an owner to do this.'],
    ['not-found', 404, 'Not Found', 'NOT_FOUND', 'No such basket.'],
    ['not-found-bare', 404, 'Not Found', 'NOT_FOUND', 'Not Found'],
    ['conflict', 409, 'Conflict', 'CONFLICT', 'The order was sent meanwhile.'],
    ['gone', 410, 'Gone', 'GONE', 'The offer has ended.'],
    ['teapot', 418, "I'm a Teapot", 'IM_A_TEAPOT', 'Short and stout.'],
    ['unprocessable', 422, 'Unprocessable Entity', 'UNPROCESSABLE_ENTITY', 'The sum is not zero.'],
    ['unauthorized', 401, 'Unauthorized', 'UNAUTHORIZED', 'Log in again.'],
    ['quota', 429, 'Too Many Requests', 'QUOTA_EXCEEDED', 'Slow down.'],
    ['unavailable', 503, 'Service Unavailable', 'SERVICE_UNAVAILABLE', 'The printer is out of paper.'],
    ['gateway', 502, 'Bad Gateway', 'BAD_GATEWAY', 'The bank does not answer.'],
    ['internal', 500, 'Internal Server Error', 'INTERNAL_SERVER_ERROR', 'The disk of the shop is full.'],
    ['coded', 409, 'Conflict', 'OUT_OF_STOCK', 'Two are left.'],
    ['coded-lower', 409, 'Conflict', 'CONFLICT', 'Two are left.'],
    ['body', 409, 'Conflict', 'CONFLICT', 'Conflict'],
    ['error-body', 409, 'Conflict', 'CONFLICT', 'Conflict'],
    ['bodyless', 410, 'Gone', 'GONE', 'Gone'],
  ] as const)('%s: %i', async (name, status, title, code, detail) => {
    const answer = [status, title, code, detail] as const;
    expectAnswer(await app.get(`/thrown/${name}`), `/thrown/${name}`, answer);
  });

  it('a pipe refuses a parameter', async () => {
    const detail = 'Validation failed (numeric string is expected)';
    const answer = [400, 'Bad Request', 'BAD_REQUEST', detail] as const;
    expectAnswer(await app.get('/thrown/number/x'), '/thrown/number/x', answer);
  });

  it.each([
    ['quota', '30'],
    ['quota-bare', null],
    ['unavailable', '5'],
    ['unavailable-for', '60'],
    ['conflict', null],
  ])('%s says when to try again: %s', async (name, seconds) => {
    expect((await app.get(`/thrown/${name}`)).headers.get('retry-after')).toBe(seconds);
  });

  it('a 401 explains how to authenticate', async () => {
    expect((await app.get('/thrown/unauthorized')).headers.get('www-authenticate')).toBe('Bearer');
  });

  it('a 5xx is logged with its exception', async () => {
    await app.get('/thrown/internal', { headers: { 'X-Request-Id': 'a-full-disk' } });
    expect(app.logLines.filter((line) => line.requestId === 'a-full-disk' && line.level === 'error')).toEqual(
      [expect.objectContaining({ code: 'INTERNAL_SERVER_ERROR', error: expect.any(Object) })],
    );
  });
});

describe('anything else that a feature throws is an internal error that reveals nothing of it', () => {
  it.each(['error', 'text', 'http-error', 'redirect'])('%s', async (name) => {
    const detail = 'Something went wrong on our side. Quote the requestId when you report it.';
    const answer = [500, 'Internal error', 'INTERNAL_ERROR', detail] as const;
    expectAnswer(await app.get(`/thrown/${name}`), `/thrown/${name}`, answer);
  });
});

describe("a ValidationPipe's messages name their fields", () => {
  const wrong = { email: 'x', counts: [1, 'x'], items: [{ name: 1, more: 2 }], extra: 1 };
  const violations = [
    { pointer: '/extra', detail: 'property extra should not exist' },
    { pointer: '/email', detail: 'email must be an email' },
    { pointer: '/counts', detail: 'each value in counts must be an integer number' },
    { pointer: '/items/0/more', detail: 'items.0.property more should not exist' },
    { pointer: '/items/0/name', detail: 'items.0.name must be a string' },
  ];

  it('in a 400', async () => {
    const detail = 'The request has 5 faults; the first: property extra should not exist';
    const answer = [400, 'Validation failed', 'VALIDATION_FAILED', detail] as const;
    expectAnswer(await app.post('/thrown/orders', wrong), '/thrown/orders', answer, violations);
  });

  it('in a 422 that the pipe was told to answer with', async () => {
    const listed = violations.filter(({ detail }) => !detail.includes('property'));
    const detail = 'The request has 3 faults; the first: email must be an email';
    const answer = [422, 'Unprocessable Entity', 'UNPROCESSABLE_ENTITY', detail] as const;
    expectAnswer(await app.post('/thrown/strict-orders', wrong), '/thrown/strict-orders', answer, listed);
  });

  it('and point to the whole body if they name none', async () => {
    const path = '/thrown/sentences/of-its-own';
    const detail = 'The request has 3 faults; the first: You must accept the terms.';
    const answer = [400, 'Validation failed', 'VALIDATION_FAILED', detail] as const;
    expectAnswer(await app.get(path), path, answer, [
      { pointer: '', detail: 'You must accept the terms.' },
      { pointer: '/stock', detail: '"stock" must be a whole number.' },
      { pointer: '', detail: 'No.' },
    ]);
  });
});

it('a ValidationPipe that finds hundreds of faults lists the first fifty', async () => {
  const counts = {
    email: 'a@example.com',
    counts: [],
    items: Array.from({ length: 200 }, () => ({ name: 1 })),
  };
  const { body } = await app.post('/thrown/orders', counts);
  expect([body.detail, body.errors.length]).toEqual([
    'The request has 50 faults; the first: items.0.name must be a string',
    50,
  ]);
});

describe('refusals by the server itself keep its own words', () => {
  it.each(['/nothing', '/thrown', '/docs/%2e%2e/package.json', '/docs/nothing.js'])(
    '%s: 404',
    async (path) => {
      const response = await app.get(path);
      expect([response.status, response.body.code]).toEqual([404, 'PATH_NOT_FOUND']);
    },
  );
});

import * as nest from '@nestjs/common';
import { Body, ConflictException, Controller, Get, HttpException, Param, Post } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsEmail, IsInt, IsString, ValidateNested } from 'class-validator';
import { expectInvalid, expectProblem } from '../../support/problems.js';
import { useResourceApp } from '../../support/resource-app.js';

class PaymentRequired extends HttpException {}
class QuotaExceededException extends HttpException {}

/** Whatever a feature may throw, by the path that throws it. */
const THROWN: Record<string, () => unknown> = {
  'bad-request': () => new nest.BadRequestException('Send a date in the future.'),
  payment: () => new PaymentRequired('Your plan has no more seats. Upgrade it.', 402),
  'payment-bare': () => new HttpException('Pay first.', 402),
  forbidden: () => new nest.ForbiddenException('Ask an owner to do this.'),
  'not-found': () => new nest.NotFoundException('No such basket.'),
  'not-found-bare': () => new nest.NotFoundException(),
  conflict: () => new ConflictException('The order was sent meanwhile.'),
  gone: () => new nest.GoneException('The offer has ended.'),
  teapot: () => new nest.ImATeapotException('Short and stout.'),
  unprocessable: () => new nest.UnprocessableEntityException('The sum is not zero.'),
  unauthorized: () => new nest.UnauthorizedException('Log in again.'),
  quota: () => new QuotaExceededException({ message: 'Slow down.', retryAfter: 29.2 }, 429),
  'quota-bare': () => new QuotaExceededException({ message: 'Slow down.' }, 429),
  unavailable: () => new nest.ServiceUnavailableException('The printer is out of paper.'),
  'unavailable-for': () => new nest.ServiceUnavailableException({ message: 'Come back.', retryAfter: 60 }),
  gateway: () => new nest.BadGatewayException('The bank does not answer.'),
  internal: () => new nest.InternalServerErrorException('The disk of the shop is full.'),
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
  number(@Param('id', nest.ParseIntPipe) id: number): number {
    return id;
  }

  @Post('orders')
  order(@Body(new nest.ValidationPipe({ whitelist: true, forbidNonWhitelisted: true })) order: Order): Order {
    return order;
  }

  @Post('strict-orders')
  strict(@Body(new nest.ValidationPipe({ errorHttpStatusCode: 422 })) order: Order): Order {
    return order;
  }

  @Get('sentences/of-its-own')
  sentences(): never {
    throw new nest.BadRequestException([
      'You must accept the terms.',
      '"stock" must be a whole number.',
      'No.',
    ]);
  }
}

@nest.Module({ controllers: [ThrowingController] })
class ThrowingModule {}

const app = useResourceApp({ module: ThrowingModule });

/** Asserts the whole answer to a GET. */
async function expectThrown(path: string, status: number, title: string, code: string, detail: string) {
  expectProblem(await app.get(path), { status, title, code, detail, instance: path });
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
    ['number/x', 400, 'Bad Request', 'BAD_REQUEST', 'Validation failed (numeric string is expected)'],
  ])('%s: %i', (name, ...answer) => expectThrown(`/thrown/${name}`, ...answer));

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
    const lines = app.logLines.filter(
      ({ requestId, level }) => requestId === 'a-full-disk' && level === 'error',
    );
    const logged = { code: 'INTERNAL_SERVER_ERROR', error: expect.any(Object) };
    expect(lines).toEqual([expect.objectContaining(logged)]);
  });
});

describe('anything else that a feature throws is an internal error that reveals nothing of it', () => {
  const detail = 'Something went wrong on our side. Quote the requestId when you report it.';
  it.each(['error', 'text', 'http-error', 'redirect'])('%s', (name) =>
    expectThrown(`/thrown/${name}`, 500, 'Internal error', 'INTERNAL_ERROR', detail),
  );
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
    expectInvalid(await app.post('/thrown/orders', wrong), '/thrown/orders', ...violations);
  });

  it('in a 422 that the pipe was told to answer with', async () => {
    const instance = '/thrown/strict-orders';
    expectProblem(await app.post(instance, wrong), {
      ...{ status: 422, title: 'Unprocessable Entity', code: 'UNPROCESSABLE_ENTITY', instance },
      detail: 'The request has 3 faults; the first: email must be an email',
      errors: violations.filter(({ detail }) => !detail.includes('property')),
    });
  });

  it('and point to the whole body if they name none', async () => {
    const path = '/thrown/sentences/of-its-own';
    expectInvalid(
      await app.get(path),
      path,
      { pointer: '', detail: 'You must accept the terms.' },
      { pointer: '/stock', detail: '"stock" must be a whole number.' },
      { pointer: '', detail: 'No.' },
    );
  });
});

it('a ValidationPipe that finds hundreds of faults lists the first fifty', async () => {
  const items = Array.from({ length: 200 }, () => ({ name: 1 }));
  const { body } = await app.post('/thrown/orders', { email: 'a@example.com', counts: [], items });
  const detail = 'The request has 50 faults; the first: items.0.name must be a string';
  expect([body.detail, body.errors.length]).toEqual([detail, 50]);
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

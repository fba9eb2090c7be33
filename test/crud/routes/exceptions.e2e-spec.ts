import { STATUS_CODES } from 'node:http';
import * as nest from '@nestjs/common';
import { Body, Controller, Get, HttpException, Param, Post } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsEmail, IsInt, IsString, ValidateNested } from 'class-validator';
import { expectInvalid, expectProblem } from '../../support/problems.js';
import { useResourceApp } from '../../support/resource-app.js';

class PaymentRequired extends HttpException {}
class QuotaExceededException extends HttpException {}

class Part {
  @IsString() name!: string;
}

class Order {
  @IsEmail() email!: string;
  @IsInt({ each: true }) counts!: number[];
  @ValidateNested({ each: true }) @Type(() => Part) items!: Part[];
}

/** Whatever a feature may throw: what the route of the test that runs does. */
let thrown: unknown;

@ApiExcludeController()
@Controller('thrown')
class ThrowingController {
  @Get()
  throwIt(): never {
    throw thrown;
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
    throw new nest.BadRequestException(['Accept the terms.', '"stock" must be a whole number.', 'No.']);
  }
}

@nest.Module({ controllers: [ThrowingController] })
class ThrowingModule {}

const app = useResourceApp({ module: ThrowingModule });

/** Asserts the whole answer to a GET. */
async function expectThrown(status: number, code: string, detail: string, title = STATUS_CODES[status]) {
  const response = await app.get('/thrown');
  expectProblem(response, { status, title, code, detail, instance: '/thrown' });
  return response.headers;
}

describe("an exception of Nest's that a feature throws keeps its status and text", () => {
  const quota = (more: object) => new QuotaExceededException({ message: 'Slow down.', ...more }, 429);
  const unavailable = new nest.ServiceUnavailableException({ message: 'No paper.', retryAfter: 60 });
  const two = { message: 'Two left.', left: 2 };
  const diskFull = new nest.InternalServerErrorException('The disk is full.');
  it.each<[status: number, code: string, detail: string, exception: Error, retryAfter?: string | null]>([
    [400, 'BAD_REQUEST', 'Send a later date.', new nest.BadRequestException('Send a later date.')],
    [402, 'PAYMENT_REQUIRED', 'Buy seats.', new HttpException('Buy seats.', 402)],
    [402, 'PAYMENT_REQUIRED', 'Buy seats.', new PaymentRequired('Buy seats.', 402)],
    [404, 'NOT_FOUND', 'No such basket.', new nest.NotFoundException('No such basket.')],
    [404, 'NOT_FOUND', 'Not Found', new nest.NotFoundException()],
    [418, 'IM_A_TEAPOT', 'Short and stout.', new nest.ImATeapotException('Short and stout.')],
    [401, 'UNAUTHORIZED', 'Log in again.', new nest.UnauthorizedException('Log in again.')],
    [429, 'QUOTA_EXCEEDED', 'Slow down.', quota({ retryAfter: 29.2 }), '30'],
    [429, 'QUOTA_EXCEEDED', 'Slow down.', quota({})],
    [503, 'SERVICE_UNAVAILABLE', 'No paper.', new nest.ServiceUnavailableException('No paper.'), '5'],
    [503, 'SERVICE_UNAVAILABLE', 'No paper.', unavailable, '60'],
    [500, 'INTERNAL_SERVER_ERROR', 'The disk is full.', diskFull],
    [409, 'OUT_OF_STOCK', 'Two left.', new HttpException({ ...two, code: 'OUT_OF_STOCK' }, 409)],
    [409, 'CONFLICT', 'Two left.', new nest.ConflictException({ ...two, code: 'outOfStock' })],
    [409, 'CONFLICT', 'Conflict', new HttpException({ left: 2 }, 409)],
    [409, 'CONFLICT', 'Conflict', new nest.ConflictException(new Error('mongodb://user:secret@db'))],
    [410, 'GONE', 'Gone', new HttpException(undefined as never, 410)],
  ])('%i %s: %s', async (status, code, detail, exception, retryAfter = null) => {
    thrown = exception;
    const headers = await expectThrown(status, code, detail);
    expect(headers.get('retry-after')).toBe(retryAfter);
    expect(headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null);
  });

  it('also if a pipe of a parameter throws it', async () => {
    const detail = 'Validation failed (numeric string is expected)';
    const thrown = { status: 400, title: 'Bad Request', code: 'BAD_REQUEST', detail };
    expectProblem(await app.get('/thrown/number/x'), { ...thrown, instance: '/thrown/number/x' });
  });

  it('a 5xx is logged with its exception', async () => {
    thrown = diskFull;
    await app.get('/thrown', { headers: { 'X-Request-Id': 'a-full-disk' } });
    const lines = app.logLines.filter((line) => line.requestId === 'a-full-disk' && line.level === 'error');
    expect(lines).toMatchObject([{ code: 'INTERNAL_SERVER_ERROR', error: expect.any(Object) }]);
  });
});

describe('anything else that a feature throws is an internal error that reveals nothing of it', () => {
  it.each([
    ['an error', new Error('mongodb://user:secret@db')],
    ['a text', 'secret'],
    ['an error with a status', Object.assign(new Error('secret'), { statusCode: 404, expose: true })],
    ['a redirect', new HttpException('secret', 302)],
  ])('%s', async (_what, wrong) => {
    thrown = wrong;
    const detail = 'Something went wrong on our side. Quote the requestId when you report it.';
    await expectThrown(500, 'INTERNAL_ERROR', detail, 'Internal error');
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

  it('in a 400, and list the first fifty of hundreds', async () => {
    expectInvalid(await app.post('/thrown/orders', wrong), '/thrown/orders', ...violations);
    const items = Array.from({ length: 200 }, () => ({ name: 1 }));
    const { body } = await app.post('/thrown/orders', { email: 'a@example.com', counts: [], items });
    const detail = 'The request has 50 faults; the first: items.0.name must be a string';
    expect([body.detail, body.errors.length]).toEqual([detail, 50]);
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
      { pointer: '', detail: 'Accept the terms.' },
      { pointer: '/stock', detail: '"stock" must be a whole number.' },
      { pointer: '', detail: 'No.' },
    );
  });
});

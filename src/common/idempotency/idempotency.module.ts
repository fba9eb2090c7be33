import { Global, Logger, Module, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { MongooseModule } from '@nestjs/mongoose';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { reserveCollection } from '../database/index.js';
import { problemAnswer } from '../errors/index.js';
import { IdempotencyKey, IdempotencyKeySchema } from './idempotency-key.schema.js';
import { IdempotencyKeys } from './idempotency-keys.js';
import type { IdempotentExchange } from './idempotent-exchange.js';
import { HourOfBytes, HourOfBytesSchema, StoredBytes } from './stored-bytes.js';

/**
 * Stores the answers to requests with an `Idempotency-Key` and replays them; see {@link
 * IdempotencyInterceptor}.
 */
@Global()
@Module({
  imports: [
    MongooseModule.forFeature([
      {
        name: IdempotencyKey.name,
        schema: reserveCollection(IdempotencyKeySchema),
        collection: 'idempotency_keys',
      },
      {
        name: HourOfBytes.name,
        schema: reserveCollection(HourOfBytesSchema),
        collection: 'idempotency_bytes',
      },
    ]),
  ],
  providers: [IdempotencyKeys, StoredBytes],
  exports: [IdempotencyKeys],
})
export class IdempotencyModule implements OnModuleInit {
  private readonly logger = new Logger('Idempotency');

  constructor(private readonly host: HttpAdapterHost<FastifyAdapter>) {}

  /** Answers and problems both pass through this hook just before they are sent. */
  onModuleInit(): void {
    // A module under test may have no server.
    const adapter = this.host.httpAdapter as FastifyAdapter | undefined;
    adapter?.getInstance<FastifyInstance>().addHook('onSend', (request, _reply, payload, done) => {
      const { idempotentExchange: exchange } = request;
      if (!exchange) return done(null, payload);
      void this.settle(exchange, request, payload).then((body) => done(null, body));
    });
  }

  private async settle(
    exchange: IdempotentExchange,
    request: FastifyRequest,
    payload: unknown,
  ): Promise<unknown> {
    try {
      return await exchange.settle(payload);
    } catch (error) {
      const { status, headers, body } = problemAnswer(error, request, this.logger);
      return exchange.replace({ status, headers: Object.entries(headers), body }, false);
    }
  }
}

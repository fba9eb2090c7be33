import { Global, Module } from '@nestjs/common';
import { MongooseModule } from '@nestjs/mongoose';
import { CRUD_CONNECTION, reserveCollection } from '../database/index.js';
import { IdempotencyKey, IdempotencyKeySchema } from './idempotency-key.schema.js';
import { IdempotencyKeys } from './idempotency-keys.js';
import { HourOfBytes, HourOfBytesSchema, StoredBytes } from './stored-bytes.js';

/**
 * Stores the answers to requests with an `Idempotency-Key` and replays them; see {@link
 * IdempotencyInterceptor}.
 */
@Global()
@Module({
  imports: [
    MongooseModule.forFeature(
      [
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
      ],
      CRUD_CONNECTION,
    ),
  ],
  providers: [IdempotencyKeys, StoredBytes],
  exports: [IdempotencyKeys],
})
export class IdempotencyModule {}

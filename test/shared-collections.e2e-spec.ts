import { Schema } from '@nestjs/mongoose';
import { AppModule } from '../src/app.module.js';
import { CrudModule } from '../src/common/crud/index.js';
import { IsText } from '../src/common/fields/index.js';
import { createTestApp } from './support/test-app.js';

class ParcelInput {
  @IsText({ max: 40 })
  label!: string;
}

@Schema({ timestamps: true })
class Parcel extends ParcelInput {}

class ParcelsModule {}

describe('the name of a resource', () => {
  it.each([
    ['installation', 'InstallationKey'],
    ['idempotency_keys', 'IdempotencyKey'],
    ['search_words', 'SearchMark'],
    ['audits', 'StoredAudit'],
    ['events', 'EventRecord'],
  ])('cannot be %s, the collection of %s', async (name, model) => {
    const parcels = CrudModule.forFeature({
      entity: Parcel,
      input: ParcelInput,
      name,
      path: 'parcels',
      audit: true,
      query: { search: ['label'] },
    });
    const start = createTestApp({
      root: (environment, database) => ({
        module: ParcelsModule,
        imports: [AppModule.forRoot(environment, database), parcels],
      }),
    });
    const models = `(${model} and Parcel|Parcel and ${model})`;
    const sentence = `^${models} would share the collection "${name}"\\. Give the resource that is yours another`;
    await expect(start).rejects.toThrow(new RegExp(sentence));
  });
});

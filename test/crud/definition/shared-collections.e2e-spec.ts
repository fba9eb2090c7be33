/** @mongodb */
import { CRUD_CONNECTION } from '../../../src/common/database/index.js';
import { getModelToken, MongooseModule, Schema } from '@nestjs/mongoose';
import { type Model, Schema as MongooseSchema } from 'mongoose';
import { CrudModule } from '../../../src/common/crud/index.js';
import { IsText, schemaOf } from '../../../src/common/fields/index.js';
import { createResourceApp } from '../../support/resource-app.js';
import { createTestApp, serviceWith } from '../../support/test-app.js';

class ParcelInput {
  @IsText({ max: 40 }) label!: string;
}

@Schema({ timestamps: true })
class Parcel extends ParcelInput {}

describe('the name of a resource', () => {
  it.each([
    ['installation', 'InstallationKey'],
    ['idempotency_keys', 'IdempotencyKey'],
    ['idempotency_bytes', 'HourOfBytes'],
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
    const start = createTestApp({ root: serviceWith({ imports: [parcels] }) });
    const sentence = `Parcel has the collection "${name}", which is that of the service's ${model}. Give the resource`;
    await expect(start).rejects.toThrow(sentence);
  });

  it('can be that of other models of the application, with discriminators, too', async () => {
    const parcels = CrudModule.forFeature({ entity: Parcel, input: ParcelInput, name: 'parcels' });
    const discriminators = [
      { name: 'Letter', schema: new MongooseSchema({ stamp: String }) },
      { name: 'Box', schema: new MongooseSchema({ litres: Number }) },
    ];
    const own = MongooseModule.forFeature(
      [
        { name: Parcel.name, schema: schemaOf(Parcel), collection: 'parcels' },
        { name: 'LabelReport', schema: new MongooseSchema({ label: String }), collection: 'parcels' },
        { name: 'Sending', schema: new MongooseSchema({}, { discriminatorKey: 'kind' }), discriminators },
      ],
      CRUD_CONNECTION,
    );
    const app = await createResourceApp(parcels, own);
    try {
      expect((await app.post('/parcels', { label: 'Books' })).status).toBe(201);
      expect(
        await app.app.get<Model<object>>(getModelToken('LabelReport', CRUD_CONNECTION)).countDocuments(),
      ).toBe(1);
      await app.app.get<Model<object>>(getModelToken('Box', CRUD_CONNECTION)).create({ litres: 3 });
      const stored = app.database.collection('sendings').find({}, { projection: { _id: 0, __v: 0 } });
      expect(await stored.toArray()).toEqual([{ kind: 'Box', litres: 3 }]);
    } finally {
      await app.close();
    }
  });
});

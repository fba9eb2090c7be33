/** @mongodb */
import { CRUD_CONNECTION, CrudModule, IsText, schemaOf } from '../../../src/index.js';
import { getModelToken, MongooseModule } from '@nestjs/mongoose';
import { type Model, Schema as MongooseSchema } from 'mongoose';
import { createResourceApp } from '../../support/resource-app.js';
import { createTestApp, serviceWith } from '../../support/test-app.js';
import { resource, type Outline } from '../../support/resource.js';

const parcels = (change: Partial<Outline> = {}) =>
  resource({ name: 'parcels', fields: { label: IsText({ max: 40 }) }, ...change });

describe('the name of a resource', () => {
  it.each([
    ['installation', 'InstallationKey'],
    ['idempotency_keys', 'IdempotencyKey'],
    ['idempotency_bytes', 'HourOfBytes'],
    ['search_words', 'SearchCheckpoint'],
    ['audits', 'StoredAudit'],
    ['events', 'EventRecord'],
  ])('cannot be %s, the collection of %s', async (name, model) => {
    const search = { audit: true, query: { search: ['label'] } } as const;
    const features = CrudModule.forFeature(parcels({ name, class: 'Parcel', path: 'parcels', ...search }));
    const start = createTestApp({ root: serviceWith({ imports: [features] }) });
    const sentence = `Parcel has the collection "${name}", which is that of the service's ${model}. Give the resource`;
    await expect(start).rejects.toThrow(sentence);
  });

  it('can be that of other models of the application, with discriminators, too', async () => {
    const options = parcels();
    const discriminators = [
      { name: 'Letter', schema: new MongooseSchema({ stamp: String }) },
      { name: 'Box', schema: new MongooseSchema({ litres: Number }) },
    ];
    const own = MongooseModule.forFeature(
      [
        { name: 'Parcel', schema: schemaOf(options.entity), collection: 'parcels' },
        { name: 'LabelReport', schema: new MongooseSchema({ label: String }), collection: 'parcels' },
        { name: 'Sending', schema: new MongooseSchema({}, { discriminatorKey: 'kind' }), discriminators },
      ],
      CRUD_CONNECTION,
    );
    await using app = await createResourceApp(CrudModule.forFeature(options), own);
    const modelOf = (name: string) => app.app.get<Model<object>>(getModelToken(name, CRUD_CONNECTION));
    expect((await app.post('/parcels', { label: 'Books' })).status).toBe(201);
    expect(await modelOf('LabelReport').countDocuments()).toBe(1);
    await modelOf('Box').create({ litres: 3 });
    const stored = app.database.collection('sendings').find({}, { projection: { _id: 0, __v: 0 } });
    expect(await stored.toArray()).toEqual([{ kind: 'Box', litres: 3 }]);
  });
});

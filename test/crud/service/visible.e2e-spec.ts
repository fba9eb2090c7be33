/** @mongodb */
import { Prop } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { currentTenant } from '../../../src/common/tenancy/index.js';
import { useResourceApp } from '../../support/resource-app.js';
import { ACME, tokenOf } from '../../support/tenants.js';
import { feature } from '../../support/resource.js';

const token = await tokenOf(ACME);

const shared = { kept: { published: Prop({ type: Boolean }) }, visible: { published: true } };

describe.each(['leaves', 'sheets'])('records of %s that are not visible', (name) => {
  const shown = new Types.ObjectId();
  const hidden = new Types.ObjectId();

  const app = useResourceApp(
    feature({ name: 'leaves', ...shared }),
    feature({
      name: 'sheets',
      ...shared,
      kept: { ...shared.kept, deletedAt: Prop({ type: Date }), tenant: Prop({ type: Types.ObjectId }) },
      archive: { field: 'deletedAt' },
      isolationFields: { all: { tenant: currentTenant } },
    }),
  );
  beforeEach(async () => {
    await app.empty();
    const record = { text: 'A', createdAt: new Date(0), updatedAt: new Date(0), __v: 0 };
    const tenant = new Types.ObjectId(ACME);
    await app.database.collection(name).insertMany([
      { ...record, tenant, _id: shown, published: true },
      { ...record, tenant, _id: hidden, published: false },
    ]);
  });

  it('are absent from list, page and count', async () => {
    const ids = (records: { _id: string }[]) => records.map(({ _id }) => _id);
    expect(ids((await app.get(`/${name}`, { token })).body)).toEqual([String(shown)]);
    const page = await app.get(`/${name}?limit=5`, { token });
    expect([ids(page.body.results), page.body.count]).toEqual([[String(shown)], 1]);
    expect((await app.get(`/${name}/count`, { token })).body).toEqual({ count: 1 });
  });

  it('cannot be read, changed or deleted', async () => {
    const path = `/${name}/${String(hidden)}`;
    const before = await app.database.collection(name).findOne({ _id: hidden });
    const answers = [
      await app.get(path, { token }),
      await app.patch(path, { text: 'B' }, { token }),
      await app.del(path, { token }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
    expect(await app.database.collection(name).findOne({ _id: hidden })).toEqual(before);
  });
});

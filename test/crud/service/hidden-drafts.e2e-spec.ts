import { Prop } from '@nestjs/mongoose';
import { IsListOf, IsNested, IsText } from '../../../src/common/fields/index.js';
import { expectInvalid } from '../../support/problems.js';
import { useResourceApp } from '../../support/resource-app.js';
import { feature, type Made } from '../../support/resource.js';

const hidden = { type: String, select: false };

class Key {
  @IsText({ max: 20 }) name!: string;
  @Prop(hidden) code?: string | null;
}

class SafeInput {
  @IsText({ max: 40 }) text!: string;
  @IsNested(() => Key, { optional: true }) key?: Key;
  @IsListOf(() => Key, { max: 3, optional: true }) spares?: Key[];
}

type Safe = Partial<SafeInput> & Pick<Key, 'code'> & { maker?: string };

/** What a hook does with the code of a safe, and of each of its keys, by the text of the safe. */
const CODES: Record<string, (holder: Pick<Key, 'code'>) => unknown> = {
  open: (holder) => (holder.code = '1234'),
  undefined: (holder) => (holder.code = undefined),
  null: (holder) => (holder.code = null),
  delete: (holder) => delete holder.code,
  'set and delete': (holder) => {
    holder.code = 'x';
    delete holder.code;
  },
};
const editSafe = (safe: Safe) => {
  const { text = '', key, spares = [] } = safe;
  for (const holder of [safe, key, ...spares]) if (holder) CODES[text]?.(holder);
  if (text === 'copy') safe.spares = spares.map((spare) => ({ ...spare }));
  if (text === 'remove what is required') safe.maker = undefined;
};

/** A step of a route: its code is for the driver alone. */
class Step {
  @IsText({ max: 20 }) name!: string;
  @Prop({ ...hidden, required: true }) @IsText({ max: 20 }) code!: string;
}

class Parcel extends Step {
  @IsListOf(() => Step, { max: 10, optional: true }) stamps?: Step[];
}

/** Clients see nothing of it that is required. */
class Seal {
  @IsText({ max: 20, optional: true }) note?: string;
  @Prop({ ...hidden, required: true }) @IsText({ max: 20 }) code!: string;
}

class Start {
  @IsText({ max: 20, optional: true }) note?: string;
  @IsListOf(() => Step, { max: 10 }) steps!: Step[];
}

class RouteInput {
  @IsText({ max: 40 }) does!: string;
  @IsListOf(() => Step, { max: 10, optional: true }) steps?: Step[];
  @IsListOf(() => Parcel, { max: 10, optional: true }) parcels?: Parcel[];
  @IsNested(() => Start, { optional: true }) start?: Start;
  @IsNested(() => Seal, { optional: true }) seal?: Seal;
}

type Route = Partial<RouteInput> & { keys?: Buffer[]; marks?: Map<string, Buffer> };
type Edits = Record<string, (route: Route) => unknown>;

/** What a hook does with its draft, by the field `does`, that leaves hidden members out. */
const LOSING: Edits = {
  'renames an entry': ({ steps = [] }) => Object.assign(steps[0] ?? {}, { name: 'renamed' }),
  'moves entries': ({ steps }) => steps?.reverse(),
  'removes an entry': ({ steps }) => steps?.shift(),
  'adds an entry': ({ steps }) => steps?.push({ name: 'new', code: 'of new' }),
  'changes a list of an entry': ({ parcels }) => parcels?.forEach(({ stamps }) => stamps?.reverse()),
  'changes a list of a nested object': ({ start }) => start?.steps.reverse(),
  'makes an object of entries': (route) => (route.start = { steps: route.steps?.slice(1) ?? [] }),
};
const EDITS: Edits = {
  ...LOSING,
  'copies the list': (route) => (route.steps = route.steps?.map((step) => ({ ...step }))),
  'sets the list': (route) => (route.steps = route.steps?.map(({ name }) => ({ name, code: `set ${name}` }))),
  'notes it in nested objects': ({ start, seal }) =>
    [start, seal].forEach((one) => Object.assign(one as object, { note: 'seen' })),
  'turns the keys': ({ keys }) => keys?.reverse(),
  'adds a mark': ({ marks }) => Object.assign(marks as object, { new: Buffer.from('ink') }),
};

const editRoute = ({ record }: { record: Made }) => void EDITS[record.does as string]?.(record);
const app = useResourceApp(
  feature({
    name: 'safes',
    fields: SafeInput,
    kept: { code: Prop(hidden), maker: Prop({ ...hidden, required: true }) },
    hooks: {
      beforeCreate: ({ record }) => editSafe(Object.assign(record, { maker: 'Acme' })),
      beforeUpdate: ({ record }) => editSafe(record as Safe),
    },
  }),
  feature({
    name: 'routes',
    fields: RouteInput,
    kept: {
      keys: Prop({ type: [Buffer], default: () => [Buffer.from('one'), Buffer.from('two')] }),
      marks: Prop({ type: Map, of: Buffer, default: () => new Map([['seal', Buffer.from('wax')]]) }),
    },
    hooks: { beforeCreate: editRoute, beforeUpdate: editRoute },
  }),
);
beforeEach(() => app.empty());

describe('a hook that removes a field with select: false', () => {
  const created = async (text: string) => {
    const body = { text, key: { name: 'a' }, spares: [{ name: 'b' }, { name: 'c' }] };
    return `/safes/${await app.create('/safes', body)}`;
  };
  const codes = async () => {
    const { key, spares, ...safe } = (await app.database.collection<Safe>('safes').findOne({})) ?? {};
    const holders = [safe, key, ...(spares ?? [])] as Key[];
    return holders.map((holder) => ('code' in holder ? holder.code : 'none'));
  };
  const [all, none] = [Array(4).fill('1234'), Array(4).fill('none')];

  it.each([
    ...['undefined', 'null', 'delete', 'set and delete'].map((text) => ['removes it', text, none]),
    ...['copy', 'nothing'].map((text) => ['keeps it otherwise', text, all]),
  ] as const)('%s: %s', async (_does, text, left) => {
    const path = await created('open');
    expect(await codes()).toEqual(all);
    expect((await app.patch(path, { text })).status).toBe(200);
    expect(await codes()).toEqual(left);
  });

  it('stores nothing of what a create sets to null', async () => {
    await created('null');
    expect(await codes()).toEqual(none);
  });

  it('cannot remove what the schema requires', async () => {
    const { status, body } = await app.patch(await created('open'), { text: 'remove what is required' });
    expect([status, body.errors]).toEqual([400, [{ pointer: '/maker', detail: '"maker" is required.' }]]);
  });
});

describe('a hook that edits lists whose entries have hidden members', () => {
  const step = (name: string) => ({ name, code: `of ${name}` });
  const STEPS = ['a', 'b', 'c'].map(step);
  const parcels = [
    { ...step('p'), stamps: [step('s'), step('t')] },
    { ...step('q'), stamps: [step('u')] },
  ];
  const BODY = { steps: STEPS, parcels, start: { steps: STEPS }, seal: { code: 'wax' } };

  const stored = () => app.database.collection<Route>('routes').findOne({});

  /** The statuses of a create and of an update whose hook does this, and what is stored after each. */
  async function outcomes(does: string) {
    const created = await app.post('/routes', { ...BODY, does });
    const first = { status: created.status, ...(await stored()) };
    await app.empty();
    const id = await app.create('/routes', { ...BODY, does: 'nothing' });
    const updated = await app.patch(`/routes/${id}`, { does });
    return [first, { status: updated.status, ...(await stored()) }];
  }

  it.each(Object.keys(LOSING))('is refused, and loses nothing, if it %s without them', async (does) => {
    const unchanged = expect.objectContaining({ status: 400, ...BODY });
    expect(await outcomes(does)).toEqual([{ status: 400 }, unchanged]);
  });

  it('is refused with one sentence that names the list', async () => {
    const detail =
      'A hook changed "steps", whose entries have hidden fields, and left some of them out. It must set them in every entry.';
    const answer = await app.post('/routes', { ...BODY, does: 'moves entries' });
    expectInvalid(answer, '/routes', { pointer: '/steps', detail });
  });

  it.each<[string, object]>([
    ['sets the list', { steps: STEPS.map(({ name }) => ({ name, code: `set ${name}` })) }],
    ['copies the list', { steps: STEPS }],
    [
      'notes it in nested objects',
      { start: { note: 'seen', steps: STEPS }, seal: { note: 'seen', code: 'wax' } },
    ],
  ])('keeps what it does not change if it %s', async (does, expected) => {
    const statuses = [201, 200].map((status) => ({ status, ...expected }));
    expect(await outcomes(does)).toMatchObject(statuses);
  });

  it('keeps bytes beside what it changes', async () => {
    const texts = (bytes: unknown) => Object.values(bytes as object).map(String);
    expect(texts((await outcomes('turns the keys'))[1]?.keys)).toEqual(['two', 'one']);
    expect(texts((await outcomes('adds a mark'))[1]?.marks)).toEqual(['wax', 'ink']);
  });

  it('documents answers without them', async () => {
    const { Route, RouteCreate } = (await app.get('/docs/openapi.json')).body.components.schemas;
    const { steps, parcels, start, seal } = Route.properties;
    const shown = [steps.items, parcels.items, start, start.properties.steps.items, seal];
    expect(shown.map(({ properties, required }) => [Object.keys(properties as object), required])).toEqual([
      [['name'], ['name']],
      [['name', 'stamps'], ['name']],
      [['note', 'steps'], ['steps']],
      [['name'], ['name']],
      [['note'], undefined],
    ]);
    expect(RouteCreate.properties.steps.items.required).toEqual(['name', 'code']);
  });
});

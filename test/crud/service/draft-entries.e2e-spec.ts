/** @mongodb */
import { Prop, Schema } from '@nestjs/mongoose';
import { CrudModule } from '../../../src/common/crud/index.js';
import { IsListOf, IsNested, IsText } from '../../../src/common/fields/index.js';
import { useResourceApp } from '../../support/resource-app.js';

/** A step of a route: its code is for the driver alone. */
class Step {
  @Prop({ type: String, required: true }) @IsText({ max: 20 }) name!: string;
  @Prop({ type: String, required: true, select: false }) @IsText({ max: 20 }) code!: string;
}

/** A parcel, with a list of its own. */
class Parcel extends Step {
  @IsListOf(() => Step, { max: 10, optional: true }) stamps?: Step[];
}

class Start {
  @IsText({ max: 20, optional: true }) note?: string;
  @IsListOf(() => Step, { max: 10 }) steps!: Step[];
}

/** Clients see nothing of it that is required. */
class Seal {
  @IsText({ max: 20, optional: true }) note?: string;
  @Prop({ type: String, required: true, select: false }) @IsText({ max: 20 }) code!: string;
}

class RouteInput {
  @IsText({ max: 40 }) does!: string;
  @IsListOf(() => Step, { max: 10, optional: true }) steps?: Step[];
  @IsListOf(() => Parcel, { max: 10, optional: true }) parcels?: Parcel[];
  @IsNested(() => Start, { optional: true }) start?: Start;
  @IsNested(() => Seal, { optional: true }) seal?: Seal;
}

@Schema({ timestamps: true })
class Route extends RouteInput {
  @Prop({ type: [Buffer], default: () => [Buffer.from('one'), Buffer.from('two')] }) keys?: Buffer[];

  @Prop({ type: Map, of: Buffer, default: () => new Map([['seal', Buffer.from('wax')]]) })
  marks?: Map<string, Buffer>;
}

/** What a hook does with its draft, by the field `does`. */
const EDITS: Record<string, (route: Partial<Route>) => unknown> = {
  'renames an entry': ({ steps = [] }) => Object.assign(steps[0] ?? {}, { name: 'renamed' }),
  'moves entries': ({ steps }) => steps?.reverse(),
  'removes an entry': ({ steps }) => steps?.shift(),
  'adds an entry': ({ steps }) => steps?.push({ name: 'new', code: 'of new' }),
  'changes a list of an entry': ({ parcels }) => parcels?.forEach(({ stamps }) => stamps?.reverse()),
  'changes a list of a nested object': ({ start }) => start?.steps.reverse(),
  'makes an object of entries': (route) => (route.start = { steps: route.steps?.slice(1) ?? [] }),
  'copies the list': (route) => (route.steps = route.steps?.map((step) => ({ ...step }))),
  'sets the list': (route) => (route.steps = route.steps?.map(({ name }) => ({ name, code: `set ${name}` }))),
  'notes it in a nested object': ({ start }) => start && (start.note = 'seen'),
  'turns the keys': ({ keys }) => keys?.reverse(),
  'adds a mark': ({ marks }) => Object.assign(marks as object, { new: Buffer.from('ink') }),
  nothing: () => undefined,
};

const routes = CrudModule.forFeature({
  entity: Route,
  input: RouteInput,
  name: 'routes',
  hooks: {
    beforeCreate: ({ record }) => void EDITS[record.does as string]?.(record),
    beforeUpdate: ({ record }) => void EDITS[record.does]?.(record),
  },
});

const step = (name: string) => ({ name, code: `of ${name}` });
const STEPS = [step('a'), step('b'), step('c')];
const PARCELS = [
  { ...step('p'), stamps: [step('s'), step('t')] },
  { ...step('q'), stamps: [step('u')] },
];
const BODY = { steps: STEPS, parcels: PARCELS, start: { steps: STEPS } };

describe('a hook that edits lists whose entries have hidden members', () => {
  const app = useResourceApp(routes);
  beforeEach(() => app.empty());

  const stored = () => app.database.collection<Route>('routes').findOne({});

  /** The statuses of a create and of an update whose hook does this, and what is stored after each. */
  async function outcomes(does: string) {
    const created = await app.post('/routes', { ...BODY, does });
    const afterCreate = await stored();
    await app.empty();
    const { body } = await app.post('/routes', { ...BODY, does: 'nothing' });
    const updated = await app.patch(`/routes/${body._id}`, { does });
    return [
      { status: created.status, ...afterCreate },
      { status: updated.status, ...(await stored()) },
    ];
  }

  it.each([
    'renames an entry',
    'moves entries',
    'removes an entry',
    'adds an entry',
    'changes a list of an entry',
    'changes a list of a nested object',
    'makes an object of entries',
  ])('is refused, and loses nothing, if it %s without them', async (does) => {
    const [created, updated] = await outcomes(does);
    expect([created, updated]).toEqual([{ status: 400 }, expect.objectContaining({ status: 400, ...BODY })]);
  });

  it('is refused with one sentence that names the list', async () => {
    const { body } = await app.post('/routes', { ...BODY, does: 'moves entries' });
    const detail =
      'A hook changed "steps", whose entries have hidden fields, and left some of them out. It must set them in every entry.';
    expect(body).toMatchObject({ code: 'VALIDATION_FAILED', errors: [{ pointer: '/steps', detail }] });
  });

  it.each<[string, object]>([
    ['sets the list', { steps: STEPS.map(({ name }) => ({ name, code: `set ${name}` })) }],
    ['copies the list', { steps: STEPS }],
    ['notes it in a nested object', { start: { note: 'seen', steps: STEPS } }],
  ])('keeps what it does not change if it %s', async (does, expected) => {
    const [created, updated] = await outcomes(does);
    expect([created, updated]).toMatchObject([
      { status: 201, ...expected },
      { status: 200, ...expected },
    ]);
  });

  it('keeps bytes beside what it changes', async () => {
    const texts = (bytes: unknown) => Object.values(bytes as object).map(String);
    const [, turned] = await outcomes('turns the keys');
    expect(texts(turned?.keys)).toEqual(['two', 'one']);
    const { body } = await app.post('/routes', { ...BODY, does: 'nothing' });
    await app.patch(`/routes/${body._id}`, { does: 'adds a mark' });
    const found = await app.database.collection<Route>('routes').findOne({ does: 'adds a mark' });
    expect(texts(found?.marks)).toEqual(['wax', 'ink']);
  });

  it('documents answers without them', async () => {
    const { body } = await app.get('/docs/openapi.json');
    const { steps, parcels, start, seal } = body.components.schemas.Route.properties;
    const members = [steps.items, parcels.items, start, start.properties.steps.items, seal].map(
      ({ properties, required }) => [Object.keys(properties as object), required],
    );
    expect(members).toEqual([
      [['name'], ['name']],
      [['name', 'stamps'], ['name']],
      [['note', 'steps'], ['steps']],
      [['name'], ['name']],
      [['note'], undefined],
    ]);
    const { steps: sent } = body.components.schemas.RouteCreate.properties;
    expect(sent.items.required).toEqual(['name', 'code']);
  });
});

/** @mongodb */
import { Prop, Schema } from '@nestjs/mongoose';
import { CrudModule } from '../../../src/common/crud/index.js';
import { IsListOf, IsNested, IsText } from '../../../src/common/fields/index.js';
import { createResourceApp } from '../../support/resource-app.js';
import type { TestApp } from '../../support/test-app.js';

/** A step of a route: its code is for the driver alone. */
class Step {
  @Prop({ type: String, required: true })
  @IsText({ max: 20 })
  name!: string;

  @Prop({ type: String, required: true, select: false })
  @IsText({ max: 20 })
  code!: string;
}

/** A parcel, with a list of its own. */
class Parcel extends Step {
  @IsListOf(() => Step, { max: 10, optional: true })
  stamps?: Step[];
}

class Start {
  @IsListOf(() => Step, { max: 10 })
  steps!: Step[];
}

/** Clients see nothing of it that is required. */
class Seal {
  @IsText({ max: 20, optional: true })
  note?: string;

  @Prop({ type: String, required: true, select: false })
  @IsText({ max: 20 })
  code!: string;
}

class RouteInput {
  @IsText({ max: 20 })
  does!: string;

  @IsListOf(() => Step, { max: 10, optional: true })
  steps?: Step[];

  @IsListOf(() => Parcel, { max: 10, optional: true })
  parcels?: Parcel[];

  @IsNested(() => Start, { optional: true })
  start?: Start;

  @IsNested(() => Seal, { optional: true })
  seal?: Seal;
}

@Schema({ timestamps: true })
class Route extends RouteInput {}

/** What a hook does with its draft, by the field `does`. */
const EDITS: Record<string, (route: Partial<Route>) => unknown> = {
  renames: ({ steps }) => steps?.forEach((step) => (step.name = step.name.toUpperCase())),
  turns: (route) => (route.steps = route.steps?.toReversed()),
  'removes the first': ({ steps }) => steps?.shift(),
  'copies and turns': (route) => (route.steps = route.steps?.map((step) => ({ ...step })).reverse()),
  adds: ({ steps }) => steps?.unshift({ name: 'new', code: 'of new' }),
  'sets a code': ({ steps = [] }) => Object.assign(steps[0] ?? {}, { code: 'set' }),
  stamps: ({ parcels }) => parcels?.forEach(({ stamps }) => stamps?.reverse()),
  'moves a stamp': ({ parcels = [] }) => {
    const moved = parcels[0]?.stamps?.pop();
    if (moved) parcels.push({ name: 'moved', code: 'of moved', stamps: [moved] });
  },
  starts: ({ start }) => start?.steps.forEach((step) => (step.name = step.name.toUpperCase())),
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
  let app: TestApp;
  beforeAll(async () => {
    app = await createResourceApp(routes);
  });
  beforeEach(() => app.empty());
  afterAll(() => app.close());

  const stored = async () => {
    const found = await app.database.collection('routes').findOne({});
    const parcels = (found?.parcels as Parcel[] | undefined)?.map(({ name, code, stamps }) => ({
      name,
      code,
      stamps,
    }));
    return { steps: found?.steps as Step[], parcels, start: found?.start as Start };
  };

  /** What is stored after a create whose hook does this. */
  async function created(does: string) {
    const answer = await app.post('/routes', { ...BODY, does });
    expect([answer.status, does]).toEqual([201, does]);
    return stored();
  }

  /** What is stored after an update whose hook does this. */
  async function updated(does: string, change: object = {}) {
    const { body } = await app.post('/routes', { ...BODY, does: 'nothing' });
    const answer = await app.patch(`/routes/${body._id}`, { does, ...change });
    expect([answer.status, does]).toEqual([200, does]);
    expect((await app.get('/routes')).text).not.toContain('of ');
    return stored();
  }

  const upper = STEPS.map(({ name, code }) => ({ name: name.toUpperCase(), code }));
  const [a, b, c] = STEPS;
  it.each([
    ['renames', upper],
    ['turns', [c, b, a]],
    ['copies and turns', [c, b, a]],
    ['removes the first', [b, c]],
    ['adds', [step('new'), a, b, c]],
    ['sets a code', [{ name: 'a', code: 'set' }, b, c]],
  ])('keeps them if it %s', async (does, steps) => {
    expect((await created(does)).steps).toEqual(steps);
    await app.empty();
    expect((await updated(does)).steps).toEqual(steps);
  });

  it('keeps those of a list that the client has sent', async () => {
    const { steps } = await updated('renames', { steps: [step('x'), step('y')] });
    expect(steps).toEqual([
      { name: 'X', code: 'of x' },
      { name: 'Y', code: 'of y' },
    ]);
  });

  it('keeps them in lists of entries', async () => {
    const turned = PARCELS.map(({ stamps, ...parcel }) => ({ ...parcel, stamps: stamps.toReversed() }));
    expect((await created('stamps')).parcels).toEqual(turned);
    await app.empty();
    expect((await updated('stamps')).parcels).toEqual(turned);
  });

  it('keeps them if an entry moves into a new one', async () => {
    const { parcels } = await updated('moves a stamp');
    expect(parcels).toEqual([
      { ...step('p'), stamps: [step('s')] },
      PARCELS[1],
      { ...step('moved'), stamps: [step('t')] },
    ]);
  });

  it('keeps them in a list of a nested object', async () => {
    expect((await created('starts')).start).toEqual({ steps: upper });
    await app.empty();
    expect((await updated('starts')).start).toEqual({ steps: upper });
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
      [['steps'], ['steps']],
      [['name'], ['name']],
      [['note'], undefined],
    ]);
    const { steps: sent } = body.components.schemas.RouteCreate.properties;
    expect(sent.items.required).toEqual(['name', 'code']);
  });
});

/** @mongodb */
import { Prop, Schema } from '@nestjs/mongoose';
import { type BeforeUpdate, CrudModule } from '../../../src/common/crud/index.js';
import { IsListOf, IsNested, IsText } from '../../../src/common/fields/index.js';
import { createResourceApp } from '../../support/resource-app.js';
import type { TestApp } from '../../support/test-app.js';

/** An entry: its code is for the house alone. */
class Item {
  @IsText({ max: 20 })
  name!: string;

  @Prop({ type: String, required: true, select: false })
  @IsText({ max: 20 })
  code!: string;
}

/** It shows what an item hides. */
class Open {
  @IsText({ max: 20 })
  name!: string;

  @IsText({ max: 20, optional: true })
  code?: string;
}

class Shelf {
  @IsText({ max: 20, optional: true })
  label?: string;

  @IsListOf(() => Item, { max: 10, optional: true })
  items?: Item[];
}

class RoomInput {
  @IsText({ max: 40 })
  does!: string;

  @IsListOf(() => Item, { max: 10, optional: true })
  items?: Item[];

  @IsListOf(() => Item, { max: 10, optional: true })
  others?: Item[];

  @IsListOf(() => Open, { max: 10, optional: true })
  opened?: Open[];

  @IsNested(() => Shelf, { optional: true })
  shelf?: Shelf;

  @IsListOf(() => Shelf, { max: 10, optional: true })
  shelves?: Shelf[];
}

@Schema({ timestamps: true })
class Room extends RoomInput {
  @Prop({ type: [Buffer], default: () => [Buffer.from('one'), Buffer.from('two')] })
  keys?: Buffer[];

  @Prop({ type: Map, of: Buffer, default: () => new Map([['seal', Buffer.from('wax')]]) })
  marks?: Map<string, Buffer>;
}

/** What a hook kept of the record of another request. */
let kept: Item[] = [];

/** What a hook does with its draft, by the field `does`. */
const EDITS: Record<string, (room: Room, previous: Room) => unknown> = {
  'into another list': (room) => (room.others = room.items?.splice(0, 1)),
  'into a new object': (room) => (room.shelf = { items: room.items?.splice(0, 1) }),
  'into an object of a new entry': (room) => (room.shelves = [{ items: room.items?.splice(0, 1) }]),
  'into a list that shows it': (room) => (room.opened = room.items?.splice(0, 1)),
  'back from before': (room, { items = [] }) => (room.items = [...items, ...(room.items ?? [])]),
  'keeps the list': ({ items = [] }: Room) => (kept = items),
  'takes the kept list': (room) => (room.items = kept.map((item) => ({ ...item, code: 'new' }))),
  'takes kept items without code': (room) => (room.items = kept),
  'labels the shelf': ({ shelf }) => shelf && (shelf.label = 'labelled'),
  'turns the keys': ({ keys }) => keys?.reverse(),
  'adds a mark': ({ marks }) => Object.assign(marks as object, { new: Buffer.from('ink') }),
};

const rooms = CrudModule.forFeature({
  entity: Room,
  input: RoomInput,
  name: 'rooms',
  hooks: {
    beforeUpdate: ({ record, previous }: BeforeUpdate<Room, RoomInput>) =>
      void EDITS[record.does]?.(record, previous),
  },
});

const item = (name: string) => ({ name, code: `code of ${name}` });
const ITEMS = [item('a'), item('b')];

describe('a hook that moves what it does not see as a whole', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createResourceApp(rooms);
  });
  beforeEach(() => app.empty());
  afterAll(() => app.close());

  /** The status of an update whose hook does this, and what is stored after it. */
  async function updated(does: string, change: object = {}, items = ITEMS) {
    const { body } = await app.post('/rooms', { does: 'nothing', items });
    const { status } = await app.patch(`/rooms/${body._id}`, { does, ...change });
    const { text } = await app.get(`/rooms/${body._id}?fields=items,others,opened,shelf,shelves`);
    expect(text).not.toContain('code of');
    return { status, ...(await app.database.collection<Room>('rooms').findOne({ does })) };
  }

  const [a, b] = ITEMS;
  it.each([
    ['into another list', { items: [b], others: [a] }],
    ['into a new object', { items: [b], shelf: { items: [a] } }],
    ['into an object of a new entry', { items: [b], shelves: [{ items: [a] }] }],
    ['into a list that shows it', { items: [b], opened: [{ name: 'a' }] }],
  ])('keeps hidden members of an entry that moves %s', async (does, expected) => {
    expect(await updated(does)).toMatchObject({ status: 200, ...expected });
  });

  it('keeps hidden members of entries that it takes from the record before', async () => {
    const items = [item('c')];
    expect(await updated('back from before', { items })).toMatchObject({
      status: 200,
      items: [...ITEMS, ...items],
    });
  });

  it('gives entries of another record no hidden members of this one', async () => {
    await updated('keeps the list', {}, [item('x'), item('y')]);
    expect(await updated('takes kept items without code')).toMatchObject({ status: 400 });
    const items = ['x', 'y'].map((name) => ({ name, code: 'new' }));
    expect(await updated('takes the kept list')).toMatchObject({ status: 200, items });
  });

  it('changes a nested object that the update has added', async () => {
    const shelf = { label: 'sent', items: ITEMS };
    expect(await updated('labels the shelf', { shelf })).toMatchObject({
      status: 200,
      shelf: { label: 'labelled', items: ITEMS },
    });
  });

  it('keeps bytes beside what it changes', async () => {
    const texts = (bytes: unknown) => Object.values(bytes as object).map((one) => (one as Buffer).toString());
    expect(texts((await updated('turns the keys')).keys)).toEqual(['two', 'one']);
    expect(texts((await updated('adds a mark')).marks)).toEqual(['wax', 'ink']);
  });
});

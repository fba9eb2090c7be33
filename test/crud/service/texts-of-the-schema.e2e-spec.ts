import { Prop, Schema } from '@nestjs/mongoose';
import { IsString } from 'class-validator';
import mongoose, { Schema as MongooseSchema } from 'mongoose';
import { CrudModule } from '../../../src/common/crud/index.js';
import { IsListOf, IsNested, IsText, schemaOf } from '../../../src/common/fields/index.js';
import { useResourceApp } from '../../support/resource-app.js';
import { resource, feature, type Made } from '../../support/resource.js';

class Plate {
  @IsText({ max: 20 }) word!: string;
  @IsText({ max: 20 }) font!: string;
  @IsNested(() => Plate, { optional: true }) below?: Plate;
}

class Sign {
  @IsText({ max: 20 }) word!: string;
  @IsText({ max: 20, optional: true }) note?: string;
}

class DoorInput {
  @IsText({ max: 20 }) name!: string;
  @IsText({ max: 400 }) secret!: string;
}

/** The schema below decides what of it is stored, and sets what a create leaves out. */
@Schema({ timestamps: true })
class Door extends DoorInput {
  @IsText({ max: 20 }) slug!: string;
  @IsNested(() => Plate, { optional: true }) plate?: Plate;
  @IsListOf(() => Plate, { max: 3, optional: true }) plates?: Plate[];
  @IsNested(() => Sign, { optional: true }) inside?: Sign;

  @IsText({ max: 40 })
  get shout(): string {
    return `${this.name}!`;
  }
}

const plate = new MongooseSchema({ word: String, font: { type: String, default: 'serif' } }, { _id: false });
plate.add({ below: plate });

function slugOf(this: { name: string }): string {
  return this.name.toLowerCase();
}

const doors = CrudModule.forFeature({
  entity: Door,
  input: DoorInput,
  name: 'doors',
  schema: new MongooseSchema<Door>(
    {
      name: String,
      slug: { type: String, default: slugOf },
      plate,
      plates: { type: [plate], default: undefined },
      inside: { word: String, note: String },
    },
    { timestamps: true },
  ),
  writeOnly: ['secret'],
  hooks: {
    beforeCreate({ input, record }) {
      const set = JSON.parse(input.secret) as Pick<Door, 'plate' | 'plates' | 'inside'>;
      Object.assign(record, set);
    },
  },
});

const trimsName = {
  beforeCreate: ({ record }: { record: Made }) => void (record.name = (record.name as string).trim()),
};

const lampOptions = resource({
  name: 'lamps',
  fields: { name: IsText({ max: 20 }) },
  kept: {
    room: [Prop({ type: String, required: false }), IsText({ max: 20 })],
    maker: [Prop({ type: String }), IsString()],
    slug: IsText({ max: 20 }),
  },
  hooks: trimsName,
});
lampOptions.schema = schemaOf(lampOptions.entity);
lampOptions.schema.path('slug').default(slugOf);
const lamps = CrudModule.forFeature(lampOptions);

/** A global plugin, which Mongoose applies to the schemas of models as it makes them. */
mongoose.plugin((schema) => {
  if (schema.path('engraving')) {
    schema.pre('validate', function () {
      this.set({ engraving: 'Made with care' });
    });
  }
});

const bells = feature({
  name: 'bells',
  fields: { name: IsText({ max: 20 }) },
  kept: { engraving: IsText({ max: 20 }) },
  query: { search: ['name'] },
  hooks: trimsName,
});

describe('a create with a hook, whose schema differs from the class', () => {
  const app = useResourceApp(doors, lamps, bells);
  beforeEach(() => app.empty());

  const open = async (set: object) => {
    const { status, body } = await app.post('/doors', { name: 'Oak', secret: JSON.stringify(set) });
    if (status !== 201) return [status, ...body.errors.map(({ pointer }: { pointer: string }) => pointer)];
    const { _id, createdAt, updatedAt, ...record } = (await app.get('/doors')).body[0];
    expect([_id, createdAt, updatedAt]).not.toContain(undefined);
    return record;
  };

  it('needs no text that the schema sets or does not have', async () => {
    expect(await open({})).toEqual({ name: 'Oak', slug: 'oak' });
  });

  it('needs no nested text that the schema sets', async () => {
    const word = { word: 'Pull' };
    expect(await open({ plate: { ...word, below: word }, plates: [word], inside: word })).toEqual({
      name: 'Oak',
      slug: 'oak',
      plate: { ...word, font: 'serif', below: { ...word, font: 'serif' } },
      plates: [{ ...word, font: 'serif' }],
      inside: word,
    });
  });

  it.each([
    [{ name: null }, ['/name']],
    [{ plate: {} }, ['/plate/word']],
    [
      { plate: { word: '', below: { word: '', below: { word: '', below: {} } } } },
      ['/plate/below/below/below/word'],
    ],
    [{ plates: [{ word: '' }, {}] }, ['/plates/1/word']],
    [{ inside: { note: '' } }, ['/inside/word']],
  ])('still needs the others: %j', async (set, pointers) => {
    expect(await open(set)).toEqual([400, ...pointers]);
    expect(await app.database.collection('doors').countDocuments()).toBe(0);
  });

  it('needs no text that only a class-validator or @Prop({ required: false }) describes', async () => {
    const { status } = await app.post('/lamps', { name: ' Desk ' });
    expect(status).toBe(201);
    expect((await app.get('/lamps')).body).toMatchObject([{ name: 'Desk', slug: 'desk' }]);
  });

  it('needs no text that a global plugin sets', async () => {
    expect((await app.post('/bells', { name: ' Ship ' })).status).toBe(201);
    expect((await app.get('/bells?q=ship')).body).toMatchObject([
      { name: 'Ship', engraving: 'Made with care' },
    ]);
  });
});

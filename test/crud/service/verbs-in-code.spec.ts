import { Prop, Schema } from '@nestjs/mongoose';
import { IsObject, IsOptional } from 'class-validator';
import {
  CrudModule,
  crudOptions,
  type CrudService,
  getCrudServiceToken,
} from '../../../src/common/crud/index.js';
import { createCrudTestingModule, type CrudTestingModule } from '../../../src/common/crud/testing/index.js';
import { IsReference, IsText, IsWholeNumber } from '../../../src/common/fields/index.js';
import { unrestrictedScope } from '../../../src/common/tenancy/index.js';

class ShelfInput {
  @IsText({ min: 1, max: 80 }) name!: string;
}

@Schema({ timestamps: true })
class Shelf extends ShelfInput {}

class BookInput {
  @IsText({ min: 1, max: 80 }) title!: string;
  @IsReference(() => Shelf) shelf!: string;

  @Prop({ type: Map, of: Number })
  @IsOptional()
  @IsObject()
  ratings?: Record<string, number>;
}

@Schema({ timestamps: true })
class Book extends BookInput {
  @IsWholeNumber({ min: 0, optional: true }) loans?: number;
  @IsReference(() => Shelf, { optional: true }) returnsTo?: string;
}

const scope = unrestrictedScope();
const NOWHERE = '665f1c2ab7e3a90d4c8b4567';

/** What the hook sets, and whether it was asked. */
const hook = { returnsTo: undefined as string | undefined, calls: 0 };

const books = crudOptions({
  entity: Book,
  input: BookInput,
  name: 'books',
  references: { shelf: { to: Shelf }, returnsTo: { to: Shelf } },
  hooks: {
    beforeCreate: ({ record }) => {
      hook.calls++;
      if (hook.returnsTo !== undefined) record.returnsTo = hook.returnsTo;
    },
    beforeUpdate: ({ record }) => {
      hook.calls++;
      if (hook.returnsTo !== undefined) record.returnsTo = hook.returnsTo;
    },
  },
});

describe('the verbs of a service, called in code', () => {
  let testing: CrudTestingModule<CrudService<Book, BookInput>>;
  let shelf: string;
  beforeAll(async () => {
    const shelves = { entity: Shelf, input: ShelfInput, name: 'shelves' };
    testing = await createCrudTestingModule(books, { others: [CrudModule.forFeature(shelves)] });
    const service = testing.module.get<CrudService<Shelf, ShelfInput>>(getCrudServiceToken(Shelf), {
      strict: false,
    });
    shelf = (await service.create(scope, { name: 'A' }))._id.toHexString();
  });
  afterAll(() => testing.close());
  beforeEach(() => Object.assign(hook, { returnsTo: undefined, calls: 0 }));

  const faults = (details: object[]) => expect.objectContaining({ errors: details }) as Error;
  const noShelf = (field: string) => [
    { pointer: `/${field}`, detail: `"${field}" names no shelf that you can use.` },
  ];

  it('accept fields that clients may not send, but not misspelt ones', async () => {
    const { service } = testing;
    const { _id } = await service.create(scope, { title: 'Emma', shelf, loans: 2 });
    expect(await service.update(scope, _id, { loans: 3 })).toMatchObject({ title: 'Emma', loans: 3 });
    // @ts-expect-error `laons` is not a field of Book: an unused expectation fails the type check.
    const misspelt = () => service.create(scope, { title: 'Emma', shelf, laons: 2 });
    await expect(misspelt()).rejects.toEqual(
      faults([
        { pointer: '/laons', detail: '"laons" is not an input field. Allowed: title, shelf, ratings.' },
      ]),
    );
  });

  it('check a reference before the hooks see it', async () => {
    const { service } = testing;
    const create = service.create(scope, { title: 'Emma', shelf: NOWHERE });
    await expect(create).rejects.toEqual(faults(noShelf('shelf')));
    expect(hook.calls).toBe(0);
    const { _id } = await service.create(scope, { title: 'Emma', shelf });
    await expect(service.update(scope, _id, { shelf: NOWHERE })).rejects.toEqual(faults(noShelf('shelf')));
    expect(hook.calls).toBe(1);
  });

  it('check a reference that a hook sets', async () => {
    const { service } = testing;
    const { _id } = await service.create(scope, { title: 'Emma', shelf });
    hook.returnsTo = NOWHERE;
    const create = service.create(scope, { title: 'Emma', shelf });
    await expect(create).rejects.toEqual(faults(noShelf('returnsTo')));
    const update = service.update(scope, _id, { title: 'Persuasion' });
    await expect(update).rejects.toEqual(faults(noShelf('returnsTo')));
    hook.returnsTo = shelf;
    expect(String((await service.update(scope, _id, { title: 'Persuasion' })).returnsTo)).toBe(shelf);
  });

  it('convert nothing in a map', async () => {
    const { service } = testing;
    const ratings = { ada: '5' } as unknown as Record<string, number>;
    const create = service.create(scope, { title: 'Emma', shelf, ratings });
    await expect(create).rejects.toEqual(
      faults([{ pointer: '/ratings/ada', detail: '"ratings.ada" must be a number.' }]),
    );
    const { _id } = await service.create(scope, { title: 'Emma', shelf, ratings: { ada: 5 } });
    await expect(service.update(scope, _id, { ratings })).rejects.toEqual(
      faults([{ pointer: '/ratings', detail: 'Every entry of "ratings" must be a number.' }]),
    );
  });
});

import { type DynamicModule, forwardRef, Inject, Injectable, Module, type Type } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import {
  type BeforeCreate,
  CrudModule,
  crudOptions,
  CrudService,
  getCrudServiceToken,
  InjectCrudService,
} from '../../../src/index.js';
import { type Made, resource } from '../../support/resource.js';
import { createResourceApp } from '../../support/resource-app.js';

type Service = CrudService<Made, Made>;
type Overrides = Parameters<typeof CrudModule.forFeature<Made, Made, Made>>[1];

const [authors, books] = [resource({ name: 'authors' }), resource({ name: 'books' })];
const [Author, Book] = [authors.entity, books.entity];

@Injectable()
class AuthorHooks {
  constructor(@InjectCrudService(Book) readonly books: Service) {}
  beforeCreate() {}
}
@Injectable()
class BookHooks {
  constructor(@InjectCrudService(Author) readonly authors: Service) {}
  beforeCreate() {}
}

/** Starts both resources, whose modules import each other. */
function start(hooks: Type<object>, ofBooks: typeof books, overrides: Overrides = {}) {
  const imports = [forwardRef(() => second)];
  const first: DynamicModule = CrudModule.forFeature({ ...authors, hooks }, { imports });
  const second = CrudModule.forFeature(ofBooks, { ...overrides, imports: [forwardRef(() => first)] });
  return createResourceApp(first, second);
}

describe('services that wait for each other', () => {
  @Injectable()
  class ByProperty {
    @InjectCrudService(Author) readonly authors!: Service;
    beforeCreate() {}
  }
  @Injectable()
  class Counter {
    constructor(@InjectCrudService(Author) readonly authors: Service) {}
  }
  @Injectable()
  class Counting {
    constructor(readonly counter: Counter) {}
    beforeCreate() {}
  }
  const owned = crudOptions({ ...books, hooks: BookHooks });
  @Injectable()
  class BooksService extends CrudService.for(owned) {}
  @Injectable()
  class ByClass {
    constructor(readonly books: BooksService) {}
    beforeCreate() {}
  }

  it.each<[how: string, named: string, hooks: Type, ofBooks: typeof books, more?: Overrides]>([
    ['by their hooks', 'BookCrudResource', AuthorHooks, { ...books, hooks: BookHooks }],
    ['by a property', 'AuthorCrudService', AuthorHooks, { ...books, hooks: ByProperty }],
    [
      'by a provider',
      'BookCrudResource',
      AuthorHooks,
      { ...books, hooks: Counting },
      { providers: [Counter] },
    ],
    ['by the class of a service', 'BookCrudResource', ByClass, owned, { service: BooksService }],
  ])('%s stop the start with a sentence of Nest that names %s', async (_how, named, hooks, ofBooks, more) => {
    await expect(start(hooks, ofBooks, more)).rejects.toThrow(
      new RegExp(`A circular dependency has been detected inside "${named}\\d*"`),
    );
  });

  it('start if only one waits, and the other takes it when it needs it, by ModuleRef', async () => {
    @Injectable()
    class Late {
      constructor(private readonly moduleRef: ModuleRef) {}

      async beforeCreate({ scope, record }: BeforeCreate<Made, Made>) {
        const authors = this.moduleRef.get<Service>(getCrudServiceToken(Author), { strict: false });
        record.text = `${await authors.count(scope)} authors`;
      }
    }
    await using app = await start(AuthorHooks, { ...books, hooks: Late });
    const { _id } = (await app.post('/books', { text: 'Middlemarch' })).body;
    expect((await app.get(`/books/${_id}`)).body.text).toBe('0 authors');
  });

  it('start if what they share has only its token in common', async () => {
    @Module({ providers: [{ provide: 'GREETING', useValue: 'Hello, ' }], exports: ['GREETING'] })
    class GreetingModule {}
    @Injectable()
    class Greeting {
      constructor(@Inject('GREETING') private readonly greeting: string) {}

      beforeCreate({ record }: BeforeCreate<Made, Made>) {
        record.text = `${this.greeting}${String(record.text)}`;
      }
    }
    const greeted = CrudModule.forFeature({ ...books, hooks: Greeting }, { imports: [GreetingModule] });
    const greeting = { provide: 'GREETING', useFactory: String, inject: [getCrudServiceToken(Book)] };
    const dependent = CrudModule.forFeature(authors, { imports: [greeted], providers: [greeting] });
    await using app = await createResourceApp(dependent, greeted);
    const { _id } = (await app.post('/books', { text: 'world' })).body;
    expect((await app.get(`/books/${_id}`)).body.text).toBe('Hello, world');
  });
});

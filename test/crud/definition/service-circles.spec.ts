import { type DynamicModule, forwardRef, Inject, Injectable, Module, Scope, type Type } from '@nestjs/common';
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

/** Starts both resources, whose modules import each other. */
function start(hooks: Type<object>, ofBooks: typeof books, overrides: Overrides = {}) {
  const imports = [forwardRef(() => second)];
  const first: DynamicModule = CrudModule.forFeature({ ...authors, hooks }, { imports });
  const second = CrudModule.forFeature(ofBooks, { ...overrides, imports: [forwardRef(() => first)] });
  return createResourceApp(first, second);
}

describe('hooks that inject services', () => {
  @Injectable()
  class Counter {
    constructor(@InjectCrudService(Author) readonly authors: Service) {}
  }
  @Injectable()
  class Counting {
    constructor(private readonly counter: Counter) {}

    async beforeCreate({ scope, record }: BeforeCreate<Made, Made>) {
      record.text = `${await this.counter.authors.count(scope)} authors`;
    }
  }
  const owned = crudOptions({ ...books, hooks: Counting });
  @Injectable()
  class BooksService extends CrudService.for(owned) {}
  @Injectable()
  class ByClass {
    constructor(private readonly books: BooksService) {}

    async beforeCreate({ scope, record }: BeforeCreate<Made, Made>) {
      record.text = `${await this.books.count(scope)} books`;
    }
  }

  it('of each other count its records', async () => {
    const overrides = { providers: [Counter], service: BooksService };
    await using app = await start(ByClass, owned, overrides);
    const author = (await app.post('/authors', { text: 'George Eliot' })).body._id;
    const book = (await app.post('/books', { text: 'Middlemarch' })).body._id;
    expect((await app.get(`/authors/${author}`)).body.text).toBe('0 books');
    expect((await app.get(`/books/${book}`)).body.text).toBe('1 authors');
  });

  it('stop the start if Nest makes them for each request', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class PerRequest {
      beforeCreate() {}
    }
    const starting = createResourceApp(CrudModule.forFeature({ ...books, hooks: PerRequest }));
    await expect(starting).rejects.toThrow('PerRequest is marked as a scoped provider.');
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

import { type DynamicModule, forwardRef, Inject, Injectable, Module, type Type } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { Schema } from '@nestjs/mongoose';
import {
  type BeforeCreate,
  CrudModule,
  crudOptions,
  CrudService,
  getCrudServiceToken,
  InjectCrudService,
} from '../../../src/common/crud/index.js';
import { IsText } from '../../../src/common/fields/index.js';
import { createResourceApp } from '../../support/resource-app.js';

class NameInput {
  @IsText({ max: 80 }) name!: string;
}

@Schema({ timestamps: true })
class Author extends NameInput {}

@Schema({ timestamps: true })
class Book extends NameInput {}

@Injectable()
class AuthorHooks {
  constructor(@InjectCrudService(Book) readonly books: CrudService<Book, NameInput>) {}
  beforeCreate() {}
}

@Injectable()
class BookHooks {
  constructor(@InjectCrudService(Author) readonly authors: CrudService<Author, NameInput>) {}
  beforeCreate() {}
}

/** Nest's own sentence, with the name of what it was about to make. */
const circleOf = (name: string) => new RegExp(`A circular dependency has been detected inside "${name}\\d*"`);

/** Starts both resources, whose modules import each other. */
function start(hooks: { authors?: Type<object>; books?: Type<object> }, providers: Type<object>[] = []) {
  const authors: DynamicModule = CrudModule.forFeature(
    { entity: Author, input: NameInput, name: 'authors', ...(hooks.authors && { hooks: hooks.authors }) },
    { imports: [forwardRef(() => books)] },
  );
  const books: DynamicModule = CrudModule.forFeature(
    { entity: Book, input: NameInput, name: 'books', ...(hooks.books && { hooks: hooks.books }) },
    { providers, imports: [forwardRef(() => authors)] },
  );
  return createResourceApp(authors, books);
}

describe('services that wait for each other', () => {
  it('by their hooks stop the start with a sentence that names a resource', async () => {
    await expect(start({ authors: AuthorHooks, books: BookHooks })).rejects.toThrow(
      circleOf('BookCrudResource'),
    );
  });

  it('by a property stop it, too', async () => {
    @Injectable()
    class ByProperty {
      @InjectCrudService(Author) readonly authors!: CrudService<Author, NameInput>;
      beforeCreate() {}
    }
    await expect(start({ authors: AuthorHooks, books: ByProperty })).rejects.toThrow(
      circleOf('AuthorCrudService'),
    );
  });

  it('by a provider between them stop it, too', async () => {
    @Injectable()
    class Counter {
      constructor(@InjectCrudService(Author) readonly authors: CrudService<Author, NameInput>) {}
    }
    @Injectable()
    class Counting {
      constructor(readonly counter: Counter) {}
      beforeCreate() {}
    }
    await expect(start({ authors: AuthorHooks, books: Counting }, [Counter])).rejects.toThrow(
      circleOf('BookCrudResource'),
    );
  });

  it('by the class of a service of the feature’s own stop it, too', async () => {
    const options = crudOptions({ entity: Book, input: NameInput, name: 'books', hooks: BookHooks });
    @Injectable()
    class BooksService extends CrudService.for(options) {}
    @Injectable()
    class ByClass {
      constructor(readonly books: BooksService) {}
      beforeCreate() {}
    }
    const authors: DynamicModule = CrudModule.forFeature(
      { entity: Author, input: NameInput, name: 'authors', hooks: ByClass },
      { imports: [forwardRef(() => books)] },
    );
    const books: DynamicModule = CrudModule.forFeature(options, {
      service: BooksService,
      imports: [forwardRef(() => authors)],
    });
    await expect(createResourceApp(authors, books)).rejects.toThrow(circleOf('BookCrudResource'));
  });

  it('start if one takes the other when it needs it, by ModuleRef', async () => {
    @Injectable()
    class Late {
      constructor(private readonly moduleRef: ModuleRef) {}

      async beforeCreate({ scope, record }: BeforeCreate<Book, NameInput>) {
        const token = getCrudServiceToken(Author);
        const authors = this.moduleRef.get<CrudService<Author, NameInput>>(token, { strict: false });
        record.name = `${await authors.count(scope)} authors`;
      }
    }
    const app = await start({ authors: AuthorHooks, books: Late });
    const { _id } = (await app.post('/books', { name: 'Middlemarch' })).body;
    expect((await app.get(`/books/${_id}`)).body.name).toBe('0 authors');
    await app.close();
  });

  it('start if only one waits', async () => {
    const app = await start({ authors: AuthorHooks });
    await app.close();
  });

  it('start if what they share has only its token in common', async () => {
    @Module({ providers: [{ provide: 'GREETING', useValue: 'Hello, ' }], exports: ['GREETING'] })
    class GreetingModule {}
    @Injectable()
    class Greeting {
      constructor(@Inject('GREETING') private readonly greeting: string) {}

      beforeCreate({ record }: BeforeCreate<Book, NameInput>) {
        record.name = this.greeting + record.name;
      }
    }
    const books = CrudModule.forFeature(
      { entity: Book, input: NameInput, name: 'books', hooks: Greeting },
      { imports: [GreetingModule] },
    );
    const greeting = { provide: 'GREETING', useFactory: String, inject: [getCrudServiceToken(Book)] };
    const authors = CrudModule.forFeature(
      { entity: Author, input: NameInput, name: 'authors' },
      { imports: [books], providers: [greeting] },
    );
    const app = await createResourceApp(authors, books);
    const { _id } = (await app.post('/books', { name: 'world' })).body;
    expect((await app.get(`/books/${_id}`)).body.name).toBe('Hello, world');
    await app.close();
  });
});

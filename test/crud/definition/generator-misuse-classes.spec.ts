import { Controller, Get, type Type } from '@nestjs/common';
import { Prop, Schema } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import * as f from '../../../src/common/fields/index.js';
import { CrudController, CrudModule, crudOptions, CrudService, currentTenant } from '../../../src/index.js';
import { cycle, type MisuseCases } from '../../support/misused-classes.js';
import { resource as made, type Outline } from '../../support/resource.js';
import { createResourceApp } from '../../support/resource-app.js';

/** A resource whose records may belong to a tenant, and to a parent. */
const resource = (outline: Outline) =>
  made({
    kept: { tenant: Prop({ type: Types.ObjectId }), parent: Prop({ type: Types.ObjectId }) },
    ...outline,
  });
type Options = ReturnType<typeof made>;
const notes = resource({ name: 'notes' });
const others = crudOptions({ ...notes });
const prefix = 'CrudModule.forFeature(Note): ';

describe('a wrong class stops the start with one sentence', () => {
  class Plain {}
  class OfOthers extends CrudController(others) {}
  class ServiceOfOthers extends CrudService.for(others) {}
  class Undecorated extends CrudService.for(notes) {
    constructor(readonly other: Plain) {
      super();
    }
  }
  class UndecoratedController extends CrudController(notes) {
    constructor(readonly other: Plain) {
      super();
    }
  }
  class PinsService extends CrudService.for(notes) {}
  class OtherService extends CrudService.for(notes) {}
  class Pinning extends CrudController(notes, PinsService) {}
  @Controller('elsewhere')
  class Elsewhere extends CrudController(notes) {}

  const members = 'It takes controller, service, providers, imports.';
  const list = 'must be a list; if an entry is undefined, break the cycle of imports.';
  const notOf = (what: string, { name }: { readonly name: string }, base: string) =>
    `${name} does not extend the generated ${what} of these options. Write: class ${name} extends ${base}, with the same options.`;
  const uninjected =
    'has a constructor, but no decorator that tells Nest what to inject. Add @Injectable() to it.';
  const cases: MisuseCases = {
    [`the second argument must be an object. ${members}`]: [null as never],
    [`the second argument has no "controler". ${members}`]: { controler: Plain },
    [`controller is undefined. ${cycle}`]: { controller: undefined },
    [`service is undefined. ${cycle}`]: { service: undefined },
    'service must be a class.': { service: {} },
    [`providers ${list}`]: [{ providers: {} }, { providers: [undefined] }],
    [`imports ${list}`]: { imports: [Plain, undefined] },
    ...Object.fromEntries(
      [Plain, OfOthers].map((one) => [
        notOf('controller', one, 'CrudController(options)'),
        { controller: one },
      ]),
    ),
    [`UndecoratedController ${uninjected}`]: { controller: UndecoratedController },
    'Elsewhere has @Controller("elsewhere"). Write the path as the option path, or leave it out.': {
      controller: Elsewhere,
    },
    ...Object.fromEntries(
      [Plain, CrudService, ServiceOfOthers].map((one) => [
        notOf('service', one, 'CrudService.for(options)'),
        { service: one },
      ]),
    ),
    [`Undecorated ${uninjected}`]: { service: Undecorated },
    'Pinning uses PinsService, which is not the service of the resource. Pass { service: PinsService } beside the controller.':
      [{ controller: Pinning }, { controller: Pinning, service: OtherService }],
  };

  it.each(Object.entries(cases))('%s', (sentence, overrides) => {
    for (const one of [overrides].flat())
      expect(() => CrudModule.forFeature(notes, one)).toThrow(new Error(prefix + sentence));
  });

  it('accepts a controller with the service that it uses, or one that extends it', () => {
    class MorePins extends PinsService {}
    for (const service of [PinsService, MorePins])
      expect(() => CrudModule.forFeature(notes, { controller: Pinning, service })).not.toThrow();
  });

  it.each([undefined, null, 'notes', {}])('a class that is made before its options: %j', (options) => {
    const wrong = new Error(`CrudModule.forFeature(undefined): entity is undefined. ${cycle}`);
    expect(() => CrudModule.forFeature(options as never)).toThrow(wrong);
    expect(() => CrudService.for(options as never)).toThrow(wrong);
    expect(() => CrudController(options as never)).toThrow(wrong);
  });
});

describe('resources that do not fit together stop the start with one sentence', () => {
  const users = resource({ name: 'users' }).entity;
  const secret = resource({ name: 'secrets', isolationFields: { all: { tenant: currentTenant } } });
  const below = (entity: Type<object>) =>
    resource({ name: 'tasks', path: 'x/:p/tasks', parent: { entity, param: 'p', field: 'parent' } });
  const referring = (to: Type<object>) => resource({ name: 'tasks', references: { parent: { to } } });
  const absent = 'names User, which is not a resource. Import CrudModule.forFeature({ entity: User, … }).';
  const closed = (action: string) =>
    `names Secret, which takes a token to read, but the action ${action} asks for none. Add isolationFields.${action}.`;

  const cases: Readonly<Record<string, Options[]>> = {
    'Note): the class is the entity of the resource "notes" already. Extend it for a second resource.': [
      ...[notes, { ...notes, name: 'more', path: 'more' }],
    ],
    'Notes): another resource is named "notes", with the entity Note. Choose another name.': [
      ...[notes, resource({ name: 'notes', class: 'Notes', path: 'x' })],
    ],
    'Note): the entity of the resource "notes" is another class named Note. Rename one of the two.': [
      ...[notes, resource({ name: 'tasks', class: 'Note' })],
    ],
    'Task): the resource "notes" has the same path "notes". Choose another path.': [
      ...[notes, resource({ name: 'tasks', path: 'notes' })],
    ],
    [`Task): references.parent.to ${absent}`]: [referring(users)],
    [`Task): parent.entity ${absent}`]: [below(users)],
    [`Task): references.parent.to ${closed('create')}`]: [secret, referring(secret.entity)],
    [`Task): parent.entity ${closed('get')}`]: [secret, below(secret.entity)],
  };
  it.each(Object.entries(cases))('%s', async (sentence, options) => {
    const wrong = new Error(`CrudModule.forFeature(${sentence}`);
    await expect(createResourceApp(...options)).rejects.toThrow(wrong);
  });

  it('a controller that no forFeature has seen answers nothing', async () => {
    @Controller()
    class NotesController extends CrudController(notes) {
      @Get('notes/all') all() {
        return this.service;
      }
    }
    const imports = [CrudModule.forFeature(notes)];
    const loose = { module: class Loose {}, imports, controllers: [NotesController] };
    await using app = await createResourceApp(loose);
    expect((await fetch(`${app.url}/notes/all`)).status).toBe(500);
  });
});

describe('the class that @IsReference() names', () => {
  const [shops, categories] = [resource({ name: 'shops' }), resource({ name: 'categories' })];
  const [Shop, Category] = [shops.entity, categories.entity];
  @Schema({ timestamps: true })
  class Subcategory extends Category {}
  const subcategories: Options = { ...categories, entity: Subcategory, name: 'subcategories' };
  const one = f.IsReference(() => Category);
  class Place {
    @one one!: string;
  }
  const referring = (name: string, path: string, to: Type<object>) =>
    made({
      name,
      fields: { one, many: f.IsListOf(one, { max: 3 }), inner: f.IsNested(() => Place) },
      references: { [path]: { to } },
    });
  const below = (name: string, entity: Type<object>) => {
    const parent = { entity, param: 'aboveId', field: 'parent' };
    return made({ name, path: `above/:aboveId/${name}`, parent, kept: { parent: one } });
  };
  const start = (...options: Options[]) => createResourceApp(shops, categories, subcategories, ...options);

  it.each([
    ['references.one.to', 'one', referring('products', 'one', Shop)],
    ['references.many.to', 'many', referring('products', 'many', Shop)],
    ['references.inner.one.to', 'inner.one', referring('products', 'inner.one', Shop)],
    ['parent.entity', 'parent', below('products', Shop)],
  ])('is that of %s, or the start stops', async (option, field, products) => {
    const sentence = `CrudModule.forFeature(Product): ${option} names Shop, but @IsReference() of Product.${field} names Category. Name one class in both.`;
    await expect(start(products)).rejects.toThrow(new Error(sentence));
  });

  it('may be extended by that of the reference, and is accepted in every place', async () => {
    const app = await start(
      ...['one', 'many', 'inner.one'].map((path, i) => referring(`things${i}`, path, Category)),
      referring('extensions', 'one', Subcategory),
      below('children', Category),
    );
    await app.close();
  });
});

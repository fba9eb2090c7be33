import { Controller, Get } from '@nestjs/common';
import { Prop, Schema } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { CrudController, CrudModule, crudOptions, CrudService } from '../../../src/common/crud/index.js';
import { IsText } from '../../../src/common/fields/index.js';
import { currentTenant } from '../../../src/common/tenancy/index.js';
import { createResourceApp } from '../../support/resource-app.js';

class NoteInput {
  @IsText({ max: 80 }) text!: string;
}

@Schema({ timestamps: true })
class Note extends NoteInput {
  @Prop({ type: Types.ObjectId }) tenant?: Types.ObjectId;
  @Prop({ type: Types.ObjectId }) parent?: Types.ObjectId;
}

const notes = crudOptions({ entity: Note, input: NoteInput, name: 'notes' });
const others = crudOptions({ ...notes });
const prefix = 'CrudModule.forFeature(Note): ';
const circle = 'Pass a class; if it is imported from a file that imports this one, break that circle.';

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
  const unserved =
    'Pinning uses PinsService, which is not the service of the resource. Pass { service: PinsService } beside the controller.';
  @Controller('elsewhere')
  class Elsewhere extends CrudController(notes) {}

  it.each(
    Object.entries<object | undefined | null>({
      'the second argument has no "controler". Did you mean "controller"?': { controler: Plain },
      'the second argument has no "guards". It takes controller, service, providers, imports.': {
        guards: [],
      },
      'the second argument must be an object. It takes controller, service, providers, imports.': null,
      [`controller is undefined. ${circle}`]: { controller: undefined },
      [`service is undefined. ${circle}`]: { service: undefined },
      'service must be a class.': { service: {} },
      'providers must be a list.': { providers: {} },
      'providers[0] is undefined. If it is imported from a file that imports this one, break that circle.': {
        providers: [undefined],
      },
      'imports[1] is undefined. If it is imported from a file that imports this one, break that circle.': {
        imports: [Plain, undefined],
      },
      'Plain does not extend the generated controller. Write: class Plain extends CrudController(options).': {
        controller: Plain,
      },
      'OfOthers extends a controller of other options. Write: class OfOthers extends CrudController(options), with the same options.':
        { controller: OfOthers },
      'UndecoratedController has a constructor, but no decorator that tells Nest what to inject. Add @Injectable() to it.':
        { controller: UndecoratedController },
      'Elsewhere has @Controller("elsewhere"). Write the path as the option path, or leave it out.': {
        controller: Elsewhere,
      },
      'Plain does not extend the generated service. Write: class Plain extends CrudService.for(options).': {
        service: Plain,
      },
      'CrudService does not extend the generated service. Write: class CrudService extends CrudService.for(options).':
        { service: CrudService },
      'ServiceOfOthers extends a service of other options. Write: class ServiceOfOthers extends CrudService.for(options), with the same options.':
        { service: ServiceOfOthers },
      'Undecorated has a constructor, but no decorator that tells Nest what to inject. Add @Injectable() to it.':
        { service: Undecorated },
      [unserved]: [{ controller: Pinning }, { controller: Pinning, service: OtherService }],
    }),
  )('%s', (sentence, overrides) => {
    for (const one of [overrides].flat()) {
      expect(() => CrudModule.forFeature(notes, one as object)).toThrow(new Error(prefix + sentence));
    }
  });

  it('accepts a controller with the service that it uses, or one that extends it', () => {
    class MorePins extends PinsService {}
    for (const service of [PinsService, MorePins]) {
      expect(() => CrudModule.forFeature(notes, { controller: Pinning, service })).not.toThrow();
    }
  });

  it('a class that is made before the options are there', () => {
    const missing = new Error(
      'CrudModule.forFeature(undefined): the options are missing. Pass { entity, input, name }.',
    );
    const noEntity = new Error(`CrudModule.forFeature(undefined): entity is undefined. ${circle}`);
    expect(() => CrudService.for(undefined as never)).toThrow(missing);
    expect(() => CrudController(undefined as never)).toThrow(missing);
    expect(() => CrudService.for({} as never)).toThrow(noEntity);
    expect(() => CrudController({} as never)).toThrow(noEntity);
  });
});

/** Another resource, with a class of the same shape. */
function resource(
  name: string,
  change: object = {},
  className = `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
) {
  @Schema({ timestamps: true })
  class Other extends Note {}
  Object.defineProperty(Other, 'name', { value: className });
  return crudOptions({ entity: Other, input: NoteInput, name, ...change });
}

describe('resources that do not fit together stop the start with one sentence', () => {
  const missing = resource('users').entity;
  const secret = resource('secrets', { isolationFields: { all: { tenant: currentTenant } } });
  const below = { path: 'x/:p/tasks', parent: { entity: missing, param: 'p', field: 'parent' } };

  it.each<[string, object[], string]>([
    [
      'one entity',
      [notes, { ...notes, name: 'more', path: 'more' }],
      `${prefix}the class is the entity of the resource "notes" already. Extend it for a second resource.`,
    ],
    [
      'one name',
      [notes, resource('notes', { path: 'x' })],
      'CrudModule.forFeature(Notes): another resource is named "notes", with the entity Note. Choose another name.',
    ],
    [
      'one class name',
      [notes, resource('tasks', {}, 'Note')],
      `${prefix}the entity of the resource "notes" is another class named Note. Rename one of the two.`,
    ],
    [
      'one path',
      [notes, resource('tasks', { path: 'notes' })],
      'CrudModule.forFeature(Tasks): the resource "notes" has the same path "notes". Choose another path.',
    ],
    [
      'a reference to no resource',
      [resource('tasks', { references: { parent: { to: missing } } })],
      'CrudModule.forFeature(Tasks): references.parent.to names Users, which is not a resource. Import CrudModule.forFeature({ entity: Users, … }).',
    ],
    [
      'a parent that is no resource',
      [resource('tasks', below)],
      'CrudModule.forFeature(Tasks): parent.entity names Users, which is not a resource. Import CrudModule.forFeature({ entity: Users, … }).',
    ],
    [
      'a public reference to a private resource',
      [secret, resource('tasks', { references: { parent: { to: secret.entity } } })],
      'CrudModule.forFeature(Tasks): references.parent.to names Secrets, which takes a token to read, but the action create asks for none. Add isolationFields.create.',
    ],
    [
      'a public resource below a private one',
      [secret, resource('tasks', { ...below, parent: { ...below.parent, entity: secret.entity } })],
      'CrudModule.forFeature(Tasks): parent.entity names Secrets, which takes a token to read, but the action get asks for none. Add isolationFields.get.',
    ],
  ])('%s', async (_case, options, sentence) => {
    const features = options.map((each) => CrudModule.forFeature(each as typeof notes));
    await expect(createResourceApp(...features)).rejects.toThrow(new Error(sentence));
  });

  it('a controller that no forFeature has seen answers nothing', async () => {
    @Controller()
    class NotesController extends CrudController(notes) {
      @Get('notes/all')
      all() {
        return this.service;
      }
    }
    class Loose {}
    const imports = [CrudModule.forFeature(notes)];
    const app = await createResourceApp({ module: Loose, imports, controllers: [NotesController] });
    try {
      expect((await fetch(`${app.url}/notes/all`)).status).toBe(500);
    } finally {
      await app.close();
    }
  });
});

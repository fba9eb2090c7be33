import { Get } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import {
  CrudAction,
  CrudController,
  CrudModule,
  crudOptions,
  currentTenant,
  IsNested,
  IsText,
  pageOf,
} from '../../../src/index.js';
import { cycle } from '../../support/misused-classes.js';
import { resource } from '../../support/resource.js';

class NoteInput {
  @IsText({ max: 80 }) text!: string;
}
class Sized {
  @IsNested(() => NoteInput) size!: NoteInput;
}
class Bare {
  text!: string;
}

const notes = resource({
  name: 'notes',
  fields: NoteInput,
  kept: { tenant: Prop({ type: Types.ObjectId }) },
});
const prefix = 'CrudModule.forFeature(Note): ';
const on = '@CrudAction on NotesController.move';
const move = { method: 'POST', path: ':id/move', isolatedAs: 'update' };

/** A controller with one `@CrudAction` of the given options. */
const acting =
  (options: object | undefined, resource: unknown = notes) =>
  () => {
    class NotesController extends CrudController(notes) {
      @CrudAction(resource as typeof notes, options as never)
      move() {}
    }
    CrudModule.forFeature(notes, { controller: NotesController });
  };

describe('a wrong route stops the start with one sentence', () => {
  const MEMBERS =
    'guards, decorators, summary, response, errors, unstored, method, path, isolatedAs, consumes, body, query, headers, status';
  const members = (cases: Record<string, object>) =>
    Object.entries(cases).map(([said, change]) => [on + said, { ...move, ...change }] as [string, object]);

  it.each<[sentence: string, options?: object]>([
    [`${on} must be an object. It takes ${MEMBERS}.`],
    ...members({
      [` has no "middleware". It takes ${MEMBERS}.`]: { middleware: [] },
      ': guards must be a list of guards.': { guards: ['admin'] },
      ': consumes must be a media type, such as "multipart/form-data".': { consumes: 'csv' },
      ': body is read by the generator, and consumes leaves the body to the platform. Leave one out.': {
        body: NoteInput,
        consumes: 'text/csv',
      },
      ': response is a page of NoteInput. pageOf takes the entity; write listOf for others.': {
        response: pageOf(NoteInput),
      },
      ': the field "size" of query is an object, which one text cannot spell.': { query: Sized },
      [`: headers is undefined. ${cycle}`]: { headers: undefined },
      ': method must be one of GET, POST, PUT, PATCH, DELETE.': { method: 'post' },
      ': isolatedAs must be one of get, count, create, update, del.': { isolatedAs: 'list' },
      ': path must be a path, such as ":id/move".': { path: '/move' },
      ': status must be a whole number from 200 to 399.': { status: '200' },
      ': query must be a class, or "list".': { query: 'depth' },
      ': errors must be a list of codes, such as "WRITE_CONFLICT", or of statuses.': { errors: ['NOPE'] },
      [`: unstored must be a list of the answer's members, such as ["secret"].`]: { unstored: 'secret' },
      [`: body is undefined. ${cycle}`]: { body: undefined },
      ': response must be a class, listOf(Class), pageOf(Entity), or a media type.': { response: 'x' },
    }),
    [`${on}: isolatedAs is undefined. ${cycle}`, { ...move, isolatedAs: undefined }],
    [
      `${prefix}the field "text" of the body of NotesController.move has no validation. Decorate it with @IsText() or its like, or with class-validator.`,
      { ...move, body: Bare },
    ],
    [
      `${prefix}NotesController.move has the method and path of "del". Override that method, disable its action, or choose another path.`,
      { ...move, method: 'DELETE', path: ':id' },
    ],
  ])('%s', (sentence, options) => {
    expect(acting(options)).toThrow(new Error(sentence));
  });

  it('a @CrudAction of other options, of none, or on a static method', () => {
    expect(acting(move, { ...notes })).toThrow(
      new Error(`${prefix}NotesController.move is a @CrudAction of other options. Pass it the same options.`),
    );
    expect(acting(move, undefined)).not.toThrow();
    expect(acting(move, null)).toThrow(
      new Error(`CrudModule.forFeature(undefined): entity is undefined. ${cycle}`),
    );
    expect(() => {
      class NotesController extends CrudController(notes) {
        @CrudAction(notes, { method: 'GET', path: 'x', isolatedAs: 'get' })
        static move() {}
      }
      return NotesController;
    }).toThrow(new Error(`${on}: the method must not be static.`));
  });

  it('a method of a disabled action', () => {
    const archived = crudOptions({ ...notes, disable: ['del'] });
    class NotesController extends CrudController(archived) {
      override del(): Promise<object> {
        return Promise.resolve({});
      }
    }
    const sentence = `${prefix}NotesController.del has no route, since disable names "del". Remove that, or decorate the method with @CrudAction.`;
    expect(() => CrudModule.forFeature(archived, { controller: NotesController })).toThrow(
      new Error(sentence),
    );
  });

  it('a plain route that several sources could isolate', () => {
    const isolationFields = { get: { tenant: currentTenant }, update: { tenant: () => 'x' } };
    const two = crudOptions({ ...notes, isolationFields });
    class NotesController extends CrudController(two) {
      @Get('mine')
      mine() {}
    }
    const sentence = `${prefix}NotesController.mine could be isolated by several sources of "tenant". Decorate it with @CrudAction and isolatedAs.`;
    expect(() => CrudModule.forFeature(two, { controller: NotesController })).toThrow(new Error(sentence));
  });
});

import { Get } from '@nestjs/common';
import { Prop, Schema } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import {
  CrudAction,
  CrudController,
  CrudModule,
  crudOptions,
  pageOf,
} from '../../../src/common/crud/index.js';
import { IsNested, IsText } from '../../../src/common/fields/index.js';
import { currentTenant } from '../../../src/common/tenancy/index.js';

class NoteInput {
  @IsText({ max: 80 }) text!: string;
}

@Schema({ timestamps: true })
class Note extends NoteInput {
  @Prop({ type: Types.ObjectId }) tenant?: Types.ObjectId;
}

class Sized {
  @IsNested(() => NoteInput) size!: NoteInput;
}

class Bare {
  text!: string;
}

const notes = crudOptions({ entity: Note, input: NoteInput, name: 'notes' });
const others = crudOptions({ ...notes });
const prefix = 'CrudModule.forFeature(Note): ';

/** A controller with one `@CrudAction` of the given options. */
function acting(options: object | undefined, resource: unknown = notes) {
  return () => {
    class NotesController extends CrudController(notes) {
      @CrudAction(resource as typeof notes, options as never)
      move() {}
    }
    CrudModule.forFeature(notes, { controller: NotesController });
  };
}

const move = { method: 'POST', path: ':id/move', isolatedAs: 'update' };

describe('a wrong route stops the start with one sentence', () => {
  const on = '@CrudAction on NotesController.move';
  it.each(
    Object.entries<object | undefined | null>({
      [`${on}: the options are missing. Pass { method, path, isolatedAs }.`]: undefined,
      [`${on} has no "metod". Did you mean "method"?`]: { ...move, metod: 'GET' },
      [`${on} has no "middleware". It takes method, path, isolatedAs, guards, decorators, consumes, body, query, headers, response, status, summary, errors, unkept.`]:
        { ...move, middleware: [] },
      [`${on}: guards must be a list of guards.`]: { ...move, guards: ['admin'] },
      [`${on}: consumes must be a media type, such as "multipart/form-data".`]: { ...move, consumes: 'csv' },
      [`${on}: body is read by the generator, and consumes leaves the body to the platform. Leave one out.`]:
        {
          ...move,
          body: NoteInput,
          consumes: 'text/csv',
        },
      [`${on}: response is a page of NoteInput. pageOf takes the entity; write listOf for others.`]: {
        ...move,
        response: pageOf(NoteInput),
      },
      [`${on}: the field "size" of query is an object, which one text cannot spell.`]: {
        ...move,
        query: Sized,
      },
      [`${on}: headers must be a class; if it is undefined, break the circle of imports.`]: {
        ...move,
        headers: undefined,
      },
      [`${on}: method must be one of GET, POST, PUT, PATCH, DELETE.`]: { ...move, method: 'post' },
      [`${on}: isolatedAs must be one of get, count, create, update, del.`]: [
        { ...move, isolatedAs: undefined },
        { ...move, isolatedAs: 'list' },
      ],
      [`${on}: the path "/move" is not a path. Write it like ":id/move".`]: { ...move, path: '/move' },
      [`${on}: the path 5 is not a path. Write it like ":id/move".`]: { ...move, path: 5 },
      [`${on}: status must be a whole number from 200 to 399.`]: { ...move, status: '200' },
      [`${on}: query must be a class, a list of names, or "list"; if it is undefined, break the circle of imports.`]:
        { ...move, query: 'depth' },
      [`${on}: errors must be a list of codes, such as "WRITE_CONFLICT", or of statuses.`]: {
        ...move,
        errors: ['NOPE'],
      },
      [`${on}: unkept must be a list of the answer's members, such as ["secret"].`]: {
        ...move,
        unkept: 'secret',
      },
      [`${on}: body must be a class, or patchOf(Class); if it is undefined, break the circle of imports.`]: {
        ...move,
        body: undefined,
      },
      [`${on}: response must be a class, listOf(Class), pageOf(Entity), or a media type; if it is undefined, break the circle of imports.`]:
        {
          ...move,
          response: 'x',
        },
      [`${prefix}the field "text" of the body of NotesController.move has no validation. Decorate it with @IsText() or its like, or with class-validator.`]:
        { ...move, body: Bare },
      [`${prefix}NotesController.move has the method and path of "del". Override that method, disable its action, or choose another path.`]:
        { ...move, method: 'DELETE', path: ':id' },
    }),
  )('%s', (sentence, options) => {
    for (const one of [options].flat()) expect(acting(one as object)).toThrow(new Error(sentence));
  });

  it('a @CrudAction of other options, of none, or on a static method', () => {
    expect(acting(move, others)).toThrow(
      new Error(`${prefix}NotesController.move is a @CrudAction of other options. Pass it the same options.`),
    );
    expect(acting(move, undefined)).not.toThrow();
    expect(acting(move, null)).toThrow(
      new Error('CrudModule.forFeature(undefined): the options are missing. Pass { entity, input, name }.'),
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
    expect(() => CrudModule.forFeature(archived, { controller: NotesController })).toThrow(
      new Error(
        `${prefix}NotesController.del has no route, since disable names "del". Remove that, or decorate the method with @CrudAction.`,
      ),
    );
  });

  it('a plain route that several sources could isolate', () => {
    const two = crudOptions({
      ...notes,
      isolationFields: { get: { tenant: currentTenant }, update: { tenant: () => 'x' } },
    });
    class NotesController extends CrudController(two) {
      @Get('mine')
      mine() {}
    }
    expect(() => CrudModule.forFeature(two, { controller: NotesController })).toThrow(
      new Error(
        `${prefix}NotesController.mine could be isolated by several sources of "tenant". Decorate it with @CrudAction and isolatedAs.`,
      ),
    );
  });
});

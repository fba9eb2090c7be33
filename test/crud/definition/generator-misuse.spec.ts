import { Get } from '@nestjs/common';
import { SchemaFactory } from '@nestjs/mongoose';
import {
  CrudAction,
  CrudController,
  CrudModule,
  type CrudOptions,
  crudOptions,
  currentTenant,
  IsNested,
  IsText,
  pageOf,
} from '../../../src/index.js';
import { GOOD_INDEXES } from '../../support/index-misuse-cases.js';
import { CASES } from '../../support/misuse-cases.js';
import { GOOD_QUERIES } from '../../support/query-misuse-cases.js';
import * as wrong from '../../support/misused-classes.js';
import { cycle, Note, NoteInput, notes, Plain } from '../../support/misused-classes.js';

const start = (change: object) => () =>
  CrudModule.forFeature({ ...notes, ...change } as CrudOptions<object, object>);

describe.each(Object.entries(CASES))('wrong options stop the start in one sentence: %s', (_group, cases) => {
  it.each(Object.entries(cases))('%s', (sentence, changes) => {
    for (const change of [changes].flat())
      expect(start(change)).toThrow(new Error(`CrudModule.forFeature(Note): ${sentence}`));
  });
});

it.each([...GOOD_INDEXES, ...GOOD_QUERIES])('a good index or query stops no start (case %#)', (change) => {
  expect(start(change)).not.toThrow();
});

class TextOnly {
  @IsText({ max: 5 }) text!: string;
}

describe('an entity that cannot be a resource stops the start with one sentence', () => {
  const noText = (entity: string) =>
    `the input field "text" is not in the schema. Decorate ${entity}.text with @Prop(), or name it in writeOnly.`;
  const unsetBy = (field: string) =>
    `the schema requires "${field}", but nothing sets it. Add it to the input, isolationFields or a beforeCreate hook, or give it a default.`;

  const cases: Readonly<Record<string, object>> = {
    'no schema found. Decorate Plain with @Schema() and its fields with @Prop(), or pass { schema }.': {
      entity: Plain,
    },
    'lists are sorted by createdAt, which the schema does not have. Write @Schema({ timestamps: true }).': {
      entity: wrong.Timeless,
    },
    [noText('Textless')]: { entity: wrong.Textless },
    [noText('Note')]: { entity: Note, schema: SchemaFactory.createForClass(wrong.Textless) },
    'the input field "text" is of the kind "string", which Listed.text, of the schema type Array, cannot hold.':
      { entity: wrong.Listed, input: TextOnly },
    [unsetBy('owner')]: { entity: wrong.Owned },
    [unsetBy('label')]: { entity: wrong.Labelled },
    [`entity is undefined. ${cycle}`]: { entity: undefined },
    'entity must be a class.': { entity: 'Note' },
  };
  it.each(Object.entries(cases))('%s', (sentence, change) => {
    const { entity } = change as { entity: unknown };
    const name = typeof entity === 'function' ? entity.name : String(entity);
    expect(start(change)).toThrow(new Error(`CrudModule.forFeature(${name}): ${sentence}`));
  });
});

class Sized {
  @IsNested(() => NoteInput) size!: NoteInput;
}
class Bare {
  text!: string;
}

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
  const UNVALIDATED =
    'the field "text" of the body of NotesController.move has no validation. Decorate it with @IsText() or its like, or with class-validator.';
  const TAKEN =
    'NotesController.move has the method and path of "del". Override that method, disable its action, or choose another path.';
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
    [prefix + UNVALIDATED, { ...move, body: Bare }],
    [prefix + TAKEN, { ...move, method: 'DELETE', path: ':id' }],
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
      override del(): Promise<never> {
        return Promise.reject(new Error('It has no route.'));
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

import {
  type CallHandler,
  type DynamicModule,
  Module,
  type NestInterceptor,
  type Type,
  UseInterceptors,
} from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { Prop, Schema } from '@nestjs/mongoose';
import { map } from 'rxjs';
import { CrudController, CrudModule, crudOptions } from '../../../src/common/crud/index.js';
import { IsText } from '../../../src/common/fields/index.js';
import type { TenantScope } from '../../../src/common/tenancy/index.js';
import { createResourceApp } from '../../support/resource-app.js';
import { commandsOf } from '../../support/sent-commands.js';
import type { TestApp } from '../../support/test-app.js';

class TextInput {
  @IsText({ max: 80 }) text!: string;
}

/** A resource of this name, whose controller is the generated one or made from it. */
function resource(name: string, make: (generated: Type<object>) => Type<object> = (one) => one) {
  @Schema({ timestamps: true, collection: name })
  class Note extends TextInput {
    @Prop() author!: string;
  }
  Object.defineProperty(Note, 'name', { value: `Note_${name}` });
  const options = crudOptions({ entity: Note, input: TextInput, name, isolationFields: {} });
  return CrudModule.forFeature(options, { controller: make(CrudController(options)) });
}

/** What interceptors saw of the results of handlers. */
let seen: unknown[] = [];
class Watching implements NestInterceptor {
  intercept(_context: unknown, next: CallHandler) {
    return next.handle().pipe(map((result: unknown) => (seen.push(result), result)));
  }
}

@Module({})
class Globals {}
const globals: DynamicModule = {
  module: Globals,
  providers: [
    { provide: APP_GUARD, useValue: { canActivate: () => true } },
    { provide: APP_INTERCEPTOR, useClass: Watching },
  ],
};

const UPDATES = 40;
let app: TestApp;
afterEach(async () => {
  seen = [];
  await app.close();
});

async function updatesOf(name: string): Promise<{ commands: number; statuses: Set<number> }> {
  const made = await Promise.all(
    Array.from({ length: UPDATES }, () => app.post(`/${name}`, { text: 'Old' })),
  );
  const statuses = new Set<number>();
  seen = [];
  const sent = await commandsOf(app, () =>
    Promise.all(
      made.map(async ({ body }) => {
        const { status } = await app.patch(`/${name}/${(body as { _id: string })._id}`, { text: 'New' });
        statuses.add(status);
      }),
    ),
  );
  return { commands: sent.filter((command) => command.name.endsWith(` ${name}`)).length, statuses };
}

describe('updates of which nobody needs the record', () => {
  it('share commands, with a global guard and a global interceptor as well', async () => {
    app = await createResourceApp(globals, resource('plain'));
    const { commands, statuses } = await updatesOf('plain');
    expect(statuses).toEqual(new Set([200]));
    expect(commands).toBeLessThan(UPDATES);
    expect(seen).toEqual(Array.from({ length: UPDATES }, () => ({ updated: true })));
  });
});

describe('updates of which an interceptor or override sees the record', () => {
  const record = expect.objectContaining({ text: 'New' }) as unknown;

  it.each<[string, (generated: Type<object>) => Type<object>]>([
    [
      'an interceptor of the class',
      (generated) => {
        @UseInterceptors(Watching)
        class Watched extends generated {}
        return Watched;
      },
    ],
    [
      'an override',
      (generated) => {
        class Overridden extends (generated as Type<CrudController<TextInput, TextInput>>) {
          override async update(scope: TenantScope, id: string, changes: Partial<TextInput>) {
            const updated = await super.update(scope, id, changes);
            seen.push(updated);
            return updated;
          }
        }
        return Overridden;
      },
    ],
  ])('have one for %s', async (_by, make) => {
    app = await createResourceApp(resource('watched', make));
    await updatesOf('watched');
    expect(seen).toEqual(Array.from({ length: UPDATES }, () => record));
  });
});

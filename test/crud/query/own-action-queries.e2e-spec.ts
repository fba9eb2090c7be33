/** @mongodb */
import { Query } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import type { ListQuery } from '../../../src/common/crud/index.js';
import { CrudAction, CrudController, CrudModule, orderOf } from '../../../src/common/crud/index.js';
import { IsListOf, IsWholeNumber } from '../../../src/common/fields/index.js';
import type { TenantScope } from '../../../src/common/tenancy/index.js';
import { expectInvalid } from '../../support/problems.js';
import { created, each } from '../../support/records.js';
import { resource } from '../../support/resource.js';
import { useResourceApp } from '../../support/resource-app.js';

class Answer {
  @ApiProperty() word!: string;
}

class Beats {
  @IsListOf(IsWholeNumber({ min: 1, max: 7 }), { max: 7 }) beats!: number[];
}

const rhymes = resource({
  name: 'rhymes',
  query: { sort: ['text'] },
  routes: { list: { summary: 'List rhymes by their texts' } },
});

class RhymesController extends CrudController(rhymes) {
  @CrudAction(rhymes, { method: 'GET', path: 'on', isolatedAs: 'get', query: ['word'], response: Answer })
  on(@Query('word') word: string): Answer {
    return { word };
  }

  @CrudAction(rhymes, { method: 'GET', path: 'metre', isolatedAs: 'get', query: Beats, response: Beats })
  metre(@Query() query: Beats): Beats {
    return query;
  }

  override list(scope: TenantScope, query: ListQuery) {
    return super.list(scope, { order: orderOf(['text']), ...query });
  }
}

const app = useResourceApp(CrudModule.forFeature(rhymes, { controller: RhymesController }));

describe('the parameters of your own action', () => {
  const path = '/rhymes/on';

  it('are passed as they were sent', async () => {
    expect((await app.get(`${path}?word=time`)).body).toEqual({ word: 'time' });
  });

  it('are read by their class, and documented', async () => {
    expect((await app.get('/rhymes/metre?beats=1,3')).body).toEqual({ beats: [1, 3] });
    expect((await app.get('/rhymes/metre?beats=1,8')).status).toBe(400);
  });

  it.each([
    ['cannot be repeated', 'word=time&word=chime', 'word', '"word" must be given once.'],
    ['must be declared', 'words=time', 'words', '"words" is not a parameter here. Allowed: word.'],
  ])('%s', async (_rule, query, parameter, detail) => {
    expectInvalid(await app.get(`${path}?${query}`), path, { parameter, detail });
  });
});

it('an override can give whole lists, pages and cursors another order, unless the client names one', async () => {
  for (const text of ['Bern', 'Aachen', 'Cork']) await created(app, '/rhymes', { text });
  const textsAt = async (query: string) => {
    const { body } = await app.get(`/rhymes${query}`);
    return each(body.results ?? body, 'text');
  };
  expect(await textsAt('')).toEqual(['Aachen', 'Bern', 'Cork']);
  expect(await textsAt('?limit=2')).toEqual(['Aachen', 'Bern']);
  const { next } = (await app.get('/rhymes?limit=2')).body as { next: string };
  expect(await textsAt(`?limit=2&after=${next}`)).toEqual(['Cork']);
  expect(await textsAt('?sort=-createdAt')).toEqual(['Cork', 'Aachen', 'Bern']);
});

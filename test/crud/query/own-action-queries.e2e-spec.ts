import { Query } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { CrudAction, CrudController, CrudModule } from '../../../src/common/crud/index.js';
import { IsListOf, IsWholeNumber } from '../../../src/common/fields/index.js';
import { expectInvalid } from '../../support/problems.js';
import { useResourceApp } from '../../support/resource-app.js';
import { resource } from '../../support/resource.js';

class Answer {
  @ApiProperty() word!: string;
}

class Beats {
  @IsListOf(IsWholeNumber({ min: 1, max: 7 }), { max: 7 }) beats!: number[];
}

const rhymes = resource({ name: 'rhymes' });

class RhymesController extends CrudController(rhymes) {
  @CrudAction(rhymes, { method: 'GET', path: 'on', isolatedAs: 'get', query: ['word'], response: Answer })
  on(@Query('word') word: string): Answer {
    return { word };
  }

  @CrudAction(rhymes, { method: 'GET', path: 'metre', isolatedAs: 'get', query: Beats, response: Beats })
  metre(@Query() query: Beats): Beats {
    return query;
  }
}

describe('the parameters of your own action', () => {
  const path = '/rhymes/on';
  const app = useResourceApp(CrudModule.forFeature(rhymes, { controller: RhymesController }));

  it('are passed as they were sent', async () => {
    expect((await app.get(`${path}?word=time`)).body).toEqual({ word: 'time' });
  });

  it('are read by their class, and documented', async () => {
    expect((await app.get('/rhymes/metre?beats=1,3')).body).toEqual({ beats: [1, 3] });
    expect((await app.get('/rhymes/metre?beats=1,8')).status).toBe(400);
  });

  it('cannot be repeated', async () => {
    const fault = { parameter: 'word', detail: '"word" must be given once.' };
    expectInvalid(await app.get(`${path}?word=time&word=chime`), path, fault);
  });

  it('must be declared', async () => {
    const detail = '"words" is not a parameter here. Allowed: word.';
    expectInvalid(await app.get(`${path}?words=time`), path, { parameter: 'words', detail });
  });
});

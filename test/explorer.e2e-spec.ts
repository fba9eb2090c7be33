import { All, Controller, Delete, Get, Head, Module, Options, Patch, Post, Put } from '@nestjs/common';
import { ApiBearerAuth } from '@nestjs/swagger';
import { createResourceApp } from './support/resource-app.js';
import type { TestApp } from './support/test-app.js';

@Controller('shelves')
class ShelvesController {
  @Options()
  options(): void {}

  @Head('closed')
  head(): void {}

  @Delete()
  remove(): void {}

  @Patch()
  change(): void {}

  @Put()
  @ApiBearerAuth()
  replace(): void {}

  @Get()
  list(): void {}

  @Post()
  add(): void {}

  @All('anything')
  anything(): void {}
}

@Module({ controllers: [ShelvesController] })
class ShelvesModule {}

describe('the OpenAPI document', () => {
  let app: TestApp;
  let paths: Record<string, Record<string, { security?: object[] }>>;
  beforeAll(async () => {
    app = await createResourceApp({ module: ShelvesModule });
    paths = (await app.get('/docs/openapi.json')).body.paths;
  });
  afterAll(() => app.close());

  it('has every path, by its name', () => {
    expect(Object.keys(paths)).toEqual(['/shelves', '/shelves/anything', '/shelves/closed']);
  });

  it('has every method of a path, in one order', () => {
    expect(Object.keys(paths['/shelves'] ?? {})).toEqual([
      'post',
      'get',
      'put',
      'patch',
      'delete',
      'options',
    ]);
    expect(Object.keys(paths['/shelves/closed'] ?? {})).toEqual(['head']);
    expect(Object.keys(paths['/shelves/anything'] ?? {})).toEqual(
      expect.arrayContaining(['post', 'get', 'put', 'patch', 'delete', 'head', 'options']),
    );
  });

  it('says of each operation whether it needs a token', () => {
    const security = Object.entries(paths['/shelves'] ?? {}).map(([name, one]) => [name, one.security]);
    expect(Object.fromEntries(security)).toEqual({
      post: [],
      get: [],
      put: [{ bearer: [] }],
      patch: [],
      delete: [],
      options: [],
    });
  });
});

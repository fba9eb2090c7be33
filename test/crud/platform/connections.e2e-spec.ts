import { Controller, Get, type INestApplication, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { InjectModel, MongooseModule, Schema } from '@nestjs/mongoose';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import mongoose, { type Model } from 'mongoose';
import { CrudModule, IsText } from '../../../src/index.js';
import { freshDatabaseUri } from '../../support/mongodb.js';

class NoteInput {
  @IsText({ max: 80 }) text!: string;
}
@Schema({ timestamps: true })
class Note extends NoteInput {}

/** A controller of the application's own, with a model of the same name as the resource. */
@Controller('own')
class OwnController {
  constructor(@InjectModel('Note') private readonly notes: Model<{ own: string }>) {}
  @Post() async create() {
    await this.notes.create({ own: 'of the application' });
    return {};
  }
  @Get() list() {
    return this.notes.find().select({ _id: 0, __v: 0 }).lean();
  }
}

describe('the connections of an application and of the generator', () => {
  let app: INestApplication | undefined;
  afterEach(async () => {
    await app?.close();
    app = undefined;
  });

  it.each(['first', 'last'])('stay apart if the application imports its own %s', async (order) => {
    const [ours, theirs] = [freshDatabaseUri(), freshDatabaseUri()];
    const own = [
      MongooseModule.forRoot(theirs),
      MongooseModule.forFeature([
        { name: 'Note', collection: 'notes', schema: new mongoose.Schema({ own: String }) },
      ]),
    ];
    const generated = [
      CrudModule.forRoot({ database: { uri: ours } }),
      CrudModule.forFeature({ entity: Note, input: NoteInput, name: 'notes' }),
    ];
    const imports = order === 'first' ? [...own, ...generated] : [...generated, ...own];
    class OwnModule {}
    app = await NestFactory.create(
      { module: OwnModule, imports, controllers: [OwnController] },
      { logger: false },
    );
    await app.listen(0, '127.0.0.1');
    const url = await app.getUrl();
    const body = JSON.stringify({ text: 'of the resource' });
    const headers = { 'Content-Type': 'application/json' };
    expect((await fetch(`${url}/notes`, { method: 'POST', headers, body })).status).toBe(201);
    expect((await fetch(`${url}/own`, { method: 'POST' })).status).toBe(201);
    expect(await (await fetch(`${url}/own`)).json()).toEqual([{ own: 'of the application' }]);
    const listed = (await (await fetch(`${url}/notes`)).json()) as { text: string }[];
    expect(listed.map(({ text }) => text)).toEqual(['of the resource']);
    const client = await mongoose.createConnection(theirs).asPromise();
    const stored = await client.collection('notes').find().toArray();
    await client.close();
    expect(stored).toEqual([expect.objectContaining({ own: 'of the application' })]);
  });
});

it('an application on a server of another kind is told so at its start', async () => {
  class Other extends FastifyAdapter {
    override getType() {
      return 'other';
    }
  }
  class OtherModule {}
  const imports = [
    CrudModule.forRoot({ database: { uri: freshDatabaseUri() } }),
    CrudModule.forFeature({ entity: Note, input: NoteInput, name: 'notes' }),
  ];
  const app = await NestFactory.create({ module: OtherModule, imports }, new Other(), { logger: false });
  await expect(app.init()).rejects.toThrow(
    'CrudModule runs on Express and on Fastify, and this application runs on other.',
  );
  await app.close();
});

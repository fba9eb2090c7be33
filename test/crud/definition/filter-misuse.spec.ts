import { Prop, Schema, SchemaFactory } from '@nestjs/mongoose';
import { ApiProperty } from '@nestjs/swagger';
import { Schema as MongooseSchema, Types } from 'mongoose';
import { CrudModule } from '../../../src/common/crud/index.js';
import { IsText } from '../../../src/common/fields/index.js';

class BoxInput {
  @IsText({ max: 10 }) name!: string;
}

@Schema({ _id: false })
class Lid {
  @Prop({ type: String }) colour?: string;
  @Prop({ type: String, select: false }) code?: string;
}

@Schema({ timestamps: true })
class Box extends BoxInput {
  @Prop({ type: String, select: false }) secret?: string;
  @Prop({ type: SchemaFactory.createForClass(Lid), select: false }) inner?: Lid;
  @Prop({ type: SchemaFactory.createForClass(Lid) }) lid?: Lid;
  @Prop({ type: [SchemaFactory.createForClass(Lid)] }) lids?: Lid[];
  @Prop({ type: [String] }) tags?: string[];
  @Prop({ type: Map, of: String }) labels?: Map<string, string>;
  @Prop({ type: MongooseSchema.Types.Mixed }) anything?: unknown;
  @Prop({ type: Buffer }) bytes?: Buffer;
  @Prop({ type: String, alias: 'short' }) s?: string;
  @Prop({ type: Types.ObjectId }) owner?: Types.ObjectId;
}

class BoxView {
  @ApiProperty() name!: string;
}

const start = (query: object, output?: typeof BoxView) => () =>
  CrudModule.forFeature({ entity: Box, input: BoxInput, name: 'boxes', query, ...(output && { output }) });
const hidden = (option: string, path: string) =>
  `query.${option} names "${path}", which clients do not see: its values could be guessed. Leave it out.`;
const noValue = (path: string) =>
  `query.filter names "${path}", which is no single value. Filter by a text, number, timestamp, boolean, identifier or enum, or by a list of those.`;
const noOrder = (path: string) =>
  `query.sort names "${path}", which has no order. Sort by a single value other than _id.`;

describe('an invalid filter, order or search stops the start', () => {
  it.each([
    ...['secret', 'inner.colour', 'lid.code', 'lids.code'].flatMap((path) => [
      [{ filter: [path] }, hidden('filter', path)] as const,
      [{ sort: [path] }, hidden('sort', path)] as const,
      [{ search: [path] }, hidden('search', path)] as const,
    ]),
    ...['lid', 'lids', 'labels', 'labels.x', 'anything', 'anything.x', 'bytes'].map(
      (path) => [{ filter: [path] }, noValue(path)] as const,
    ),
    ...['tags', 'lids.colour', 'labels', 'lid'].map((path) => [{ sort: [path] }, noOrder(path)] as const),
    ...['short', 'lid.size', 'name.length', 'lids.0.colour'].map(
      (path) =>
        [{ filter: [path] }, `query.filter names "${path}", which the schema does not have.`] as const,
    ),
  ])('%j', (query, sentence) => {
    expect(start(query)).toThrow(new Error(`CrudModule.forFeature(Box): ${sentence}`));
  });

  it('if the output leaves the field out', () => {
    const sentence = `CrudModule.forFeature(Box): ${hidden('filter', 'tags')}`;
    expect(start({ filter: ['tags'] }, BoxView)).toThrow(new Error(sentence));
    expect(start({ filter: ['name', '_id'] }, BoxView)).not.toThrow();
  });

  it('and every other field is valid', () => {
    const filter = [
      '_id',
      'name',
      'tags',
      'lid.colour',
      'lids.colour',
      's',
      'owner',
      'createdAt',
      'updatedAt',
    ];
    expect(start({ filter, sort: ['name', 'lid.colour', 'owner', ['s', '-name']] })).not.toThrow();
  });
});

import { Prop } from '@nestjs/mongoose';
import { ApiProperty } from '@nestjs/swagger';
import { Schema, Types } from 'mongoose';
import { CrudModule, IsText } from '../../../src/index.js';
import { resource } from '../../support/resource.js';

const lid = new Schema({ colour: String, code: { type: String, select: false } }, { _id: false });
const boxes = resource({
  name: 'boxes',
  class: 'Box',
  fields: { name: IsText({ max: 10 }) },
  kept: {
    secret: Prop({ type: String, select: false }),
    inner: Prop({ type: lid, select: false }),
    lid: Prop({ type: lid }),
    lids: Prop({ type: [lid] }),
    tags: Prop({ type: [String] }),
    labels: Prop({ type: Map, of: String }),
    anything: Prop({ type: Schema.Types.Mixed }),
    bytes: Prop({ type: Buffer }),
    s: Prop({ type: String, alias: 'short' }),
    owner: Prop({ type: Types.ObjectId }),
  },
});

class BoxView {
  @ApiProperty() name!: string;
}

const start = (query: object, output?: typeof BoxView) => () =>
  CrudModule.forFeature({ ...boxes, query, ...(output && { output }) });

describe('an invalid filter, order or search stops the start', () => {
  const hidden = 'clients do not see: its values could be guessed. Leave it out.';
  const noValue =
    'is no single value. Filter by a text, number, timestamp, boolean, identifier or enum, or by a list of those.';
  const secrets = ['secret', 'inner.colour', 'lid.code', 'lids.code'];

  it.each([
    ...['filter', 'sort', 'search'].flatMap((option) => secrets.map((path) => [option, path, hidden])),
    ...['lid', 'lids', 'labels', 'labels.x', 'anything', 'anything.x', 'bytes'].map((path) => [
      ...['filter', path, noValue],
    ]),
    ...['tags', 'lids.colour', 'labels', 'lid'].map((path) => [
      ...['sort', path, 'has no order. Sort by a single value other than _id.'],
    ]),
    ...['short', 'lid.size', 'name.length', 'lids.0.colour'].map((path) => [
      ...['filter', path, 'the schema does not have.'],
    ]),
  ])('query.%s names %s, which %s', (option = '', path = '', fault) => {
    const sentence = `CrudModule.forFeature(Box): query.${option} names "${path}", which ${fault}`;
    expect(start({ [option]: [path] })).toThrow(new Error(sentence));
  });

  it('if the output leaves the field out', () => {
    const sentence = `CrudModule.forFeature(Box): query.filter names "tags", which ${hidden}`;
    expect(start({ filter: ['tags'] }, BoxView)).toThrow(new Error(sentence));
    expect(start({ filter: ['name', '_id'] }, BoxView)).not.toThrow();
  });

  it('and every other field is valid', () => {
    const paths = '_id name tags lid.colour lids.colour s owner createdAt updatedAt'.split(' ');
    expect(start({ filter: paths, sort: ['name', 'lid.colour', 'owner', ['s', '-name']] })).not.toThrow();
  });
});

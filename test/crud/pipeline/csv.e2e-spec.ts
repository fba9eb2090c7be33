import { Prop } from '@nestjs/mongoose';
import * as f from '../../../src/common/fields/index.js';
import { feature, resource } from '../../support/resource.js';
import { useResourceApp } from '../../support/resource-app.js';

class Size {
  @f.IsNumber({ min: -10, max: 10, optional: true }) width?: number;
}
class Words {
  @f.IsText({ max: 9 }) text!: string;
  @f.IsListOf(f.IsText({ max: 9 }), { max: 9 }) get words() {
    return this.text.split(' ');
  }
}
const optional = { optional: true };
const shelves = resource({ name: 'shelves', class: 'Shelf' });
const csv = { Accept: 'text/csv' };

describe('a list as CSV', () => {
  const app = useResourceApp(
    feature({
      name: 'wares',
      fields: {
        name: f.IsText({ max: 50 }),
        amount: f.IsNumber({ min: -100, max: 100, ...optional }),
        price: f.IsDecimal({ scale: 2, ...optional }),
        due: f.IsTimestamp(optional),
        tags: f.IsListOf(f.IsText({ max: 9 }), { max: 9, ...optional }),
        size: f.IsNested(() => Size, optional),
      },
      kept: { secret: Prop({ type: String, select: false, default: 'hidden' }) },
      query: { filter: ['name'], sort: ['name'] },
    }),
    shelves,
    feature({ name: 'notes', output: Words }),
    feature({
      name: 'boxes',
      class: 'Box',
      fields: { shelf: f.IsReference(() => shelves.entity) },
      references: { shelf: { to: shelves.entity } },
    }),
  );
  beforeEach(() => app.empty());
  const withoutIds = ({ text }: { text: string }) => text.replace(/^[0-9a-f]{24}/gm, 'id');

  it('has a line of names, then a line per record, without lists, objects and hidden fields', async () => {
    const sent = { name: 'Tea', amount: -1.5, price: '-2.50', due: '2026-01-02T03:04:05Z' };
    await app.post('/wares', { ...sent, tags: ['a'], size: { width: 1 } });
    const { headers, text } = await app.get('/wares', { headers: csv });
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const [ware] = (await app.get('/wares')).body as unknown as Record<string, string>[];
    expect(text).toBe(
      '_id,name,amount,price,due,createdAt,updatedAt\r\n' +
        `${ware?._id},Tea,-1.5,-2.50,2026-01-02T03:04:05.000Z,${ware?.createdAt},${ware?.updatedAt}\r\n`,
    );
  });

  it.each([
    ['a,b', '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ['two\nlines', '"two\nlines"'],
    ['=1+1', "'=1+1"],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@x', "'@x"],
    ['\t=1', "'\t=1"],
    ['\n=1', '"\'\n=1"'],
    ['＝1', "'＝1"],
    ['=a,"b"', '"\'=a,""b"""'],
    ['1=1', '1=1'],
  ])('writes the text %j as a cell that no spreadsheet takes for a formula', async (name, cell) => {
    await app.post('/wares', { name });
    const found = await app.get('/wares?fields=name', { headers: csv });
    expect(withoutIds(found)).toBe(`_id,name\r\nid,${cell}\r\n`);
  });

  it('is a page with links, a query in a body, and nothing but names without records', async () => {
    expect((await app.get('/wares?fields=name', { headers: csv })).text).toBe('_id,name\r\n');
    for (const name of ['a', 'b', 'c']) await app.post('/wares', { name });
    const page = await app.get('/wares?fields=name&sort=name&limit=2', { headers: csv });
    expect(withoutIds(page)).toBe('_id,name\r\nid,a\r\nid,b\r\n');
    expect(page.headers.get('link')).toContain('rel="next"');
    const body = { where: { not: { name: 'b' } }, fields: ['name'], sort: ['-name'] };
    const queried = await app.request('QUERY', '/wares', { body, headers: csv });
    expect(withoutIds(queried)).toBe('_id,name\r\nid,c\r\nid,a\r\n');
  });

  it('is rejected for fields that have no place in a cell, however often', async () => {
    const detail = '"tags" has no place in a cell of CSV. Leave it out, or ask for JSON.';
    for (const query of ['&limit=5', ...Array<string>(20).fill('')]) {
      const { status, body } = await app.get(`/wares?fields=name,tags${query}`, { headers: csv });
      expect([status, body.errors]).toEqual([400, [{ parameter: 'fields', detail }]]);
    }
    expect((await app.get('/notes?fields=words', { headers: csv })).status).toBe(400);
    await app.post('/notes', { text: 'tea' });
    expect(withoutIds(await app.get('/notes', { headers: csv }))).toBe('_id,text\r\nid,tea\r\n');
    const { body } = await app.post('/wares/query', { fields: ['size'] }, { headers: csv });
    expect(body.errors).toMatchObject([{ pointer: '/fields' }]);
  });

  it('has the identifiers of references, and no records in their place', async () => {
    const shelf = await app.create('/shelves', { text: 'a' });
    await app.create('/boxes', { shelf });
    expect((await app.get('/boxes?fields=shelf', { headers: csv })).text).toContain(`,${shelf}\r\n`);
    const { status, body } = await app.get('/boxes?expand=shelf', { headers: csv });
    const detail = '"expand" cannot be combined with "text/csv".';
    expect([status, body.errors]).toEqual([400, [{ parameter: 'expand', detail }]]);
  });
});

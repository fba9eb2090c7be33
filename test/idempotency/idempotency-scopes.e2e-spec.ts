import { Prop, Schema } from '@nestjs/mongoose';
import { CrudModule } from '../../src/common/crud/index.js';
import { IsText } from '../../src/common/fields/index.js';
import { claim } from '../../src/common/tenancy/index.js';
import { sendRaw } from '../support/raw-http.js';
import { useResourceApp } from '../support/resource-app.js';
import { ACME, tokenOf } from '../support/tenants.js';
import { useTestApp } from '../support/test-app.js';

class DraftInput {
  @IsText({ max: 80 }) text!: string;
}

@Schema({ timestamps: true })
class Draft extends DraftInput {
  @Prop({ type: String }) team?: string;
}

describe('Idempotency-Key of a resource that is isolated by a claim', () => {
  const isolationFields = { all: { team: claim('team') } };
  const app = useResourceApp(
    CrudModule.forFeature({ entity: Draft, input: DraftInput, name: 'drafts', isolationFields }),
  );

  it('also belongs to the scope: the same user in another team is another caller', async () => {
    const post = async (team: string) => {
      const token = tokenOf(ACME, { sub: 'emma', team });
      return app.post('/drafts', { text: 'A' }, { token, headers: { 'Idempotency-Key': 'k1' } });
    };
    const answers = [await post('red'), await post('blue'), await post('red')];
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    const [red, blue, again] = answers.map(({ body }) => body._id as string);
    expect(blue).not.toBe(red);
    expect(again).toBe(red);
  });
});

describe('Idempotency-Key of a path', () => {
  const app = useTestApp();

  it('applies to every spelling of its URL', async () => {
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': 'k1' };
    const post = { method: 'POST', headers, body: '{"title":"Pay the rent"}' };
    const ids = new Set<string>();
    for (const path of ['/todos', '/%74odos', '/todos?', '/todos?&'])
      ids.add((await sendRaw(app.url, { ...post, path })).body._id as string);
    expect([...ids]).toEqual([expect.any(String)]);
    expect((await app.get('/todos/count')).body).toEqual({ count: 1 });
  });
});

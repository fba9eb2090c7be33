import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { eventually } from '../../support/eventually.js';
import { Receiver } from '../../support/receiver.js';
import { acme } from '../../support/tenants.js';
import { useTestApp } from '../../support/test-app.js';

interface Webhook {
  post: {
    parameters: { name: string; in: string; required: boolean }[];
    requestBody: { content: { 'application/json': { schema: object } } };
  };
}

describe('the webhooks in the document', () => {
  const app = useTestApp({ env: { WORKER: 'inline', WEBHOOK_ALLOW_PRIVATE: 'true' } });
  let receiver: Receiver;
  beforeAll(async () => void (receiver = await Receiver.start()));
  afterAll(() => receiver.close());

  it('describe each kind of delivery as it arrives', async () => {
    const document = (await app.get('/docs/openapi.json')).body as {
      openapi: string;
      webhooks: Record<string, Webhook>;
    };
    expect(document.openapi).toBe('3.1.0');
    const types = ['posts.created', 'posts.updated', 'posts.archived', 'posts.restored'];
    expect(Object.keys(document.webhooks).sort()).toEqual(types.toSorted());
    await app.post('/subscriptions', { url: receiver.url, events: ['posts.*'] }, { token: acme });
    const id = (await app.post('/posts/api', { title: 'Tea', tags: ['a'] }, { token: acme })).body
      ._id as string;
    await app.patch(`/posts/api/${id}`, { title: 'Green tea' }, { token: acme });
    await app.del(`/posts/api/${id}`, { token: acme });
    await app.post(`/posts/api/${id}/restore`, undefined, { token: acme });
    await eventually(() => expect(receiver.received).toHaveLength(4), 20_000);
    const ajv = new Ajv({ strict: false });
    addFormats.default(ajv);
    ajv.addSchema(document, 'api');
    const arrived = receiver.received.map(({ body, headers }) => {
      const message = JSON.parse(body.toString()) as { type: string };
      const { parameters, requestBody } = (document.webhooks[message.type] as Webhook).post;
      const schema = JSON.stringify(requestBody.content['application/json'].schema);
      const validate = ajv.compile(JSON.parse(schema.replaceAll('"#/', '"api#/')) as object);
      validate(message);
      expect(validate.errors).toBeNull();
      const named = parameters.map(({ name }) => name);
      expect(named).toEqual(['webhook-id', 'webhook-timestamp', 'webhook-signature']);
      for (const name of named) expect(headers[name]).toEqual(expect.any(String));
      return message.type;
    });
    expect(arrived.sort()).toEqual(types.toSorted());
  });
});

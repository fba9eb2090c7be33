import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { eventually } from '../../support/eventually.js';
import { Receiver } from '../../support/receiver.js';
import { acme as token } from '../../support/tenants.js';
import { useTestApp } from '../../support/test-app.js';

interface Webhook {
  parameters: { name: string }[];
  requestBody: { content: { 'application/json': { schema: object } } };
}

const app = useTestApp({ env: { WORKER: 'inline', WEBHOOK_ALLOW_PRIVATE: 'true' } });
const receiver = Receiver.forEach();

it('the webhooks in the document describe each kind of delivery as it arrives', async () => {
  const document = (await app.get('/docs/openapi.json')).body as {
    openapi: string;
    webhooks: Record<string, { post: Webhook }>;
  };
  expect(document.openapi).toBe('3.1.0');
  const types = ['posts.archived', 'posts.created', 'posts.restored', 'posts.updated'];
  expect(Object.keys(document.webhooks).sort()).toEqual(types);
  await app.post('/subscriptions', { url: receiver.url, events: ['posts.*'] }, { token });
  const { body } = await app.post('/posts/api', { title: 'Tea', tags: ['a'] }, { token });
  const path = `/posts/api/${body._id}`;
  await app.patch(path, { title: 'Green tea' }, { token });
  await app.del(path, { token });
  await app.post(`${path}/restore`, undefined, { token });
  await eventually(() => expect(receiver.received).toHaveLength(4), 20_000);
  const ajv = new Ajv({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema(document, 'api');
  const arrived = receiver.received.map(({ body, headers }) => {
    const message = JSON.parse(body) as { type: string };
    const { parameters, requestBody } = (document.webhooks[message.type] as { post: Webhook }).post;
    const schema = JSON.stringify(requestBody.content['application/json'].schema);
    const validate = ajv.compile(JSON.parse(schema.replaceAll('"#/', '"api#/')) as object);
    validate(message);
    expect(validate.errors).toBeNull();
    const named = parameters.map(({ name }) => name);
    expect(named).toEqual(['webhook-id', 'webhook-timestamp', 'webhook-signature']);
    for (const name of named) expect(headers[name]).toEqual(expect.any(String));
    return message.type;
  });
  expect(arrived.sort()).toEqual(types);
});

import type { INestApplicationContext } from '@nestjs/common';
import type { OpenAPIObject, ParameterObject } from '@nestjs/swagger';
import type { WriteAction } from '../../events/index.js';
import { type Outbox, Outboxes, recordReference } from '../../crud/index.js';

const VERBS: Readonly<Record<WriteAction, string>> = {
  create: 'was created',
  update: 'was changed',
  del: 'was deleted',
  restore: 'was restored',
};

/** The headers of Standard Webhooks (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md). */
const HEADERS: readonly ParameterObject[] = [
  ['webhook-id', 'Identifier of the event, the same in every attempt', 'evt_665f1c2ab7e3a90d4c8b4567'],
  ['webhook-timestamp', 'Seconds since 1970 at which the attempt was signed', '1767225600'],
  [
    'webhook-signature',
    'Signatures with the secrets of the subscription, separated by spaces',
    'v1,K5oZfzN9=',
  ],
].map(([name = '', description, example]) => {
  return { name, in: 'header', required: true, description, schema: { type: 'string', example } };
});

/**
 * Describes what an application sends to its subscribers, as the member `webhooks` of an OpenAPI 3.1 document. Its
 * schemas are those of the document that `SwaggerModule.createDocument` makes of the same application.
 */
export function describeWebhooks(app: INestApplicationContext): OpenAPIObject['paths'] {
  return Object.fromEntries(
    outboxesOf(app).flatMap((outbox) =>
      Object.entries(outbox.events.types).map(([action, type]) => [
        type,
        { post: describeEvent(outbox, type, action as WriteAction) },
      ]),
    ),
  );
}

function outboxesOf(app: INestApplicationContext): readonly Outbox[] {
  try {
    return [...app.get(Outboxes, { strict: false }).read().values()];
  } catch {
    // Nest throws if the application has no resources.
    return [];
  }
}

/** The schema of an object with these properties, and no others. */
function schemaOf(properties: Record<string, object>) {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}

function describeEvent({ definition, events }: Outbox, type: string, action: WriteAction) {
  const { archive, label } = definition;
  const schema = schemaOf({
    type: { type: 'string', enum: [type] },
    timestamp: { type: 'string', format: 'date-time', description: 'When it happened' },
    data:
      events.data === 'record'
        ? recordReference(definition)
        : schemaOf({ _id: { type: 'string', pattern: '^[0-9a-f]{24}$' } }),
  });
  return {
    operationId: type.replace('.', '_'),
    summary: `A ${label.toLowerCase()} ${archive && action === 'del' ? 'was archived' : VERBS[action]}`,
    tags: ['Notifications'],
    security: [],
    parameters: [...HEADERS],
    requestBody: { required: true, content: { 'application/json': { schema } } },
    responses: {
      '2XX': { description: 'Received; any other answer but 410 is repeated by the schedule' },
      410: { description: 'Unsubscribes' },
    },
  };
}

import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { type ParameterObject, sentParameters } from './api-parameters.js';

interface OperationObject {
  parameters?: ParameterObject[];
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
}

/** A response, as far as the document speaks of it, and the query that it answers. */
export interface ObservedResponse {
  method: string;
  path: string;
  query: string;
  status: number;
  contentType: string | null;
  body: unknown;
}

/** Checks responses, and the queries of those that succeed, against the OpenAPI document that the service itself serves. */
export class ApiDocument {
  private readonly ajv = new Ajv({ strict: false, allErrors: true });
  private readonly validators = new Map<object, ValidateFunction>();

  constructor(readonly document: { paths: Record<string, Record<string, OperationObject>> }) {
    addFormats.default(this.ajv);
    // Known to OpenAPI's registry of formats; the pattern beside it says what the values are.
    this.ajv.addFormat('decimal', true);
    this.ajv.addSchema(document, 'api');
  }

  /** @throws Error where the document does not describe the response, or a query that was accepted */
  check(response: ObservedResponse): void {
    const operation = this.operationOf(response);
    // Paths and methods that do not exist are not in the document.
    if (!operation) return;
    const name = `${response.method} ${response.path} → ${response.status}`;
    if (response.status < 400) this.checkQuery(response.query, operation, name);
    const documented = operation.responses[response.status];
    if (!documented) {
      throw new Error(
        `${name}: the document does not list this status. Name that of an exception of your own in routes.<handler>.errors`,
      );
    }
    if (response.method === 'HEAD' || (!documented.content && response.body === undefined)) return;
    const mediaType = response.contentType?.split(';', 1)[0] ?? '';
    const schema = documented.content?.[mediaType]?.schema;
    if (!schema)
      throw new Error(`${name}: the document does not list ${mediaType || 'an answer without a body'}`);
    const validate = this.validatorOf(schema);
    // The schema of NDJSON is that of each line.
    const values = mediaType === 'application/x-ndjson' ? (response.body as unknown[]) : [response.body];
    for (const value of values) {
      if (!validate(value)) throw new Error(`${name}: ${faultsOf(validate)}`);
    }
  }

  private checkQuery(query: string, { parameters = [] }: OperationObject, name: string): void {
    for (const { name: parameter, schema, values } of sentParameters(query, parameters)) {
      if (!schema) throw new Error(`${name}: the document does not list the parameter ${parameter}`);
      const validate = this.validatorOf(schema);
      if (!values.some((value) => validate(value)))
        throw new Error(`${name}: ${parameter}: ${faultsOf(validate)}`);
    }
  }

  private operationOf({ method, path }: ObservedResponse): OperationObject | undefined {
    const segments = path.split('/');
    const templates = Object.keys(this.document.paths).filter((template) => {
      const parts = template.split('/');
      return (
        parts.length === segments.length &&
        parts.every((part, i) => part === segments[i] || part.startsWith('{'))
      );
    });
    const template = templates.find((candidate) => !candidate.includes('{')) ?? templates[0];
    return template
      ? this.document.paths[template]?.[method === 'HEAD' ? 'get' : method.toLowerCase()]
      : undefined;
  }

  private validatorOf(schema: object): ValidateFunction {
    const known = this.validators.get(schema);
    if (known) return known;
    const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/')) as object;
    const validate = this.ajv.compile(absolute);
    this.validators.set(schema, validate);
    return validate;
  }
}

/** The faults with their places, and the members that no schema has. */
function faultsOf({ errors }: ValidateFunction): string {
  return (errors ?? []).map(faultOf).join(', ');
}

function faultOf({ instancePath, message = '', params }: ErrorObject): string {
  const { additionalProperty } = params as { additionalProperty?: string };
  return `data${instancePath} ${message}${additionalProperty === undefined ? '' : ` ("${additionalProperty}")`}`;
}

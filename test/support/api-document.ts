import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';

interface ParameterObject {
  name: string;
  in: string;
  style?: string;
  schema: { type?: string };
}

interface OperationObject {
  parameters?: ParameterObject[];
  responses: Record<string, { content?: Record<string, { schema: object }>; headers?: object }>;
}

/** A response, as far as the document speaks of it, and the query that it answers. */
export interface ObservedResponse {
  method: string;
  path: string;
  query: string;
  status: number;
  headers: Headers;
  body: unknown;
}

/** Headers that some routes send, and their documents name. */
const OF_ROUTES = ['accept-query', 'etag', 'idempotency-replayed', 'link', 'location', 'preference-applied'];

/** The documents of applications of this process, by their text: compiling their schemas takes longer than many a test. */
const known = new Map<string, ApiDocument>();
const MAX_KNOWN = 20;

/** Checks responses, and the queries of those that succeed, against the OpenAPI document that the service itself serves. */
export class ApiDocument {
  /** The document of this text, in which a schema is compiled once. */
  static of(text: string): ApiDocument {
    const document = known.get(text) ?? new ApiDocument(JSON.parse(text) as never);
    known.delete(text);
    known.set(text, document);
    const [oldest = ''] = known.keys();
    if (known.size > MAX_KNOWN) known.delete(oldest);
    return document;
  }

  /** Compiles schemas in little time, since most validate few answers. */
  private readonly ajv = new Ajv({ strict: false, validateSchema: false, code: { optimize: false } });
  /** By schemas, and by their texts, which many of them share. */
  private readonly validators = new Map<object | string, ValidateFunction>();

  private constructor(readonly document: { paths: Record<string, Record<string, OperationObject>> }) {
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
    const remedy = 'Name that of an exception of your own in routes.<handler>.errors';
    if (!documented) throw new Error(`${name}: the document does not list this status. ${remedy}`);
    const named = new Headers(Object.keys(documented.headers ?? {}).map((header) => [header, '']));
    // Express has a weak ETag for every answer.
    const isSent = (header: string) => !(response.headers.get(header) ?? 'W/').startsWith('W/');
    const unnamed = response.status < 400 && OF_ROUTES.find((one) => isSent(one) && !named.has(one));
    if (unnamed) throw new Error(`${name}: the document does not list the header ${unnamed}`);
    if (response.method === 'HEAD' || (!documented.content && response.body === undefined)) return;
    const [mediaType = ''] = response.headers.get('content-type')?.split(';') ?? [];
    const schema = documented.content?.[mediaType]?.schema;
    if (!schema) throw new Error(`${name}: the document does not list ${mediaType || 'an empty answer'}`);
    const validate = this.validatorOf(schema);
    // The schema of NDJSON is that of each line.
    const values = mediaType === 'application/x-ndjson' ? (response.body as unknown[]) : [response.body];
    for (const value of values) if (!validate(value)) throw new Error(`${name}: ${faultsOf(validate)}`);
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
    const matches = (part: string, i: number) => part === segments[i] || part.startsWith('{');
    const templates = Object.keys(this.document.paths).filter(
      (one) => one.split('/').length === segments.length && one.split('/').every(matches),
    );
    const template = templates.find((candidate) => !candidate.includes('{')) ?? templates[0] ?? '';
    return this.document.paths[template]?.[method === 'HEAD' ? 'get' : method.toLowerCase()];
  }

  private validatorOf(schema: object): ValidateFunction {
    const known = this.validators.get(schema);
    if (known) return known;
    const text = JSON.stringify(schema).replaceAll('"#/', '"api#/');
    const validate = this.validators.get(text) ?? this.ajv.compile(JSON.parse(text) as object);
    this.validators.set(schema, validate).set(text, validate);
    return validate;
  }
}

/** The faults with their places, and the members that no schema has. */
const faultsOf = ({ errors }: ValidateFunction) => (errors ?? []).map(faultOf).join(', ');

function faultOf({ instancePath, message = '', params: { additionalProperty: name } }: ErrorObject): string {
  return `data${instancePath} ${message}${name === undefined ? '' : ` ("${name}")`}`;
}

/** The parameters of a query string, each with its schema, if any, and its value in every type that its text may mean. */
function sentParameters(query: string, documented: readonly ParameterObject[]) {
  const parameters = documented.filter((parameter) => parameter.in === 'query');
  return [...new URLSearchParams(query)].map(([name, text]) => {
    const whole = parameters.find((one) => one.name === name);
    const [, base, operator] = (whole ? undefined : /^(.*)\[(.*)\]$/.exec(name)) ?? [];
    const parameter = whole ?? parameters.find((one) => one.name === base);
    const isDocumented = operator === undefined || parameter?.style === 'deepObject';
    if (!parameter || !isDocumented) return { name, values: [] };
    const texts = valuesOf(text, parameter);
    const values = operator === undefined ? texts : texts.map((value) => ({ [operator]: value }));
    return { name, schema: parameter.schema as object, values };
  });
}

function valuesOf(text: string, { schema }: ParameterObject): unknown[] {
  if (schema.type !== 'array') return scalarsOf(text);
  const entries = text.split(',');
  return [entries, entries.map((entry) => scalarsOf(entry).at(-1))];
}

function scalarsOf(text: string): unknown[] {
  if (text === 'true' || text === 'false') return [text, text === 'true'];
  return text.trim() === '' || Number.isNaN(Number(text)) ? [text] : [text, Number(text)];
}

/** A query parameter in the OpenAPI document. */
export interface ParameterObject {
  name: string;
  in: string;
  style?: string;
  schema: { type?: string };
}

/** A value of a parameter, in every type that its text may mean. */
interface SentParameter {
  name: string;
  /** Undefined where the document does not have the parameter. */
  schema?: object;
  values: unknown[];
}

/** The parameters of a query string, each with what the document says of it. */
export function sentParameters(query: string, documented: readonly ParameterObject[]): SentParameter[] {
  const parameters = documented.filter((parameter) => parameter.in === 'query');
  return [...new URLSearchParams(query)].map(([name, text]) => {
    const whole = parameters.find((one) => one.name === name);
    const [, base, operator] = (whole ? undefined : /^(.*)\[(.*)\]$/.exec(name)) ?? [];
    const parameter = whole ?? parameters.find((one) => one.name === base);
    const isDocumented = operator === undefined || parameter?.style === 'deepObject';
    if (!parameter || !isDocumented) return { name, values: [] };
    const values = valuesOf(text, parameter);
    return {
      name,
      schema: parameter.schema,
      values: operator === undefined ? values : values.map((value) => ({ [operator]: value })),
    };
  });
}

function valuesOf(text: string, { schema }: ParameterObject): unknown[] {
  if (schema.type === 'array') return [text.split(',')];
  const isScalar = text === 'true' || text === 'false' || (text.trim() !== '' && !Number.isNaN(Number(text)));
  return isScalar
    ? [text, JSON.parse(String(text === 'true' || text === 'false' ? text : Number(text)))]
    : [text];
}

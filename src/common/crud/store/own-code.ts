import type { Schema } from 'mongoose';

/** The part of a schema that holds its middleware; Mongoose offers no public way to read it. */
interface WithHooks {
  readonly s?: { readonly hooks?: Partial<Record<'_pres' | '_posts', Hooks>> };
}

type Hooks = ReadonlyMap<string, readonly { readonly fn?: { readonly name?: string } }[]>;

/** Middleware that Mongoose itself adds to every schema. */
const MONGOOSES_OWN =
  /^(_setTimestampsOnUpdate|timestampsPreSave|saveSubdocs|shardingPlugin|trackTransaction)/;

/** Whether a schema, or one inside it, has middleware that Mongoose did not add. */
export function hasMiddleware(schema: Schema): boolean {
  return schemasIn(schema).some((one) => {
    const { _pres = new Map(), _posts = new Map() } = (one as WithHooks).s?.hooks ?? {};
    const hooks = [..._pres.values(), ..._posts.values()].flat() as { fn?: { name?: string } }[];
    return hooks.some(({ fn }) => !MONGOOSES_OWN.test(fn?.name ?? ''));
  });
}

/** Whether a schema, or one inside it, has validators of your own. */
export function hasOwnValidators(schema: Schema): boolean {
  return schemasIn(schema).some((one) =>
    Object.values(one.paths).some(({ validators }) => validators.some(({ type }) => type === 'user defined')),
  );
}

function schemasIn(schema: Schema, seen = new Set<Schema>()): Schema[] {
  if (seen.has(schema)) return [];
  seen.add(schema);
  return [schema, ...schema.childSchemas.flatMap((child) => schemasIn(child.schema, seen))];
}

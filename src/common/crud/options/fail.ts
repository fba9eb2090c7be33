/** Stops the start with a one-sentence error that names the fix. */
export type Fail = (problem: string) => never;

/** Makes the {@link Fail} of a resource from its options. */
export function failFor(options: unknown): Fail {
  const entity = (options as { entity?: unknown } | null | undefined)?.entity;
  const name = typeof entity === 'function' ? entity.name : String(entity);
  return (problem) => {
    throw new Error(`CrudModule.forFeature(${name}): ${problem}`);
  };
}

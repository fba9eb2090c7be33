/** Applies a merge patch to a value (RFC 7396), without touching either. */
export function mergePatch(_target: unknown, _patch: unknown): unknown {
  throw new Error('mergePatch is not written yet');
}

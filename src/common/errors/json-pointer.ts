/**
 * The JSON Pointer to a part of a body (RFC 6901): `toPointer(['items', 0, 'name'])` is `/items/0/name`, and
 * an empty list points to the body itself. `~` and `/` in a name are escaped (section 3).
 */
export function toPointer(segments: readonly (string | number)[]): string {
  return segments
    .map((segment) => `/${String(segment).replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('');
}

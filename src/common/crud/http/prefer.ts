/** Whether a `Prefer` header (RFC 7240) asks for the whole record in answer to a write. */
export function prefersRepresentation(header: string | string[] | undefined): boolean {
  if (header === undefined) return false;
  const preferences = [header].flat().join(',').split(',');
  const [first] = preferences
    .map((preference) => /^\s*return\s*=\s*"?([\w-]+)"?\s*(?:;.*)?$/i.exec(preference)?.[1]?.toLowerCase())
    .filter((value) => value !== undefined);
  return first === 'representation';
}

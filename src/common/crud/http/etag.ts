/** A strong validator (RFC 9110, section 8.8.3): the record's revision, whatever part of it is shown. */
export function etagOf(record: { __v?: number }): string {
  return `"${record.__v ?? 0}"`;
}

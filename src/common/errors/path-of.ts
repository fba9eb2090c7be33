/**
 * The path of a request's URL, without its query. Errors, links and the log omit the query because it may be
 * secret.
 */
export function pathOf({ url }: { readonly url: string }): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

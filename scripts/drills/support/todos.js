/** Stores todos by an import, and resolves with the path of one. */
export async function storeTodos(url, count, description) {
  const lines = Array.from({ length: count }, (_, i) => JSON.stringify({ title: `Todo ${i}`, description }));
  const headers = { 'Content-Type': 'application/x-ndjson' };
  const imported = await fetch(`${url}/todos/import`, { method: 'POST', headers, body: lines.join('\n') });
  const results = (await imported.text()).trim().split('\n');
  const { _id } = JSON.parse(results.at(-1));
  if (results.length !== count || !_id) throw new Error(`The import answered ${results.at(-1)}`);
  return `/todos/${_id}`;
}

/** @throws Error through `fail` if `unkept` is not a list of names */
export function checkUnkept(unkept: unknown, where: string, fail: (problem: string) => never): void {
  if (unkept === undefined) return;
  if (Array.isArray(unkept) && unkept.every((name) => typeof name === 'string' && name !== '')) return;
  fail(`${where}.unkept must be a list of the answer's members, such as ["secret"].`);
}

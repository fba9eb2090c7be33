import { lookup, Resolver } from 'node:dns/promises';

/** Returns every address of a name; rejects if it has none. */
export type ResolveName = (name: string) => Promise<readonly string[]>;

/**
 * Error codes that leave the name to the operating system, which also knows its own names and those of its
 * search domains.
 */
const UNKNOWN_TO_DNS = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED', 'ESERVFAIL', 'EREFUSED']);

/**
 * Queries the DNS directly: the operating system's lookup blocks one of the process's few threads for it, and
 * a name whose server never answers would delay all others.
 */
export const resolveName: ResolveName = async (name) => {
  const resolver = new Resolver({ timeout: 1_000, tries: 2 });
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (addresses.length > 0) return addresses;
  for (const answer of answers) {
    if (answer.status === 'rejected' && !UNKNOWN_TO_DNS.has(codeOf(answer.reason))) throw answer.reason;
  }
  return (await lookup(name, { all: true })).map(({ address }) => address);
};

function codeOf(error: unknown): string {
  return String((error as { code?: unknown }).code);
}

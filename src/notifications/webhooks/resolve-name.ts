import { lookup, Resolver } from 'node:dns/promises';

/** Gives every address of a name; rejects if it has none. */
export type ResolveName = (name: string) => Promise<readonly string[]>;

/** Codes that leave it to the operating system, which knows other names: its own, and those of its search domains. */
const UNKNOWN_TO_DNS = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED', 'ESERVFAIL', 'EREFUSED']);

/**
 * Asks the DNS itself: the operating system's lookup blocks one of the few threads that the process has for it, and a name
 * whose server never answers would hold up all others.
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

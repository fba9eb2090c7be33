import { Logger } from '@nestjs/common';
import {
  createLocalJWKSet,
  errors,
  type FlattenedJWSInput,
  type JSONWebKeySet,
  type JWSHeaderParameters,
} from 'jose';
import { AuthenticationUnavailableError, OUTAGE, reasonOf } from '../errors/index.js';

/** How long a fetch may take. Unit: milliseconds. */
const FETCH_MS = 3_000;
/** Maximum size of the response. Unit: bytes. */
const MAX_BYTES = 1_048_576;
/**
 * Age at which the keys are fetched again, so that a withdrawn key is not accepted for longer. Unit:
 * milliseconds.
 */
const FRESH_MS = 600_000;
/** How long the keys are used if they cannot be fetched again. Unit: milliseconds. */
const USABLE_MS = 86_400_000;
/** Minimum time before fetching again for an unknown key, or after a failure. Unit: milliseconds. */
const COOL_DOWN_MS = 1_000;

type LocalKeySet = ReturnType<typeof createLocalJWKSet>;

/** The keys of an issuer (RFC 7517, section 5), fetched when needed and kept while their server is down. */
export class KeySet {
  private readonly logger = new Logger('KeySet');
  private keys?: { find: LocalKeySet; fetchedAt: number };
  private fetching?: Promise<void>;
  private triedAt = -Infinity;
  private failure?: unknown;

  constructor(private readonly url: URL) {}

  /**
   * The key that a token is signed with.
   *
   * @throws AuthenticationUnavailableError if it is unknown and the keys cannot be fetched
   * @throws JOSEError if there is no such key
   */
  readonly find = async (header: JWSHeaderParameters, token: FlattenedJWSInput) => {
    const keys = (await this.fresh()).find;
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      // The issuer may have changed to another key.
      await this.refresh();
      if (this.failure) throw new AuthenticationUnavailableError({ cause: this.failure });
      if (!this.keys || this.keys.find === keys) throw error;
      return this.keys.find(header, token);
    }
  };

  private async fresh(): Promise<{ find: LocalKeySet }> {
    const age = () => Date.now() - (this.keys?.fetchedAt ?? -Infinity);
    if (age() > FRESH_MS) {
      const refreshed = this.refresh();
      // After a failure, requests do not wait: a server that hangs must not delay all of them.
      if (!this.failure || age() > USABLE_MS) await refreshed;
    }
    if (this.keys && age() <= USABLE_MS) return this.keys;
    throw new AuthenticationUnavailableError({ cause: this.failure });
  }

  /**
   * Fetches the keys, unless they were fetched just now. Concurrent requests share one fetch. Never rejects.
   */
  private refresh(): Promise<void> {
    const now = Date.now();
    if (this.fetching) return this.fetching;
    if (this.keys && now - this.triedAt < COOL_DOWN_MS) return Promise.resolve();
    this.triedAt = now;
    this.fetching = fetchKeys(this.url)
      .then(
        (find) => {
          this.keys = { find, fetchedAt: now };
          this.failure = undefined;
        },
        (error: unknown) => {
          this.failure = error;
          this.logger.warn({ ...OUTAGE, reason: reasonOf(error) }, 'The key set cannot be fetched');
        },
      )
      .finally(() => (this.fetching = undefined));
    return this.fetching;
  }
}

/** @throws Error if the server does not return a key set in time */
async function fetchKeys(url: URL): Promise<LocalKeySet> {
  const response = await fetch(url, {
    headers: { Accept: 'application/jwk-set+json, application/json' },
    redirect: 'manual',
    signal: AbortSignal.timeout(FETCH_MS),
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`The key set was answered with ${response.status}`);
  }
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.length;
    if (bytes > MAX_BYTES) throw new Error(`The key set is larger than ${MAX_BYTES} bytes`);
    parts.push(part);
  }
  return createLocalJWKSet(JSON.parse(Buffer.concat(parts).toString()) as JSONWebKeySet);
}

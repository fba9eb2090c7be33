import { randomBytes } from 'node:crypto';
import type { DynamicModule } from '@nestjs/common';
import { DatabaseModule, type DatabaseOptions, DatabaseServer } from '../database/index.js';
import { EventsModule } from '../events/index.js';
import { TenancyModule, type TokenVerifierOptions } from '../tenancy/index.js';

/** What all resources of an application share. */
export interface CrudRootOptions {
  /**
   * The database: `{ uri }` of a MongoDB with the name of a database, or the embedded one of the package embedded-mongodb,
   * `{ embeddedDir }` with the folder of its files or `{ memory: true }` for tests.
   */
  database: DatabaseOptions;
  /** How tokens are verified: `secret` or `jwksUrl`. @default no token verifies, so that isolated routes answer 401 */
  tokens?: CrudTokenOptions;
  /** A hook that takes longer is logged as slow, and the request goes on without it. Unit: milliseconds. @default 50 */
  hookWarnMs?: number;
}

/** How tokens are verified; one of `secret` and `jwksUrl` is given. */
export interface CrudTokenOptions extends Omit<TokenVerifierOptions, 'tenantClaim'> {
  /** Name of the claim that carries the tenant. @default "tenant" */
  tenantClaim?: string;
}

const SECRET_BYTES = 32;

/** A scheme, addresses, and the name of a database: without a name, everything would go to `test`. */
const DATABASE_URI = /^mongodb(?:\+srv)?:\/\/[^/\s]+\/[^/?\s]/;

/**
 * The modules that all resources need: the database, events, and the verification of tokens.
 *
 * @throws Error that names the fix, if an option cannot be used
 */
export function crudRoot(options: CrudRootOptions): Required<Pick<DynamicModule, 'imports'>> {
  const { database, tokens, hookWarnMs = 50 } = options;
  checkDatabase(database);
  if (tokens) checkTokens(tokens);
  // A secret that nobody knows: no token verifies with it.
  const verified = tokens ?? { secret: randomBytes(SECRET_BYTES).toString('hex') };
  return {
    imports: [
      DatabaseModule.forRoot(new DatabaseServer(database)),
      EventsModule.forRoot({ hookWarnMs }),
      TenancyModule.forRoot({ ...verified, tenantClaim: tokens?.tenantClaim ?? 'tenant' }),
    ],
  };
}

function checkDatabase(database: Partial<Record<string, unknown>> | undefined): void {
  const { uri, embeddedDir, memory } = database ?? {};
  const given = [uri, embeddedDir, memory].filter((value) => value !== undefined);
  if (given.length !== 1 || (uri === undefined && embeddedDir === undefined && memory !== true))
    fail(
      "database must be one of { uri: 'mongodb://127.0.0.1:27017/shop' }, { embeddedDir: './data' } and { memory: true }.",
    );
  if (uri !== undefined && !(typeof uri === 'string' && DATABASE_URI.test(uri)))
    fail(
      'database.uri must be a mongodb:// or mongodb+srv:// URI that names a database, such as mongodb://127.0.0.1:27017/shop.',
    );
  if (embeddedDir !== undefined && (typeof embeddedDir !== 'string' || embeddedDir === ''))
    fail("database.embeddedDir must be the path of a folder, such as './data'.");
}

function checkTokens({ secret, jwksUrl }: CrudTokenOptions): void {
  if ((secret === undefined) === (jwksUrl === undefined))
    fail('tokens must have either secret or jwksUrl. Leave tokens out if no resource is isolated.');
  if (secret !== undefined && Buffer.byteLength(secret) < SECRET_BYTES)
    fail(`tokens.secret must have at least ${SECRET_BYTES} bytes.`);
  if (jwksUrl !== undefined && !(jwksUrl instanceof URL))
    fail("tokens.jwksUrl must be a URL: new URL('https://…').");
}

function fail(problem: string): never {
  throw new Error(`CrudModule.forRoot: ${problem}`);
}

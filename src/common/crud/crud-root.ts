import { randomBytes } from 'node:crypto';
import {
  type DynamicModule,
  type FactoryProvider,
  Global,
  Module,
  type ModuleMetadata,
} from '@nestjs/common';
import { DatabaseModule, type DatabaseOptions, DatabaseServer } from '../database/index.js';
import { EventsModule } from '../events/index.js';
import { TenancyModule, type TokenVerifierOptions } from '../tenancy/index.js';
import type { Fail } from './options/fail.js';

/** Settings shared by all resources of an application. */
export interface CrudRootOptions {
  /**
   * The database: a MongoDB by `{ uri }`, which must contain a database name, or the embedded database
   * (package embedded-mongodb) by `{ embeddedDir }`, the folder of its files, or `{ memory: true }` for
   * tests.
   */
  database: DatabaseOptions;
  /**
   * How tokens are verified: `secret` or `jwksUrl`.
   *
   * @default no token is valid, so isolated routes answer 401
   */
  tokens?: CrudTokenOptions;
  /**
   * A hook that takes longer is logged as slow, and the request goes on without it. Unit: milliseconds.
   *
   * @default 50
   */
  hookWarnMs?: number;
}

/** How tokens are verified. Give either `secret` or `jwksUrl`. */
export interface CrudTokenOptions extends Omit<TokenVerifierOptions, 'tenantClaim' | 'names'> {
  /** Name of the claim that contains the tenant. @default "tenant" */
  tenantClaim?: string;
}

/** Settings shared by all resources of an application, made by a factory that Nest injects. */
export interface CrudRootAsyncOptions {
  /** Modules that export the providers that the factory injects. @default none */
  imports?: ModuleMetadata['imports'];
  /** Tokens of the factory's arguments, in order. @default none */
  inject?: FactoryProvider['inject'];
  /** Returns the options, or a promise of them. Called once, at the start. */
  useFactory: FactoryProvider<CrudRootOptions>['useFactory'];
}

const CRUD_ROOT_OPTIONS = Symbol('CrudRootOptions');

/** Provides the options to the modules that are made from them. */
@Global()
@Module({})
class CrudRootOptionsModule {}

const SECRET_BYTES = 32;

/** A scheme, addresses, and a database name. Without the name, everything would go to `test`. */
const DATABASE_URI = /^mongodb(?:\+srv)?:\/\/[^/\s]+\/[^/?\s]/;

/** The modules that all resources need: the database, events, and the verification of tokens. */
export function crudRoot({ imports, inject, useFactory }: CrudRootAsyncOptions): DynamicModule[] {
  return [
    {
      module: CrudRootOptionsModule,
      imports,
      providers: [{ provide: CRUD_ROOT_OPTIONS, inject, useFactory }],
      exports: [CRUD_ROOT_OPTIONS],
    },
    DatabaseModule.forRootAsync(fromOptions(({ database }) => new DatabaseServer(database))),
    EventsModule.forRootAsync(fromOptions(({ hookWarnMs = 50 }) => ({ hookWarnMs }))),
    TenancyModule.forRootAsync(
      fromOptions(({ tokens }) => ({
        ...(tokens ?? unknownSecret()),
        tenantClaim: tokens?.tenantClaim ?? 'tenant',
      })),
    ),
  ];
}

/** A factory that injects the options. */
function fromOptions<T>(useFactory: (options: CrudRootOptions) => T) {
  return { inject: [CRUD_ROOT_OPTIONS], useFactory };
}

/** No token verifies against a secret that nobody knows. */
function unknownSecret(): CrudTokenOptions {
  return { secret: randomBytes(SECRET_BYTES).toString('hex') };
}

/**
 * Checks the options and returns them.
 *
 * @param method that the options were passed to
 * @throws Error that names the fix, if an option cannot be used
 */
export function checkedRoot(options: CrudRootOptions, method: 'forRoot' | 'forRootAsync'): CrudRootOptions {
  const fail = (problem: string) => {
    throw new Error(`CrudModule.${method}: ${problem}`);
  };
  checkDatabase(options.database, fail);
  if (options.tokens) checkTokens(options.tokens, fail);
  return options;
}

function checkDatabase(database: Partial<Record<string, unknown>> | undefined, fail: Fail): void {
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

function checkTokens({ secret, jwksUrl }: CrudTokenOptions, fail: Fail): void {
  if ((secret === undefined) === (jwksUrl === undefined))
    fail('tokens must have either secret or jwksUrl. Leave tokens out if no resource is isolated.');
  if (secret !== undefined && Buffer.byteLength(secret) < SECRET_BYTES)
    fail(`tokens.secret must have at least ${SECRET_BYTES} bytes.`);
  if (jwksUrl !== undefined && !(jwksUrl instanceof URL))
    fail("tokens.jwksUrl must be a URL: new URL('https://…').");
}

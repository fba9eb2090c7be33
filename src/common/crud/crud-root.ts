import { randomBytes } from 'node:crypto';
import {
  type DynamicModule,
  type FactoryProvider,
  Global,
  Module,
  type ModuleMetadata,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { EventEmitterModule } from '@nestjs/event-emitter';
import { getConnectionToken } from '@nestjs/mongoose';
import type { Connection } from 'mongoose';
import {
  CRUD_CONNECTION,
  DatabaseModule,
  type DatabaseOptions,
  DatabaseServer,
  SHARED_CONNECTION,
} from '../database/index.js';
import { EntityEventPublisher, HOOK_WARN_MS } from '../events/index.js';
import { TokenVerifier, type TokenVerifierOptions } from '../tenancy/index.js';
import { type Fail, failIf } from './options/checks.js';

/** Settings shared by all resources of an application. */
export interface CrudRootOptions {
  /**
   * The database: a MongoDB by `{ uri }`, which must contain a database name, or the embedded database
   * (package nestjs-mongo-crud-embedded) by `{ embeddedDir }`, the folder of its files, or `{ memory: true }` for
   * tests. Leave it out to share a connection; see `connectionName`.
   */
  database?: DatabaseOptions | DatabaseServer;
  /**
   * Name of a connection of `MongooseModule.forRoot` to share: `getConnectionToken()` for the one without a name. With
   * `database`, the name of the generator's own connection.
   *
   * @default CRUD_CONNECTION
   */
  connectionName?: string;
  /** How tokens are verified: `secret` or `jwksUrl`. @default no token is valid, so isolated routes answer 401 */
  tokens?: TokenVerifierOptions;
  /** A hook that takes longer is logged, and the request goes on without it. Unit: milliseconds. @default 50 */
  hookWarnMs?: number;
}

/** Settings shared by all resources of an application, made by a factory that Nest injects. */
export interface CrudRootAsyncOptions {
  /** Modules that export the providers that the factory injects. @default none */
  imports?: ModuleMetadata['imports'];
  /** Tokens of the factory's arguments, in order. @default none */
  inject?: FactoryProvider['inject'];
  /** Returns the options, or a promise of them. Called once, at the start. */
  useFactory: FactoryProvider<CrudRootOptions>['useFactory'];
  /** Name of a connection to share, as in {@link CrudRootOptions}; the factory then returns no `database`. */
  connectionName?: string;
}

const CRUD_ROOT_OPTIONS = Symbol('CrudRootOptions');
const IMPORT_ONCE = 'Import it once, in the root module.';

/** Provides the options to the modules that are made from them. */
@Global()
@Module({})
class CrudRootOptionsModule {}

@Global()
@Module({})
class CallersAndEventsModule {
  constructor(modules: ModulesContainer) {
    const { length } = [...modules.values()].filter(({ metatype }) => metatype === CrudRootOptionsModule);
    if (length > 1) throw new Error(`CrudModule.forRoot is imported ${length} times. ${IMPORT_ONCE}`);
  }
}

const SECRET_BYTES = 32;

/** A scheme, addresses, and a database name. Without the name, everything would go to `test`. */
const DATABASE_URI = /^mongodb(?:\+srv)?:\/\/[^/\s]+\/[^/?\s]/;

/** What every resource needs: the database, events, and the verification of tokens. */
export const SHARED_MODULES = [
  DatabaseModule.forRoot(
    fromOptions(({ database }) =>
      database instanceof DatabaseServer ? database : new DatabaseServer(database ?? { shared: true }),
    ),
  ),
  {
    module: CallersAndEventsModule,
    imports: [EventEmitterModule.forRoot()],
    providers: [
      {
        provide: TokenVerifier,
        // Without the option, no token verifies: nobody knows the secret.
        ...fromOptions(
          ({ tokens = { secret: randomBytes(SECRET_BYTES).toString('hex') } }) => new TokenVerifier(tokens),
        ),
      },
      { provide: HOOK_WARN_MS, ...fromOptions(({ hookWarnMs = 50 }) => hookWarnMs) },
      EntityEventPublisher,
    ],
    exports: [TokenVerifier, EntityEventPublisher],
  },
];

/**
 * The module that gives {@link SHARED_MODULES} their options.
 *
 * @param ownsDatabase whether the connection by this name is the generator's own
 */
export function crudRoot(
  { connectionName, imports, inject, useFactory }: CrudRootAsyncOptions,
  ownsDatabase = false,
): DynamicModule[] {
  const isNamed = connectionName !== undefined && !(ownsDatabase && connectionName === CRUD_CONNECTION);
  const aliases = isNamed
    ? [ownsDatabase ? ownConnection(connectionName) : sharedConnection(connectionName)]
    : [];
  return [
    {
      module: CrudRootOptionsModule,
      imports,
      providers: [{ provide: CRUD_ROOT_OPTIONS, inject, useFactory }, ...aliases],
      exports: [CRUD_ROOT_OPTIONS, ...aliases.map(({ provide }) => provide)],
    },
    ...SHARED_MODULES,
  ];
}

/** The generator's own connection, by another name. */
function ownConnection(name: string): FactoryProvider<Connection> {
  return {
    provide: getConnectionToken(name),
    inject: [getConnectionToken(CRUD_CONNECTION), ModulesContainer],
    useFactory: (own: Connection, modules: ModulesContainer) => {
      const givers = [...modules.values()].filter(({ providers }) => providers.has(getConnectionToken(name)));
      if (givers.length === 1) return own;
      throw new Error(
        `CrudModule.forRoot: MongooseModule.forRoot has a connection by the connectionName "${name}", too. Choose another one, or leave out database to share it.`,
      );
    },
  };
}

/** A connection of the application's. */
function sharedConnection(name: string): FactoryProvider<Connection> {
  return {
    provide: SHARED_CONNECTION,
    inject: [{ token: getConnectionToken(name), optional: true }],
    useFactory: (shared?: Connection) => {
      if (shared) return shared;
      throw new Error(
        `CrudModule.forRoot: there is no connection by the connectionName "${name}". Import MongooseModule.forRoot with that connectionName.`,
      );
    },
  };
}

function fromOptions<T>(useFactory: (options: CrudRootOptions) => T) {
  return {
    inject: [{ token: CRUD_ROOT_OPTIONS, optional: true }],
    useFactory: (options: CrudRootOptions | undefined) => {
      if (options) return useFactory(options);
      throw new Error(`CrudModule.forRoot is imported nowhere. ${IMPORT_ONCE}`);
    },
  };
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
  const { connectionName, database } = options;
  if (connectionName === undefined || database) checkDatabase(database, fail);
  if (method === 'forRootAsync' && connectionName !== undefined && database)
    fail('connectionName shares a connection, and the factory returns a database. Leave one of them out.');
  if (options.tokens) checkTokens(options.tokens, fail);
  return options;
}

function checkDatabase(database: CrudRootOptions['database'], fail: Fail): void {
  if (database instanceof DatabaseServer) return;
  const { uri, embeddedDir, memory, name } = (database ?? {}) as Partial<Record<string, unknown>>;
  const given = [uri, embeddedDir, memory].filter((value) => value !== undefined);
  failIf(fail, 'database', {
    " must be one of { uri: 'mongodb://127.0.0.1:27017/shop' }, { embeddedDir: './data' } and { memory: true }, or connectionName that of a connection of MongooseModule.":
      given.length !== 1 || (memory !== undefined && memory !== true),
    '.uri must be a mongodb:// or mongodb+srv:// URI that names a database, such as mongodb://127.0.0.1:27017/shop.':
      uri !== undefined && !(typeof uri === 'string' && DATABASE_URI.test(uri)),
    ".embeddedDir must be the path of a folder, such as './data'.":
      embeddedDir !== undefined && (typeof embeddedDir !== 'string' || embeddedDir === ''),
    ".name must be letters, digits, _ and -, such as 'app'.":
      name !== undefined && !/^[\w-]{1,60}$/.test(String(name)),
  });
}

function checkTokens({ secret, jwksUrl }: TokenVerifierOptions, fail: Fail): void {
  failIf(fail, 'tokens', {
    ' must have either secret or jwksUrl. Leave tokens out if no resource is isolated.':
      (secret === undefined) === (jwksUrl === undefined),
    [`.secret must have at least ${SECRET_BYTES} bytes.`]:
      secret !== undefined && Buffer.byteLength(secret) < SECRET_BYTES,
    ".jwksUrl must be a URL: new URL('https://…').": jwksUrl !== undefined && !(jwksUrl instanceof URL),
  });
}

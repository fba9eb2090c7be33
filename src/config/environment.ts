import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import ipaddr from 'ipaddr.js';
import { mongo } from 'mongoose';

/** A setting that the service cannot start with. The message is one line: the variable and its valid values. */
export class ConfigurationError extends Error {
  /**
   * @param variable name of the environment variable
   * @param detail what is wrong and what would be right, written to follow the name
   */
  constructor(
    readonly variable: string,
    detail: string,
  ) {
    super(`${variable} ${detail}.`);
    this.name = 'ConfigurationError';
  }
}

/** The process's settings, read once from the environment at the start; docs/configuration.md explains each. */
export type Environment = Readonly<ReturnType<typeof settingsFrom>>;

/** Any set of variables, such as `process.env`. */
export type Variables = Record<string, string | undefined>;

/**
 * Reads the environment. An empty variable counts as unset.
 *
 * @param options.verifiesTokens whether the process does, and so needs a key source in production. @default true
 * @throws ConfigurationError that names the variable and its valid values
 */
export function readEnvironment(variables: Variables, { verifiesTokens = true } = {}): Environment {
  const environment = settingsFrom(new Reader(variables));
  check(
    'JWT_JWKS_URL',
    !environment.jwtSecret || !environment.jwtJwksUrl,
    'cannot stand beside JWT_SECRET: one key source verifies every token. Unset one of them',
  );
  if (environment.nodeEnv === 'production') requireForProduction(environment, verifiesTokens);
  return environment;
}

function settingsFrom(read: Reader) {
  return {
    nodeEnv: read.oneOf('NODE_ENV', ['development', 'production', 'test'], 'development'),
    port: read.port('PORT') ?? 3000,
    host: read.text('HOST') ?? '127.0.0.1',
    mongodbUri: read.mongodbUri('MONGODB_URI'),
    mongodbAllowPlain: read.flag('MONGODB_ALLOW_PLAIN'),
    dataDir: read.text('DATA_DIR') ?? './data',
    jwtSecret: read.secret('JWT_SECRET'),
    jwtJwksUrl: read.url('JWT_JWKS_URL'),
    jwtIssuer: read.text('JWT_ISSUER'),
    jwtAudience: read.text('JWT_AUDIENCE'),
    jwtScope: read.valid(
      'JWT_SCOPE',
      SCOPE,
      'must be one scope, without spaces, quotation marks and backslashes',
    ),
    jwtTenantClaim: read.text('JWT_TENANT_CLAIM') ?? 'tenant',
    todosApi: read.oneOf('TODOS_API', ['generated', 'handwritten'], 'generated'),
    worker: read.oneOf('WORKER', ['inline', 'off'], 'inline'),
    workerPort: read.port('WORKER_PORT'),
    webhookAllowPrivate: read.flag('WEBHOOK_ALLOW_PRIVATE'),
    corsOrigins: read.list('CORS_ORIGINS', originViolation),
    logLevel: read.oneOf('LOG_LEVEL', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'info'),
    bodyLimit: read.wholeNumber('BODY_LIMIT', 1_048_576, 1, 1_073_741_824),
    trustedProxies: read.list('TRUSTED_PROXIES', networkViolation),
    maxRunningRequests: read.wholeNumber('MAX_RUNNING_REQUESTS', 128, 8, 100_000),
    maxWaitMs: read.wholeNumber('MAX_WAIT_MS', 750, 1, 4_000),
    maxEventLoopDelayMs: read.wholeNumber('MAX_EVENT_LOOP_DELAY_MS', 2_000, 0, 60_000),
    rateLimitTenant: read.wholeNumber('RATE_LIMIT_TENANT', 600_000, 0, 1_000_000_000),
    rateLimitAddress: read.wholeNumber('RATE_LIMIT_ADDRESS', 600_000, 0, 1_000_000_000),
    rateLimitBadTokens: read.wholeNumber('RATE_LIMIT_BAD_TOKENS', 600, 0, 1_000_000_000),
    hookWarnMs: read.wholeNumber('HOOK_WARN_MS', 50, 0, 600_000),
    docs: read.oneOf('DOCS', ['on', 'off'], 'on'),
    metrics: read.oneOf('METRICS', ['on', 'off'], 'on'),
    metricsToken: read.bearerToken('METRICS_TOKEN'),
  };
}

/** One scope (RFC 6749, section 3.3). */
const SCOPE = /^[!#-[\]-~]+$/;

/** Minimum length of a secret. Unit: bytes. */
export const SECRET_BYTES = 32;

/** A host that a connection reaches without a network. */
const THIS_HOST = /^(localhost|127\.[\d.]+|\[?::1\]?)$/;

function requireForProduction(environment: Environment, verifiesTokens: boolean): void {
  const { mongodbUri = '', mongodbAllowPlain, webhookAllowPrivate, jwtSecret, jwtJwksUrl } = environment;
  check('MONGODB_URI', mongodbUri !== '', 'is required in production: a mongodb:// or mongodb+srv:// URI');
  const { hosts, srvHost, tls, rejectUnauthorized, checkServerIdentity } = new mongo.MongoClient(mongodbUri)
    .options as mongo.MongoOptions & { checkServerIdentity?: unknown };
  const isHere = ({ host = '', socketPath }: mongo.HostAddress) =>
    socketPath !== undefined || THIS_HOST.test(host);
  check(
    'MONGODB_URI',
    tls || mongodbAllowPlain || (srvHost === undefined && hosts.every(isHere)),
    'must have tls=true in production, unless the MongoDB is on this host; MONGODB_ALLOW_PLAIN=true goes without',
  );
  check(
    'MONGODB_URI',
    !tls || (rejectUnauthorized !== false && checkServerIdentity === undefined),
    'must not turn the check of certificates off in production; name the authority with tlsCAFile',
  );
  check(
    'WEBHOOK_ALLOW_PRIVATE',
    !webhookAllowPrivate,
    'cannot be true in production: webhooks would reach the private network. Unset it',
  );
  check(
    'JWT_SECRET',
    !verifiesTokens || jwtSecret !== undefined || jwtJwksUrl !== undefined,
    'is required in production unless JWT_JWKS_URL is set: a secret of at least 32 bytes',
  );
}

/** @throws ConfigurationError if the variable does not meet a condition */
function check(variable: string, isMet: boolean, detail: string): void {
  if (!isMet) throw new ConfigurationError(variable, detail);
}

/** Reads one variable per call and rejects invalid values. */
class Reader {
  constructor(private readonly variables: Variables) {}

  text(name: string): string | undefined {
    return this.variables[name]?.trim() || undefined;
  }

  /** The text of a variable, if it is set and matches. */
  valid(name: string, pattern: RegExp, rule: string, value = this.text(name)): string | undefined {
    check(name, value === undefined || pattern.test(value), rule);
    return value;
  }

  oneOf<const T extends string>(name: string, allowed: readonly T[], fallback: T): T {
    const pattern = new RegExp(`^(?:${allowed.join('|')})$`);
    return (this.valid(name, pattern, `must be one of ${allowed.join(', ')}`) as T | undefined) ?? fallback;
  }

  flag(name: string): boolean {
    return this.oneOf(name, ['true', 'false'], 'false') === 'true';
  }

  port(name: string): number | undefined {
    return this.text(name) === undefined ? undefined : this.wholeNumber(name, 0, 0, 65_535);
  }

  wholeNumber(name: string, fallback: number, min: number, max: number): number {
    const rule = `must be a whole number from ${min} to ${max}`;
    const value = Number(this.valid(name, /^\d{1,15}$/, rule) ?? fallback);
    check(name, value >= min && value <= max, rule);
    return value;
  }

  mongodbUri(name: string): string | undefined {
    const value = this.valid(name, /^mongodb(\+srv)?:\/\/\S+$/, 'must be a mongodb:// or mongodb+srv:// URI');
    if (value === undefined) return undefined;
    try {
      // Parses the URI with all its options; it does not connect yet.
      new mongo.MongoClient(value);
    } catch (error) {
      const reason = withoutLogin((error as Error).message, value);
      throw new ConfigurationError(name, `must be a URI that the MongoDB driver can read: ${reason}`);
    }
    const rule = 'must name a database behind the address, such as mongodb://127.0.0.1:27017/posts-and-todos';
    return this.valid(name, /^[^/]*\/\/[^/]+\/[^/?]/, rule);
  }

  secret(name: string): string | undefined {
    const value = this.variables[name] || undefined;
    const isLong = value === undefined || Buffer.byteLength(value) >= SECRET_BYTES;
    check(name, isLong, `must have at least ${SECRET_BYTES} bytes`);
    return value;
  }

  /** A token with the characters of RFC 6750, section 2.1. */
  bearerToken(name: string): string | undefined {
    const rule = 'must have letters, digits and - . _ ~ + / only, with = at its end alone';
    return this.valid(name, /^[\w\-.~+/]+=*$/, rule, this.secret(name));
  }

  url(name: string): URL | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    check(name, /^https?:\/\//i.test(value) && URL.canParse(value), 'must be an http:// or https:// URL');
    return new URL(value);
  }

  /** @param violationOf returns what is wrong with an entry, and what would be right */
  list(name: string, violationOf: (entry: string) => string | undefined): string[] {
    const entries = (this.text(name) ?? '').split(',').map((entry) => entry.trim());
    const given = entries.filter((entry) => entry !== '');
    for (const entry of given) {
      const violation = violationOf(entry);
      check(name, violation === undefined, `has ${JSON.stringify(entry)}, ${violation}`);
    }
    return given;
  }
}

function originViolation(entry: string): string | undefined {
  const origin = URL.canParse(entry) ? new URL(entry).origin : 'null';
  if (origin === entry) return undefined;
  if (entry === '*')
    return 'which would open the API to every page. List the origins, such as https://app.example.com';
  if (!/^https?:/.test(origin)) return 'which is not an origin such as https://app.example.com';
  return `which is more than an origin or written otherwise than browsers send it. Write ${origin}`;
}

function networkViolation(entry: string): string | undefined {
  if (ipaddr.isValid(entry) || ipaddr.isValidCIDR(entry)) return undefined;
  return 'which is neither an address nor a range such as 10.0.0.0/8';
}

/** The driver sometimes quotes parts of a URI, but user and password must not appear in a log. */
function withoutLogin(message: string, uri: string): string {
  const login = uri.slice(uri.indexOf('//') + 2, uri.lastIndexOf('@'));
  const line = message.replaceAll(/\s+/g, ' ').replace(/\.$/, '');
  return login === '' || !uri.includes('@') ? line : line.replaceAll(login, '…');
}

/** The folder for data on disk, or one inside it, for its owner only. @throws ConfigurationError if it cannot be written */
export function dataDirOf({ dataDir }: Environment, inside = ''): string {
  let folder = dataDir;
  try {
    for (folder of [dataDir, join(dataDir, inside)]) {
      make(resolve(folder));
      // With the slash, a file is none.
      accessSync(join(folder, '/'), constants.W_OK | constants.X_OK);
    }
    return folder;
  } catch {
    throw new ConfigurationError('DATA_DIR', `must be a folder that can be written; ${folder} is not`);
  }
}

/** One folder at a time: Node's own recursion never ends where no folder can be made, such as below /proc. */
function make(folder: string): void {
  if (existsSync(folder)) return;
  make(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have just made it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

import ipaddr from 'ipaddr.js';
import { mongo } from 'mongoose';
import { ConfigurationError } from './configuration.error.js';

/** The process's settings, read once from the environment variables at the start; docs/configuration.md lists them. */
export interface Environment {
  readonly nodeEnv: 'development' | 'production' | 'test';
  /** TCP port; 0 chooses a free one. @default 3000 */
  readonly port: number;
  /** Address to listen on. @default "127.0.0.1" */
  readonly host: string;
  /** Connection string of a MongoDB; unset means the embedded database. */
  readonly mongodbUri?: string;
  /** Whether production may connect to a MongoDB on another host without TLS. @default false */
  readonly mongodbAllowPlain: boolean;
  /** Folder for data on disk: the development secret, and the embedded database's files. @default "./data" */
  readonly dataDir: string;
  /** Shared secret of HS256 tokens, at least 32 bytes. */
  readonly jwtSecret?: string;
  /** URL of the public keys of RS256, ES256 and EdDSA tokens. */
  readonly jwtJwksUrl?: URL;
  readonly jwtIssuer?: string;
  readonly jwtAudience?: string;
  /** Scope that every token must have; if unset, none is required. */
  readonly jwtScope?: string;
  /** Name of the token claim that contains the tenant. @default "tenant" */
  readonly jwtTenantClaim: string;
  /** Which implementation of the todo API is served at /todos. @default "generated" */
  readonly todosApi: 'generated' | 'handwritten';
  /** Whether this process delivers notifications itself. @default "inline" */
  readonly worker: 'inline' | 'off';
  /** TCP port of a worker's health and metrics; 0 chooses a free one, unset opens none. */
  readonly workerPort?: number;
  /** Whether webhooks may reach private and loopback addresses; never in production. @default false */
  readonly webhookAllowPrivate: boolean;
  /** Origins whose pages may call the API. @default none */
  readonly corsOrigins: string[];
  readonly logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
  /** Maximum size of a request body. Unit: bytes. @default 1048576 */
  readonly bodyLimit: number;
  /** Proxies whose `X-Forwarded-For` is trusted: addresses, or ranges such as 10.0.0.0/8. @default none */
  readonly trustedProxies: string[];
  /** Maximum number of requests to carry out at a time; others take turns. @default 128 */
  readonly maxRunningRequests: number;
  /** A request that would probably wait longer for its turn is rejected. Unit: milliseconds. @default 750 */
  readonly maxWaitMs: number;
  /**
   * Average event loop delay above which requests are rejected; 0 disables the check. Unit: milliseconds.
   *
   * @default 2000
   */
  readonly maxEventLoopDelayMs: number;
  /** Maximum number of requests per tenant and minute; 0 means no limit. @default 600000 */
  readonly rateLimitTenant: number;
  /** Maximum number of requests per address and minute; 0 means no limit. @default 600000 */
  readonly rateLimitAddress: number;
  /** Maximum number of requests with invalid tokens per address and minute; 0 means no limit. @default 600 */
  readonly rateLimitBadTokens: number;
  /** A hook that takes longer is logged as slow. Unit: milliseconds. @default 50 */
  readonly hookWarnMs: number;
  /** Whether the explorer and the OpenAPI document are served. @default "on" */
  readonly docs: 'on' | 'off';
  /** Whether `GET /metrics` is served. @default "on" */
  readonly metrics: 'on' | 'off';
  /** Bearer token that `GET /metrics` requires; if unset, none is required. */
  readonly metricsToken?: string;
}

/** How a process reads its settings. */
export interface EnvironmentOptions {
  /** Whether the process verifies tokens, and so needs a key source in production. @default true */
  readonly verifiesTokens?: boolean;
}

/** Any set of variables, such as `process.env`. */
export type Variables = Record<string, string | undefined>;

/**
 * Reads the environment. An empty variable counts as unset.
 *
 * @throws ConfigurationError that names the variable and its valid values
 */
export function readEnvironment(
  variables: Variables,
  { verifiesTokens = true }: EnvironmentOptions = {},
): Environment {
  rejectSeveralProcesses(variables);
  const read = new Reader(variables);
  const environment: Environment = {
    nodeEnv: read.oneOf('NODE_ENV', ['development', 'production', 'test'], 'development'),
    port: read.port('PORT') ?? 3000,
    host: read.text('HOST') ?? '127.0.0.1',
    mongodbUri: read.mongodbUri('MONGODB_URI'),
    mongodbAllowPlain: read.flag('MONGODB_ALLOW_PLAIN'),
    dataDir: read.text('DATA_DIR') ?? './data',
    jwtSecret: read.secret('JWT_SECRET', 32),
    jwtJwksUrl: read.url('JWT_JWKS_URL'),
    jwtIssuer: read.text('JWT_ISSUER'),
    jwtAudience: read.text('JWT_AUDIENCE'),
    jwtScope: read.scope('JWT_SCOPE'),
    jwtTenantClaim: read.text('JWT_TENANT_CLAIM') ?? 'tenant',
    todosApi: read.oneOf('TODOS_API', ['generated', 'handwritten'], 'generated'),
    worker: read.oneOf('WORKER', ['inline', 'off'], 'inline'),
    workerPort: read.port('WORKER_PORT'),
    webhookAllowPrivate: read.flag('WEBHOOK_ALLOW_PRIVATE'),
    corsOrigins: read.origins('CORS_ORIGINS'),
    logLevel: read.oneOf('LOG_LEVEL', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'info'),
    bodyLimit: read.wholeNumber('BODY_LIMIT', 1_048_576, 1, 1_073_741_824),
    trustedProxies: read.networks('TRUSTED_PROXIES'),
    maxRunningRequests: read.wholeNumber('MAX_RUNNING_REQUESTS', 128, 8, 100_000),
    maxWaitMs: read.wholeNumber('MAX_WAIT_MS', 750, 1, 4_000),
    maxEventLoopDelayMs: read.wholeNumber('MAX_EVENT_LOOP_DELAY_MS', 2_000, 0, 60_000),
    rateLimitTenant: read.wholeNumber('RATE_LIMIT_TENANT', 600_000, 0, 1_000_000_000),
    rateLimitAddress: read.wholeNumber('RATE_LIMIT_ADDRESS', 600_000, 0, 1_000_000_000),
    rateLimitBadTokens: read.wholeNumber('RATE_LIMIT_BAD_TOKENS', 600, 0, 1_000_000_000),
    hookWarnMs: read.wholeNumber('HOOK_WARN_MS', 50, 0, 600_000),
    docs: read.oneOf('DOCS', ['on', 'off'], 'on'),
    metrics: read.oneOf('METRICS', ['on', 'off'], 'on'),
    metricsToken: read.bearerToken('METRICS_TOKEN', 32),
  };
  refuseContradictions(environment);
  if (environment.nodeEnv === 'production') requireForProduction(environment, verifiesTokens);
  return environment;
}

/** Platforms set this variable, and earlier versions obeyed it: ignoring it would lose most of the capacity. */
function rejectSeveralProcesses(variables: Variables): void {
  if (Object.hasOwn(variables, 'WEB_CONCURRENCY') && Number(variables.WEB_CONCURRENCY) > 1) {
    throw new ConfigurationError(
      'WEB_CONCURRENCY',
      'no longer starts several processes. Set it to 1, and start several services behind a load balancer, each with its own PORT',
    );
  }
}

function refuseContradictions(environment: Environment): void {
  if (environment.jwtSecret && environment.jwtJwksUrl) {
    throw new ConfigurationError(
      'JWT_JWKS_URL',
      'cannot stand beside JWT_SECRET: one key source verifies every token. Unset one of them',
    );
  }
}

function requireForProduction(environment: Environment, verifiesTokens: boolean): void {
  if (!environment.mongodbUri) {
    throw new ConfigurationError(
      'MONGODB_URI',
      'is required in production: a mongodb:// or mongodb+srv:// URI',
    );
  }
  if (!environment.mongodbAllowPlain && isPlain(environment.mongodbUri)) {
    throw new ConfigurationError(
      'MONGODB_URI',
      'must have tls=true in production, unless the MongoDB is on this host; MONGODB_ALLOW_PLAIN=true goes without',
    );
  }
  if (acceptsAnyCertificate(environment.mongodbUri)) {
    throw new ConfigurationError(
      'MONGODB_URI',
      'must not turn the check of certificates off in production; name the authority with tlsCAFile',
    );
  }
  if (environment.webhookAllowPrivate) {
    throw new ConfigurationError(
      'WEBHOOK_ALLOW_PRIVATE',
      'cannot be true in production: webhooks would reach the private network. Unset it',
    );
  }
  if (verifiesTokens && !environment.jwtSecret && !environment.jwtJwksUrl) {
    throw new ConfigurationError(
      'JWT_SECRET',
      'is required in production unless JWT_JWKS_URL is set: a secret of at least 32 bytes',
    );
  }
}

/** Whether a connection to another host has no TLS. */
function isPlain(uri: string): boolean {
  const { hosts, srvHost, tls } = new mongo.MongoClient(uri).options;
  const isHere = ({ host, socketPath }: mongo.HostAddress) => socketPath !== undefined || isThisHost(host);
  return !tls && (srvHost !== undefined || !hosts.every(isHere));
}

/** Whether a TLS connection would accept any server. */
function acceptsAnyCertificate(uri: string): boolean {
  const { tls, rejectUnauthorized, checkServerIdentity } = new mongo.MongoClient(uri)
    .options as mongo.MongoOptions & { checkServerIdentity?: unknown };
  return tls && (rejectUnauthorized === false || checkServerIdentity !== undefined);
}

function isThisHost(host = ''): boolean {
  return /^(localhost|127\.[\d.]+|\[?::1\]?)$/.test(host);
}

/** Reads one variable per call and rejects invalid values. */
class Reader {
  constructor(private readonly variables: Variables) {}

  text(name: string): string | undefined {
    const value = this.variables[name]?.trim();
    return value === '' ? undefined : value;
  }

  oneOf<const T extends string>(name: string, allowed: readonly T[], fallback: T): T {
    const value = this.text(name) ?? fallback;
    const found = allowed.find((candidate) => candidate === value);
    if (found === undefined) throw new ConfigurationError(name, `must be one of ${allowed.join(', ')}`);
    return found;
  }

  port(name: string): number | undefined {
    return this.text(name) === undefined ? undefined : this.wholeNumber(name, 0, 0, 65_535);
  }

  flag(name: string): boolean {
    return this.oneOf(name, ['true', 'false'], 'false') === 'true';
  }

  wholeNumber(name: string, fallback: number, min: number, max: number): number {
    const value = this.text(name);
    if (value === undefined) return fallback;
    const number = /^\d{1,15}$/.test(value) ? Number(value) : NaN;
    if (!(number >= min && number <= max)) {
      throw new ConfigurationError(name, `must be a whole number from ${min} to ${max}`);
    }
    return number;
  }

  mongodbUri(name: string): string | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    if (!/^mongodb(\+srv)?:\/\/\S+$/.test(value)) {
      throw new ConfigurationError(name, 'must be a mongodb:// or mongodb+srv:// URI');
    }
    try {
      // Parses the URI with all its options; it does not connect yet.
      new mongo.MongoClient(value);
    } catch (error) {
      const fault = withoutLogin((error as Error).message, value);
      throw new ConfigurationError(name, `must be a URI that the MongoDB driver can read: ${fault}`);
    }
    if (!/^[^/]*\/\/[^/]+\/[^/?]/.test(value)) {
      throw new ConfigurationError(
        name,
        'must name a database behind the address, such as mongodb://127.0.0.1:27017/posts-and-todos',
      );
    }
    return value;
  }

  secret(name: string, minBytes: number): string | undefined {
    const value = this.variables[name];
    if (value === undefined || value === '') return undefined;
    if (Buffer.byteLength(value) < minBytes) {
      throw new ConfigurationError(name, `must have at least ${minBytes} bytes`);
    }
    return value;
  }

  /** A token with the characters of RFC 6750, section 2.1. */
  bearerToken(name: string, minLength: number): string | undefined {
    const value = this.secret(name, minLength);
    if (value === undefined || /^[\w\-.~+/]+=*$/.test(value)) return value;
    throw new ConfigurationError(
      name,
      'must have letters, digits and - . _ ~ + / only, with = at its end alone',
    );
  }

  url(name: string): URL | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const url = URL.canParse(value) ? new URL(value) : undefined;
    if (!url || !['http:', 'https:'].includes(url.protocol)) {
      throw new ConfigurationError(name, 'must be an http:// or https:// URL');
    }
    return url;
  }

  /** One scope, with the characters of RFC 6749, section 3.3. */
  scope(name: string): string | undefined {
    const value = this.text(name);
    if (value === undefined || /^[!#-[\]-~]+$/.test(value)) return value;
    throw new ConfigurationError(name, 'must be one scope, without spaces, quotation marks and backslashes');
  }

  origins(name: string): string[] {
    return this.list(name, originFault);
  }

  networks(name: string): string[] {
    return this.list(name, networkFault);
  }

  /** @param faultOf returns what is wrong with an entry, and what would be right */
  private list(name: string, faultOf: (entry: string) => string | undefined): string[] {
    const entries = (this.text(name) ?? '').split(',').map((entry) => entry.trim());
    return entries
      .filter((entry) => entry !== '')
      .map((entry) => {
        const fault = faultOf(entry);
        if (fault === undefined) return entry;
        throw new ConfigurationError(name, `has ${JSON.stringify(entry)}, ${fault}`);
      });
  }
}

function originFault(entry: string): string | undefined {
  const origin = URL.canParse(entry) ? new URL(entry).origin : 'null';
  if (origin === entry) return undefined;
  if (entry === '*')
    return 'which would open the API to every page. List the origins, such as https://app.example.com';
  if (!/^https?:/.test(origin)) return 'which is not an origin such as https://app.example.com';
  return `which is more than an origin or written otherwise than browsers send it. Write ${origin}`;
}

function networkFault(entry: string): string | undefined {
  if (ipaddr.isValid(entry) || ipaddr.isValidCIDR(entry)) return undefined;
  return 'which is neither an address nor a range such as 10.0.0.0/8';
}

/** The driver sometimes quotes parts of a URI, but user and password must not appear in a log. */
function withoutLogin(message: string, uri: string): string {
  const login = uri.slice(uri.indexOf('//') + 2, uri.lastIndexOf('@'));
  const line = message.replaceAll(/\s+/g, ' ').replace(/\.$/, '');
  return login === '' || !uri.includes('@') ? line : line.replaceAll(login, '…');
}

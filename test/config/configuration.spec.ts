/** @slow */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jwtVerify } from 'jose';
import { APP_DEFAULTS } from '../../src/common/server/index.js';
import { ConfigurationError, readEnvironment, type Variables } from '../../src/config/index.js';
import { freshDatabaseUri } from '../support/mongodb.js';
import { sendTo } from '../support/send-to.js';
import { useServices } from '../support/service-process.js';
import { ACME, TEST_SECRET } from '../support/tenants.js';

const MONGODB_URI = 'mongodb://127.0.0.1:27017/app';
const JWKS_URL = 'https://issuer.example.com/keys';
const PRODUCTION = { NODE_ENV: 'production', MONGODB_URI, JWT_SECRET: TEST_SECRET };

describe('the environment', () => {
  it('has the documented defaults', () => {
    expect(readEnvironment({})).toMatchObject(APP_DEFAULTS);
  });

  it.each(
    `PORT=8080 HOST=0.0.0.0 DATA_DIR=/var/lib/service JWT_ISSUER=https://issuer.example.com JWT_AUDIENCE=posts
     JWT_SECRET=a-secret-of-no-less-than-32-bytes JWT_SCOPE=posts:write JWT_TENANT_CLAIM=org TODOS_API=handwritten
     WORKER=off WORKER_PORT=9464 WEBHOOK_ALLOW_PRIVATE=true WEBHOOK_ALLOW_PRIVATE=false LOG_LEVEL=debug
     BODY_LIMIT=2048 HOOK_WARN_MS=100 MAX_RUNNING_REQUESTS=64 MAX_WAIT_MS=100 MAX_EVENT_LOOP_DELAY_MS=0
     RATE_LIMIT_TENANT=6000 RATE_LIMIT_ADDRESS=0 RATE_LIMIT_BAD_TOKENS=10 DOCS=off METRICS=off
     METRICS_TOKEN=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx= MONGODB_URI=mongodb+srv://db.example.com/app`.split(
      /\s+/,
    ),
  )('takes %s as it stands', (variable) => {
    const [, name = '', text = ''] = /^(\w+?)=(.*)$/.exec(variable) ?? [];
    const field = name.toLowerCase().replaceAll(/_./g, (part) => part.slice(1).toUpperCase());
    const value = /^(?:\d+|true|false)$/.test(text) ? (JSON.parse(text) as unknown) : text;
    expect(readEnvironment({ [name]: text })).toMatchObject({ [field]: value });
  });

  const ORIGINS = ['https://a.b', 'http://localhost:5173'];
  const PLAIN = { MONGODB_URI: 'mongodb://db.internal/app', MONGODB_ALLOW_PLAIN: 'true' };
  const IN_PRODUCTION =
    'mongodb://db.example.com/app?tls=true mongodb+srv://db.example.com/app mongodb://localhost,[::1]:27018/app mongodb://%2Ftmp%2Fmongodb-27017.sock/app';

  it.each<[Variables, object]>([
    [{ PORT: '' }, { port: 3000 }],
    [PRODUCTION, { nodeEnv: 'production' }],
    [{ NODE_ENV: 'production', MONGODB_URI, JWT_JWKS_URL: JWKS_URL }, { jwtJwksUrl: new URL(JWKS_URL) }],
    [{ CORS_ORIGINS: ORIGINS.join(', ') }, { corsOrigins: ORIGINS }],
    [{ TRUSTED_PROXIES: '10.0.0.0/8, ::1' }, { trustedProxies: ['10.0.0.0/8', '::1'] }],
    ...IN_PRODUCTION.split(' ').map((mongodbUri): [Variables, object] => [
      { ...PRODUCTION, MONGODB_URI: mongodbUri },
      { mongodbUri },
    ]),
    [{ ...PRODUCTION, ...PLAIN }, { mongodbAllowPlain: true }],
  ])('takes %j', (variables, expected) => {
    expect(readEnvironment(variables)).toMatchObject(expected);
  });

  /** What a process says, and the values that it says it of; another variable has to be there for some. */
  const WRONG: Record<string, (string | Variables)[]> = {
    'PORT must be a whole number from 0 to 65535.': ['65536', '80.5'],
    'MONGODB_URI must be a mongodb:// or mongodb+srv:// URI.': ['postgres://db'],
    'MONGODB_URI must name a database behind the address, such as mongodb://127.0.0.1:27017/posts-and-todos.':
      [
        ...['mongodb://127.0.0.1:27017', 'mongodb://user:secret@a,b/?replicaSet=rs0'],
        'mongodb+srv://db.example.com/',
      ],
    'MONGODB_URI must be a URI that the MongoDB driver can read: Expected maxPoolSize to be stringified int value, got: many.':
      ['mongodb://db/?maxPoolSize=many'],
    'MONGODB_URI must be a URI that the MongoDB driver can read: Unable to parse db:none with URL.': [
      'mongodb://user:secret@db:none/app',
    ],
    'MONGODB_URI is required in production: a mongodb:// or mongodb+srv:// URI.': [
      { ...PRODUCTION, MONGODB_URI: '' },
    ],
    'MONGODB_URI must have tls=true in production, unless the MongoDB is on this host; MONGODB_ALLOW_PLAIN=true goes without.':
      [{ ...PRODUCTION, MONGODB_URI: 'mongodb://localhost,db.example.com/app' }],
    'MONGODB_URI must not turn the check of certificates off in production; name the authority with tlsCAFile.':
      ['tlsInsecure', 'tlsAllowInvalidCertificates', 'tlsAllowInvalidHostnames'].map((option) => ({
        ...PRODUCTION,
        MONGODB_URI: `mongodb://db.example.com/app?tls=true&${option}=true`,
      })),
    'NODE_ENV must be one of development, production, test.': ['prod'],
    'JWT_SECRET is required in production unless JWT_JWKS_URL is set: a secret of at least 32 bytes.': [
      { NODE_ENV: 'production' },
    ],
    'JWT_SECRET must have at least 32 bytes.': ['short'],
    'JWT_JWKS_URL must be an http:// or https:// URL.': ['file:///etc/keys'],
    'JWT_JWKS_URL cannot stand beside JWT_SECRET: one key source verifies every token. Unset one of them.': [
      { JWT_JWKS_URL: JWKS_URL, JWT_SECRET: TEST_SECRET },
    ],
    'JWT_SCOPE must be one scope, without spaces, quotation marks and backslashes.': ['read write'],
    'TODOS_API must be one of generated, handwritten.': ['both'],
    'WORKER must be one of inline, off.': ['on'],
    'WORKER_PORT must be a whole number from 0 to 65535.': ['yes'],
    'METRICS must be one of on, off.': ['yes'],
    'METRICS_TOKEN must have at least 32 bytes.': ['x'.repeat(31)],
    'METRICS_TOKEN must have letters, digits and - . _ ~ + / only, with = at its end alone.': [
      `${'x'.repeat(32)} x`,
    ],
    'WEBHOOK_ALLOW_PRIVATE must be one of true, false.': ['yes'],
    'WEBHOOK_ALLOW_PRIVATE cannot be true in production: webhooks would reach the private network. Unset it.':
      [{ ...PRODUCTION, WEBHOOK_ALLOW_PRIVATE: 'true' }],
    'CORS_ORIGINS has "https://a.example.com/", which is more than an origin or written otherwise than browsers send it. Write https://a.example.com.':
      ['http://localhost:5173, https://a.example.com/'],
    'CORS_ORIGINS has "localhost:5173", which is not an origin such as https://app.example.com.': [
      'localhost:5173',
    ],
    'CORS_ORIGINS has "*", which would open the API to every page. List the origins, such as https://app.example.com.':
      ['*'],
    'LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent.': ['loud'],
    'BODY_LIMIT must be a whole number from 1 to 1073741824.': ['1MB'],
    'HOOK_WARN_MS must be a whole number from 0 to 600000.': ['-1'],
    'TRUSTED_PROXIES has "proxy.internal", which is neither an address nor a range such as 10.0.0.0/8.': [
      '10.0.0.0/8, proxy.internal',
    ],
    'MAX_RUNNING_REQUESTS must be a whole number from 8 to 100000.': ['1'],
    'RATE_LIMIT_TENANT must be a whole number from 0 to 1000000000.': ['none'],
  };

  it.each(
    Object.entries(WRONG).flatMap(([sentence, values]) => values.map((value) => [value, sentence] as const)),
  )('rejects %j: %s', (value, sentence) => {
    const variables = typeof value === 'string' ? { [sentence.replace(/ .*/, '')]: value } : value;
    const read = () => readEnvironment({ MONGODB_URI, ...variables });
    expect(read).toThrow(ConfigurationError);
    expect(read).toThrow(new Error(sentence));
  });
});

describe('a process', () => {
  const services = useServices();

  it('does not start with a wrong setting, and says in one line which', async () => {
    const file = join(services.folder, 'file');
    writeFileSync(file, '');
    const listening = { MONGODB_URI: freshDatabaseUri(), LOG_LEVEL: 'error', PORT: '0' };
    for (const [env, sentence] of [
      [{ PORT: '65536' }, 'PORT must be a whole number from 0 to 65535.'],
      [{ DATA_DIR: file }, `DATA_DIR must be a folder that can be written; ${file} is not.`],
      [
        { ...listening, HOST: '192.0.2.1' },
        'HOST must be an address of this machine, such as 127.0.0.1 or 0.0.0.0.',
      ],
    ] as const) {
      const ended = await services.spawn({ MONGODB_URI, DATA_DIR: services.folder, ...env }).ended();
      expect(ended).toEqual({ code: 1, stdout: '', stderr: `${sentence}\n` });
    }
  });

  const token = (args: string[], env: Variables = {}) =>
    services.spawn({ DATA_DIR: services.folder, ...env }, ['scripts/token.js', ...args]).ended();

  it('creates its development secret once, readable only by its owner, and shares it with the token command', async () => {
    const first = await token(['--tenant', ACME]);
    const file = join(services.folder, 'jwt-secret');
    const secret = readFileSync(file, 'utf8');
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const second = await token(['--tenant', ACME]);
    expect(readFileSync(file, 'utf8')).toBe(secret);
    for (const { code, stdout } of [first, second]) {
      expect(code).toBe(0);
      const { payload } = await jwtVerify(stdout.trim(), new TextEncoder().encode(secret));
      expect(payload.tenant).toBe(ACME);
    }
    const service = services.spawn({ MONGODB_URI: freshDatabaseUri(), DATA_DIR: services.folder, PORT: '0' });
    const request = { token: first.stdout.trim() };
    const response = await sendTo(await service.url(), 'DELETE', `/posts/api/${ACME}`, request);
    expect([response.status, response.body]).toEqual([200, { archived: true }]);
  });

  it('makes a token of a person, whom it names', async () => {
    const { stdout } = await token(['--tenant', ACME, '--sub', 'ada'], { JWT_SECRET: TEST_SECRET });
    const { payload } = await jwtVerify(stdout.trim(), new TextEncoder().encode(TEST_SECRET));
    expect(payload).toMatchObject({ tenant: ACME, sub: 'ada' });
  });

  it('refuses to make tokens in production, or without a tenant', async () => {
    const inProduction = expect.stringMatching(/^JWT_SECRET only signs tokens in development/);
    const refused = { code: 1, stdout: '', stderr: inProduction };
    expect(await token(['--tenant', ACME], PRODUCTION)).toEqual(refused);
    const usage = expect.stringMatching(/^Usage: npm run token/);
    expect(await token(['--tenant', 'acme'])).toEqual({ code: 1, stdout: '', stderr: usage });
  });
});

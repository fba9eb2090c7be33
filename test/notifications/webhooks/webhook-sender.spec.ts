import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:https';
import { type AddressInfo, Socket } from 'node:net';
import { Webhook } from 'standardwebhooks';
import {
  type SenderOptions,
  WebhookSender,
} from '../../../src/common/notifications/webhooks/webhook-sender.js';
import { eventually } from '../../support/eventually.js';
import { hooksCertificate } from '../../support/hooks-certificate.js';
import { RawReceiver, Receiver } from '../../support/receiver.js';

const ANYWHERE = { allowPrivate: true, httpsOnly: false };
const PUBLIC = { allowPrivate: false, httpsOnly: false };

const secret = `whsec_${randomBytes(32).toString('base64')}`;
const messageTo = (url: string) => ({
  id: 'evt_665f1c2ab7e3a90d4c8b4567',
  url,
  secrets: [secret],
  body: '{ "type":"posts.created",  "data": {"title":"Grüße 🌍"} }',
});
const send = (url: string, options?: SenderOptions, policy = ANYWHERE) =>
  new WebhookSender(policy, options).send(messageTo(url));

describe('a webhook', () => {
  const receiver = Receiver.forEach();

  it('arrives signed, with its id and the exact bytes of its body', async () => {
    expect(await send(`${receiver.url}/a?b=c#d`)).toEqual({ status: 204 });
    const [{ path, headers, body } = { path: '', headers: {}, body: '' }] = receiver.received;
    expect([path, body]).toEqual(['/hook/a?b=c', messageTo('').body]);
    expect(headers).toMatchObject({
      'webhook-id': 'evt_665f1c2ab7e3a90d4c8b4567',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      'user-agent': 'posts-and-todos-webhooks/1',
      host: new URL(receiver.url).host,
    });
    expect(headers).not.toHaveProperty('transfer-encoding');
    // It refuses what is not signed as Standard Webhooks say: id, time and body, by the secret.
    expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
  });

  it.each([200, 201, 202, 204, 299, 400, 401, 404, 410, 429, 500, 503])(
    'with the status %d is delivered if that is one of success',
    async (status) => {
      receiver.answer = (_, response) => void response.writeHead(status).end();
      const error = `The answer has the status ${status}.`;
      expect(await send(receiver.url)).toEqual(status < 300 ? { status } : { status, error });
    },
  );

  it.each([300, 301, 302, 303, 307, 308])('follows no redirect (%d)', async (status) => {
    const internal = await Receiver.start();
    receiver.answer = (_, response) => void response.writeHead(status, { Location: internal.url }).end();
    const error = `The answer is a redirect (${status}); redirects are not followed.`;
    expect(await send(receiver.url)).toEqual({ status, error });
    expect(internal.received).toEqual([]);
    await internal.close();
  });
});

type Treat = (socket: Socket) => void;
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n';
const EMPTY = `${HEAD}Content-Length: 0\r\n\r\n`;
const write = (text: string) => (socket: Socket) => void socket.write(text);
const end = (answer: string | Buffer) => (socket: Socket) => void socket.end(answer);
const atRequest = (treat: Treat) => (socket: Socket) => void socket.once('data', () => treat(socket));
const reset = atRequest((socket) => socket.resetAndDestroy());
/** Writes a head, and then a byte now and then. */
const trickle = (head: string) => (socket: Socket) => {
  socket.write(head);
  const timer = setInterval(() => socket.write('x'), 20);
  socket.on('close', () => clearInterval(timer));
};
/** Writes a head, and then a text as long as the other side takes it. */
const flood = (head: string, text: string) => (socket: Socket) => {
  const writeMore = () => {
    while (!socket.destroyed && socket.write(text));
  };
  socket.on('drain', writeMore);
  socket.write(head);
  writeMore();
};

describe('a receiver that', () => {
  let raw: RawReceiver | undefined;
  afterEach(async () => {
    // Whatever it did, no connection is left.
    await eventually(() => expect(raw?.open ?? 0).toBe(0));
    await raw?.close();
    raw = undefined;
  });
  const sendTo = async (treat: Treat, options?: SenderOptions) => {
    raw = await RawReceiver.start(treat);
    return send(raw.url, options);
  };

  const FILLER = `X-Filler: ${'x'.repeat(1_000)}\r\n`;
  const HINT = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';
  const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';
  const resetLater: Treat = (socket) =>
    socket.write(`${HEAD}Content-Length: 10\r\n\r\nx`, () => setImmediate(() => socket.resetAndDestroy()));
  const NONE_IN_TIME = 'There was no answer within 0.4 s.';
  const TOO_MANY = 'The answer has too many interim answers.';

  it.each<[string, string, Treat]>([
    ['never answers is given up', NONE_IN_TIME, () => undefined],
    ['sends its header byte by byte is given up', NONE_IN_TIME, trickle('HTTP/1.1 200 OK\r\nX: ')],
    ['sends a header without end is cut off', 'The header of the answer is too large.', flood(HEAD, FILLER)],
    ['sends interim answers without end is cut off', TOO_MANY, flood('', HINT)],
    ['switches protocols has not answered', 'The answer switches protocols.', write(SWITCH)],
    ['does not speak HTTP has not answered', 'The answer is not HTTP.', end('SSH-2.0-OpenSSH_9.6\r\n')],
    ['has the status 000 has not answered', 'The answer is not HTTP.', end('HTTP/1.1 000 Odd\r\n\r\n')],
    ['resets the connection has not answered', 'The connection failed (ECONNRESET).', reset],
  ])('%s', async (_what, error, treat) => {
    const options = error === NONE_IN_TIME ? { attemptMs: 400 } : {};
    expect(await sendTo(treat, options)).toEqual({ error });
  });

  it.each<[string, Treat]>([
    ['sends a body byte by byte, which is not read for long', trickle(`${HEAD}Content-Length: 9999\r\n\r\n`)],
    ['sends an interim answer first', end(`HTTP/1.1 100 Continue\r\n\r\n${EMPTY}`)],
    ['sends a malformed body', write(`${HEAD}Transfer-Encoding: chunked\r\n\r\nZZZ\r\n`)],
    ['resets the connection after its status', resetLater],
  ])('%s is trusted for its status', async (_what, treat) => {
    expect(await sendTo(treat)).toEqual({ status: 200 });
  });

  it('sends an endless body is cut off, and memory stays flat', async () => {
    let written = 0;
    const treat: Treat = (socket) => {
      flood(`${HEAD}\r\n`, 'x'.repeat(64 * 1_024))(socket);
      socket.on('close', () => (written += socket.bytesWritten));
    };
    expect(await sendTo(treat)).toEqual({ status: 200 });
    await eventually(() => expect(written).toBeGreaterThan(0));
    expect(written).toBeLessThan(32 * 1_024 * 1_024);
  });

  it('is sent two webhooks has a connection for each', async () => {
    await sendTo(end(EMPTY));
    await send(raw?.url ?? '');
    expect(raw?.connections).toBe(2);
  });

  it('does not listen has not answered', async () => {
    expect(await send('http://127.0.0.1:1/')).toEqual({ error: 'The connection failed (ECONNREFUSED).' });
  });

  it('has not answered when the process stops ends with it', async () => {
    raw = await RawReceiver.start();
    const stopping = new AbortController();
    const sending = new WebhookSender(ANYWHERE).send(messageTo(raw.url), stopping.signal);
    await eventually(() => expect(raw?.open).toBe(1));
    stopping.abort();
    await expect(sending).rejects.toThrow('aborted');
  });

  it.each<[string, Treat]>([
    ['does not speak TLS', end('HTTP/1.1 200 OK\r\n\r\n')],
    ['closes during the handshake', atRequest((socket) => socket.end())],
    ['resets during the handshake', reset],
    ['refuses the handshake', atRequest(end(Buffer.of(21, 3, 3, 0, 2, 2, 40)))],
  ])('%s has not answered', async (_what, treat) => {
    raw = await RawReceiver.start(treat);
    const error = expect.stringMatching(/^The .+\.$/) as string;
    expect(await send(raw.url.replace('http:', 'https:'))).toEqual({ error });
  });
});

describe('a connection that the system refuses', () => {
  const codes = [
    ...['ENETUNREACH', 'EHOSTUNREACH', 'ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'EADDRNOTAVAIL'],
    ...['EAFNOSUPPORT', 'EACCES', 'EPERM', 'EINVAL', 'EMFILE', 'ENOBUFS', 'EPIPE'],
  ];
  const failures = codes.flatMap((code) =>
    ['thrown', 'at once', 'later'].flatMap((when) =>
      ['http', 'https'].map((scheme) => [code, when, scheme] as const),
    ),
  );
  it.each(failures)('ends the attempt, and not the process: %s, %s, by %s', async (code, when, scheme) => {
    const connecting = jest.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket) {
      const error = Object.assign(new Error(`connect ${code}`), { code, syscall: 'connect' });
      if (when === 'thrown') throw error;
      if (when === 'at once') this.destroy(error);
      else setImmediate(() => this.destroy(error));
      return this;
    });
    const error = expect.stringMatching(/^The .+\.$/) as string;
    expect(await send(`${scheme}://127.0.0.1:20001/`)).toEqual({ error });
    expect(connecting).toHaveBeenCalledTimes(1);
    connecting.mockRestore();
  });
});

describe('the address that is dialled', () => {
  const receiver = Receiver.forEach();
  const named = (name: string) => receiver.url.replace('127.0.0.1', name);
  const NOT_PUBLIC = { error: 'The URL must lead to a public address.' };

  const rejecting = (reason?: Error) => () => Promise.reject(reason as Error);
  const throwing = () => {
    throw new Error('No resolver');
  };
  it.each<[string, SenderOptions['resolve']]>([
    ['a name without an address', () => Promise.resolve([])],
    ['a name server that fails', rejecting(Object.assign(new Error(), { code: 'ESERVFAIL' }))],
    ['a resolver that rejects with nothing', rejecting()],
    ['a resolver that throws', throwing],
    ['an address that is none', () => Promise.resolve(['no address'])],
    ['one good address and one that is none', () => Promise.resolve(['127.0.0.1', 'x'])],
  ])('does not exist for %s', async (_what, resolve) => {
    const error = expect.stringMatching(/^The .+\.$/) as string;
    expect(await send('https://hooks.example.com/', { resolve })).toEqual({ error });
  });

  it('is checked at every attempt', async () => {
    expect(await send('http://')).toEqual({ error: 'The URL must be an http or https URL.' });
    const rebound = { resolve: () => Promise.resolve(['93.184.216.34', '127.0.0.1']) };
    for (const name of ['127.0.0.1', 'localhost'])
      expect(await send(named(name), {}, PUBLIC)).toEqual(NOT_PUBLIC);
    expect(await send(named('hooks.example.com'), rebound, PUBLIC)).toEqual(NOT_PUBLIC);
    expect(receiver.received).toEqual([]);
  });

  it('is the one that was checked, whatever the name resolves to a moment later', async () => {
    const resolve = jest.fn().mockResolvedValue(['10.1.2.3']).mockResolvedValueOnce(['127.0.0.1']);
    expect(await send(named('hooks.example.com'), { resolve })).toEqual({ status: 204 });
    expect(resolve).toHaveBeenCalledTimes(1);
    expect(receiver.received[0]?.headers.host).toBe(new URL(named('hooks.example.com')).host);
  });

  it('is waited for no longer than the attempt may take', async () => {
    const never = { resolve: () => new Promise<never>(() => undefined), attemptMs: 100 };
    const error = 'There was no answer within 0.1 s.';
    expect(await send(named('hooks.example.com'), never)).toEqual({ error });
  });

  it('must present a certificate for its name', async () => {
    const server = createServer(hooksCertificate, (_request, response) => void response.writeHead(204).end());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const resolve = () => Promise.resolve(['127.0.0.1']);
    const to = (name: string, ca?: string) => send(`https://${name}:${port}/`, { resolve, ca });
    const failed = (code: string) => ({ error: `The connection failed (${code}).` });
    expect(await to('hooks.example.com', hooksCertificate.cert)).toEqual({ status: 204 });
    const otherName = failed('ERR_TLS_CERT_ALTNAME_INVALID');
    expect(await to('other.example.com', hooksCertificate.cert)).toEqual(otherName);
    expect(await to('hooks.example.com')).toEqual(failed('DEPTH_ZERO_SELF_SIGNED_CERT'));
    server.close();
  });
});

import { randomBytes } from 'node:crypto';
import { createServer } from 'node:https';
import { type AddressInfo, type Socket } from 'node:net';
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
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n';

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
  let receiver: Receiver;
  beforeEach(async () => (receiver = await Receiver.start()));
  afterEach(() => receiver.close());

  it('arrives signed, with its id and the exact bytes of its body', async () => {
    expect(await send(`${receiver.url}/a?b=c#d`)).toEqual({ status: 204 });
    const [{ path, headers, body } = { path: '', headers: {}, body: Buffer.of() }] = receiver.received;
    expect(path).toBe('/hook/a?b=c');
    expect(body.toString()).toBe(messageTo('').body);
    expect(headers).toMatchObject({
      'webhook-id': 'evt_665f1c2ab7e3a90d4c8b4567',
      'content-type': 'application/json',
      'content-length': String(body.length),
      'user-agent': 'posts-and-todos-webhooks/1',
      host: new URL(receiver.url).host,
    });
    expect(headers['transfer-encoding']).toBeUndefined();
    expect(new Webhook(secret).verify(body.toString(), headers as Record<string, string>)).toBeDefined();
  });

  it.each([200, 201, 202, 204, 299])('is delivered with a %d', async (status) => {
    receiver.answer = (response) => void response.writeHead(status).end();
    expect(await send(receiver.url)).toEqual({ status });
  });

  it.each([400, 401, 404, 410, 429, 500, 503])('is not delivered with a %d', async (status) => {
    receiver.answer = (response) => void response.writeHead(status).end('sorry');
    expect(await send(receiver.url)).toEqual({ status, error: `The answer has the status ${status}.` });
  });

  it.each([300, 301, 302, 303, 307, 308])('follows no redirect (%d)', async (status) => {
    const internal = await Receiver.start();
    receiver.answer = (response) => void response.writeHead(status, { Location: internal.url }).end();
    const error = `The answer is a redirect (${status}); redirects are not followed.`;
    expect(await send(receiver.url)).toEqual({ status, error });
    expect(internal.received).toEqual([]);
    await internal.close();
  });

  it('has its own connection', async () => {
    const raw = await RawReceiver.start((socket) => void socket.end(`${HEAD}Content-Length: 0\r\n\r\n`));
    await send(raw.url);
    await send(raw.url);
    expect(raw.connections).toBe(2);
    await raw.close();
  });
});

describe('a receiver that', () => {
  const QUICK = { attemptMs: 400 };
  const NO_ANSWER = { error: 'There was no answer within 0.4 s.' };
  let raw: RawReceiver | undefined;
  afterEach(async () => {
    // Whatever it did, no connection is left.
    await eventually(() => expect(raw?.open ?? 0).toBe(0));
    await raw?.close();
    raw = undefined;
  });
  const sendTo = async (treat: (socket: Socket) => void, options?: SenderOptions) => {
    raw = await RawReceiver.start(treat);
    return send(raw.url, options);
  };
  /** Writes as long as the other side takes it. */
  const flood = (socket: Socket, text: string) => {
    const write = () => {
      while (!socket.destroyed && socket.write(text));
    };
    socket.on('drain', write);
    write();
  };
  const trickle = (socket: Socket, text: string) => {
    const timer = setInterval(() => socket.write(text), 20);
    socket.on('close', () => clearInterval(timer));
  };

  it('never answers is given up', async () => {
    expect(await sendTo(() => undefined, QUICK)).toEqual(NO_ANSWER);
  });

  it('sends its header byte by byte is given up', async () => {
    const treat = (socket: Socket) => {
      socket.write('HTTP/1.1 200 OK\r\nX: ');
      trickle(socket, 'x');
    };
    expect(await sendTo(treat, QUICK)).toEqual(NO_ANSWER);
  });

  it('sends a body byte by byte is trusted for its status, and not read for long', async () => {
    const treat = (socket: Socket) => {
      socket.write(`${HEAD}Content-Length: 1000000\r\n\r\n`);
      trickle(socket, 'x');
    };
    expect(await sendTo(treat)).toEqual({ status: 200 });
  });

  it('sends an endless body is cut off, and memory stays flat', async () => {
    const chunk = 'x'.repeat(64 * 1_024);
    let written = 0;
    const treat = (socket: Socket) => {
      socket.write(`${HEAD}\r\n`);
      flood(socket, chunk);
      socket.on('close', () => (written += socket.bytesWritten));
    };
    expect(await sendTo(treat)).toEqual({ status: 200 });
    await eventually(() => expect(written).toBeGreaterThan(0));
    expect(written).toBeLessThan(32 * 1_024 * 1_024);
  });

  it('sends a header without end is cut off', async () => {
    const treat = (socket: Socket) => {
      socket.write(HEAD);
      flood(socket, `X-Filler: ${'x'.repeat(1_000)}\r\n`);
    };
    expect(await sendTo(treat)).toEqual({ error: 'The header of the answer is too large.' });
  });

  it('sends interim answers without end is cut off', async () => {
    const treat = (socket: Socket) => flood(socket, 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n');
    expect(await sendTo(treat)).toEqual({ error: 'The answer has too many interim answers.' });
  });

  it('sends an interim answer first is heard out', async () => {
    const treat = (socket: Socket) =>
      void socket.end(`HTTP/1.1 100 Continue\r\n\r\n${HEAD}Content-Length: 0\r\n\r\n`);
    expect(await sendTo(treat)).toEqual({ status: 200 });
  });

  it('switches protocols has not answered', async () => {
    const treat = (socket: Socket) =>
      void socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    expect(await sendTo(treat)).toEqual({ error: 'The answer switches protocols.' });
  });

  it('does not speak HTTP has not answered', async () => {
    expect(await sendTo((socket) => void socket.end('SSH-2.0-OpenSSH_9.6\r\n'))).toEqual({
      error: 'The answer is not HTTP.',
    });
  });

  it.each(['000', '099'])('has the status %s has not answered', async (status) => {
    expect(await sendTo((socket) => void socket.end(`HTTP/1.1 ${status} Odd\r\n\r\n`))).toEqual({
      error: 'The answer is not HTTP.',
    });
  });

  it('sends a malformed body is trusted for its status', async () => {
    const treat = (socket: Socket) => void socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\nZZZ\r\n`);
    expect(await sendTo(treat)).toEqual({ status: 200 });
  });

  it('resets the connection has not answered', async () => {
    const closed = { error: 'The connection was closed before the answer.' };
    expect(await sendTo((socket) => void socket.once('data', () => socket.resetAndDestroy()))).toEqual(
      closed,
    );
  });

  it('resets the connection after its status is trusted', async () => {
    const treat = (socket: Socket) => {
      socket.write(`${HEAD}Content-Length: 10\r\n\r\nx`, () => setImmediate(() => socket.resetAndDestroy()));
    };
    expect(await sendTo(treat)).toEqual({ status: 200 });
  });

  it('does not listen has not answered', async () => {
    const gone = await RawReceiver.start(() => undefined);
    await gone.close();
    const { port } = new URL('http://127.0.0.1:1/');
    expect(await send(`http://127.0.0.1:${port}/`)).toEqual({ error: 'The connection was refused.' });
  });
});

describe('a target', () => {
  const failing = (error: unknown) => () => Promise.reject(error as Error);
  const toName = (resolve: SenderOptions['resolve']) => send('https://hooks.example.com/', { resolve });

  it.each<[string, () => Promise<unknown>]>([
    ['whose name has no address', () => toName(() => Promise.resolve([]))],
    ['whose name server fails', () => toName(failing(Object.assign(new Error(), { code: 'ESERVFAIL' })))],
    ['whose resolver rejects with nothing', () => toName(failing(undefined))],
    [
      'whose resolver throws',
      () =>
        toName(() => {
          throw new Error('No resolver');
        }),
    ],
    ['whose address is none', () => toName(() => Promise.resolve(['no address']))],
    ['with one good address and one that is none', () => toName(() => Promise.resolve(['127.0.0.1', 'x']))],
    ['whose URL cannot be read', () => send('http://')],
  ])('%s has not answered', async (_name, sending) => {
    expect(await sending()).toEqual({ error: expect.stringMatching(/^The .+\.$/) });
  });

  it.each<[string, (socket: Socket) => void]>([
    ['does not speak TLS', (socket) => void socket.end('HTTP/1.1 200 OK\r\n\r\n')],
    ['closes during the handshake', (socket) => void socket.once('data', () => socket.end())],
    ['resets during the handshake', (socket) => void socket.once('data', () => socket.resetAndDestroy())],
    [
      'refuses the handshake',
      (socket) => void socket.once('data', () => socket.end(Buffer.of(21, 3, 3, 0, 2, 2, 40))),
    ],
  ])('that %s has not answered', async (_name, treat) => {
    const raw = await RawReceiver.start(treat);
    const { error, status } = await send(raw.url.replace('http:', 'https:'));
    expect([error, status]).toEqual([expect.stringMatching(/^The .+\.$/), undefined]);
    await raw.close();
  });
});

describe('the address that is dialled', () => {
  let receiver: Receiver;
  beforeEach(async () => (receiver = await Receiver.start()));
  afterEach(() => receiver.close());
  const named = (name: string) => receiver.url.replace('127.0.0.1', name);
  const NOT_PUBLIC = { error: 'The URL must lead to a public address.' };

  it('is checked at every attempt', async () => {
    expect(await send(receiver.url, {}, PUBLIC)).toEqual(NOT_PUBLIC);
    expect(await send(named('localhost'), {}, PUBLIC)).toEqual(NOT_PUBLIC);
    const rebound = { resolve: () => Promise.resolve(['93.184.216.34', '127.0.0.1']) };
    expect(await send(named('hooks.example.com'), rebound, PUBLIC)).toEqual(NOT_PUBLIC);
    expect(receiver.received).toEqual([]);
  });

  it('is the one that was checked, whatever the name resolves to a moment later', async () => {
    const answers = [['127.0.0.1'], ['10.1.2.3']];
    let asked = 0;
    const changing = { resolve: () => Promise.resolve(answers[asked++] ?? []) };
    expect(await send(named('hooks.example.com'), changing)).toEqual({ status: 204 });
    expect(asked).toBe(1);
    expect(receiver.received[0]?.headers.host).toBe(new URL(named('hooks.example.com')).host);
  });

  it('is waited for no longer than the attempt may take', async () => {
    const never = { resolve: () => new Promise<never>(() => undefined), attemptMs: 100 };
    expect(await send(named('hooks.example.com'), never)).toEqual({
      error: 'There was no answer within 0.1 s.',
    });
  });

  it('must present a certificate for its name', async () => {
    const server = createServer(hooksCertificate, (_request, response) => void response.writeHead(204).end());
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const { port } = server.address() as AddressInfo;
    const resolve = () => Promise.resolve(['127.0.0.1']);
    const to = (name: string, ca?: string) => send(`https://${name}:${port}/`, { resolve, ca });
    expect(await to('hooks.example.com', hooksCertificate.cert)).toEqual({ status: 204 });
    expect(await to('other.example.com', hooksCertificate.cert)).toEqual({
      error: 'The connection failed (ERR_TLS_CERT_ALTNAME_INVALID).',
    });
    expect(await to('hooks.example.com')).toEqual({
      error: 'The connection failed (DEPTH_ZERO_SELF_SIGNED_CERT).',
    });
    server.close();
  });
});

it('ends with the process that stops', async () => {
  const raw = await RawReceiver.start(() => undefined);
  const stopping = new AbortController();
  const sending = new WebhookSender(ANYWHERE).send(messageTo(raw.url), stopping.signal);
  await eventually(() => expect(raw.open).toBe(1));
  stopping.abort();
  await expect(sending).rejects.toThrow('aborted');
  await raw.close();
});

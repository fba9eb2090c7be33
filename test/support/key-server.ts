import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { goodClaims } from './tenants.js';

/** A key pair of an issuer, and its public half as a key set shows it. */
export type IssuerKey = Awaited<ReturnType<typeof issuerKey>>;

export async function issuerKey(alg: string, kid = alg) {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { alg, kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

/** A token of an issuer; `header` and `claims` add to or replace what it says. */
export function issuerToken(
  { alg, kid, privateKey }: IssuerKey,
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
): Promise<string> {
  return new SignJWT({ ...goodClaims(), ...claims })
    .setProtectedHeader({ alg, kid, ...header })
    .sign(privateKey, { crit: { acme: true } });
}

/** An issuer's key set behind HTTP on loopback, whose answers a test can change. */
export class KeyServer {
  /** Paths that were asked for. */
  readonly asked: string[] = [];
  private respond: (response: ServerResponse) => void = () => undefined;

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(keys: Pick<IssuerKey, 'jwk'>[]): Promise<KeyServer> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const keyServer = new KeyServer(server, `http://127.0.0.1:${port}/keys.json`);
    server.on('request', (request, response: ServerResponse) => {
      keyServer.asked.push(request.url ?? '');
      keyServer.respond(response);
    });
    keyServer.serve(keys);
    return keyServer;
  }

  serve(keys: Pick<IssuerKey, 'jwk'>[]): void {
    this.answer(200, JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }));
  }

  answer(status: number, body: string): void {
    this.respond = (response) => response.writeHead(status, { 'Content-Type': 'application/json' }).end(body);
  }

  /** Takes requests and never answers them. */
  hang(): void {
    this.respond = () => undefined;
  }

  stop(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Variables } from '../../src/config/index.js';
import { TEST_SECRET } from './tenants.js';

/** Where a worker says that it listens. */
export const WORKER_URL = /health and metrics are at (http:[^"]+)/;

/** Starts services for each test of a file or `describe`, on a folder of the test's own, and ends them after it. */
export function useServices() {
  const started: ServiceProcess[] = [];
  const services = {
    folder: '',
    spawn(...args: Parameters<typeof ServiceProcess.spawn>): ServiceProcess {
      const service = ServiceProcess.spawn(...args);
      started.push(service);
      return service;
    },
    /** Starts one that listens on a free port. @param options of Node */
    async start(env: Variables = {}, limit?: string, options: readonly string[] = []) {
      const own = { DATA_DIR: services.folder, JWT_SECRET: TEST_SECRET, PORT: '0' };
      const service = services.spawn({ ...own, ...env }, [...options, 'dist/bundle/main.js'], limit);
      return { service, url: await service.url() };
    },
  };
  beforeAll(buildService);
  beforeEach(() => void (services.folder = mkdtempSync(join(tmpdir(), 'service-'))));
  afterEach(async () => {
    for (const service of started.splice(0)) {
      service.signal('SIGKILL');
      await service.ended();
    }
    rmSync(services.folder, { recursive: true, force: true });
  });
  return services;
}

/** Builds the service where there is no build or an old one. */
export function buildService(): void {
  const program = "await (await import('./scripts/build-if-missing.js')).buildBundles()";
  const { status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { stdio: 'ignore' });
  if (status !== 0) throw new Error('The build failed; try: npm run build');
}

/** Variables that a shell may have set and that would change what a test sees. */
const OWN =
  /^(PORT|HOST|MONGODB_URI|MONGODB_ALLOW_PLAIN|DOCS|METRICS|METRICS_TOKEN|DATA_DIR|NODE_ENV|JWT_.*|TODOS_API|WORKER|WORKER_PORT|CORS_ORIGINS|LOG_LEVEL|BODY_LIMIT|HOOK_WARN_MS|TRUSTED_PROXIES|MAX_.*|RATE_LIMIT_.*)$/;

/** A machine that is busy with other tests is no overload. */
const LENIENT = { MAX_EVENT_LOOP_DELAY_MS: '0', MAX_WAIT_MS: '4000' };

/** A process of the built service with nothing in its environment but what the test sets. */
export class ServiceProcess {
  private stdout = '';
  private stderr = '';
  private readonly exit: Promise<{ code: number | null; stdout: string; stderr: string }>;

  private constructor(private readonly child: ChildProcess) {
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    const closed = once(child, 'close') as Promise<[number | null]>;
    this.exit = closed.then(([code]) => ({ code, stdout: this.stdout, stderr: this.stderr }));
  }

  /** Starts Node. @param limit of `ulimit`: `-f 512` lets no file grow beyond 512 blocks @param cwd where it runs */
  static spawn(env: Variables, args = ['dist/bundle/main.js'], limit?: string, cwd?: string): ServiceProcess {
    const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OWN.test(name)));
    const limited = limit === undefined ? [] : ['sh', '-c', `ulimit ${limit}; exec "$@"`, 'sh'];
    const [command = '', ...rest] = [...limited, process.execPath, ...args];
    const all = { ...inherited, ...LENIENT, ...env };
    return new ServiceProcess(spawn(command, rest, { cwd, env: all, stdio: ['ignore', 'pipe', 'pipe'] }));
  }

  /** Number of the process; undefined if it could not be started. */
  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Resolves with the first group that the standard output matches, once it does; rejects where the process ends before. */
  async says(pattern: RegExp): Promise<string> {
    let hasEnded = false;
    void this.exit.then(() => (hasEnded = true));
    for (;;) {
      const match = pattern.exec(this.stdout);
      if (match) return match[1] ?? match[0];
      if (hasEnded || !this.child.stdout) throw new Error(`It ended without ${pattern}: ${this.stderr}`);
      await Promise.race([once(this.child.stdout, 'data'), this.exit]);
    }
  }

  /** Resolves with the URL where the service listens; rejects where it ends before. */
  url(): Promise<string> {
    return this.says(/Listening on (http:\S+?);/);
  }

  /** Ends the reading of what it says, as the end of a pipe's reader does. */
  stopReading(): void {
    this.child.stdout?.destroy();
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Waits for the end of the process: its code, and what it said. */
  ended() {
    return this.exit;
  }
}

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DCLinter } from 'dclint';
import { validate } from 'dockerfile-utils';
import { load, loadAll } from 'js-yaml';
import ts from 'typescript';
import { readEnvironment, type Variables } from '../../src/config/index.js';

interface Container {
  image: string;
  command?: string[];
  env?: { name: string; value: string }[];
  envFrom: { secretRef?: { name: string }; configMapRef?: { name: string } }[];
  lifecycle?: { preStop: { exec: { command: [string, string] } } };
}
interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  data?: Record<string, string>;
  spec?: {
    selector?: { matchLabels: object };
    podSelector?: { matchLabels: object };
    policyTypes?: string[];
    egress?: { ports?: { port: number }[]; to?: { ipBlock: { cidr: string; except: string[] } }[] }[];
    template: {
      spec: { containers: [Container]; securityContext: object; terminationGracePeriodSeconds: number };
      metadata: { labels: object };
    };
  };
}

const FOLDER = 'deploy/kubernetes';
const read = (name: string) => readFileSync(join(FOLDER, name), 'utf8');
const SECRETS: Record<string, Variables> = {
  database: { MONGODB_URI: 'mongodb+srv://db.example.com/posts-and-todos' },
  metrics: { METRICS_TOKEN: '0'.repeat(64) },
};
const PROCESSES: [name: string, verifiesTokens: boolean][] = [
  ['api', true],
  ['worker', false],
];
const dockerfile = readFileSync('Dockerfile', 'utf8');
const [, image = ''] = /^ENV (.*)$/m.exec(dockerfile) ?? [];
const imageEnvironment = Object.fromEntries(image.split(' ').map((pair) => pair.split('='))) as Variables;

function expectToStart(variables: Variables, verifiesTokens: boolean): void {
  const all = { ...imageEnvironment, ...variables };
  // What a process does not read would be a setting without effect.
  const known: string[] = [];
  readEnvironment(new Proxy<Variables>({}, { get: (_target, name) => void known.push(String(name)) }));
  expect(known).toEqual(expect.arrayContaining(Object.keys(all)));
  const expected = { nodeEnv: 'production', host: '0.0.0.0', port: 3000, workerPort: 3000 };
  expect(readEnvironment(all, { verifiesTokens })).toMatchObject(expected);
}

/** The lines of documents that do not fit the types of Kubernetes, which are made from its own OpenAPI document, and why. */
function typeProblems(documents: Manifest[]): string[] {
  const options: ts.CompilerOptions = {
    ...{ strict: true, noEmit: true, skipLibCheck: true, lib: ['lib.es5.d.ts'], types: [] },
    ...{ module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
  };
  const path = resolve('test/manifests.ts');
  const source = ts.createSourceFile(path, documents.map(declaration).join('\n'), ts.ScriptTarget.ES2023);
  const host = ts.createCompilerHost(options);
  const readSource = host.getSourceFile.bind(host);
  host.getSourceFile = (name, ...rest) => (name === path ? source : readSource(name, ...rest));
  const program = ts.createProgram([path], options, host);
  return ts.getPreEmitDiagnostics(program).map(({ start = 0, messageText }) => {
    const { line } = source.getLineAndCharacterOfPosition(start);
    const text = source.text.split('\n')[line]?.trim() ?? '';
    return `${text} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
  });
}

/** A constant of the document's type: the compiler takes no unknown field in a literal. */
function declaration(document: Manifest, index: number): string {
  const [version = '', group = 'core'] = document.apiVersion.split('/').reverse();
  const path = `kubernetes-types/${group.split('.')[0]}/${version}`;
  return `import type { ${document.kind} as Kind${index} } from '${path}';
export const document${index}: Kind${index} = ${JSON.stringify(document, undefined, 1)};`;
}

describe('the manifests for Kubernetes', () => {
  const { resources, images } = load(read('kustomization.yaml')) as {
    resources: string[];
    images: { name: string; newTag: string }[];
  };
  const manifests = resources.flatMap((name) => loadAll(read(name)) as Manifest[]);
  const find = (kind: string, name: string) =>
    manifests.find((one) => one.kind === kind && one.metadata.name === name) as Manifest;

  it('are all in the kustomization, with the fields and types of Kubernetes', () => {
    expect(['kustomization.yaml', ...resources].sort()).toEqual(readdirSync(FOLDER).sort());
    expect(typeProblems(manifests)).toEqual([]);
  });

  it.each(PROCESSES)(
    'start %s with valid settings, probes, no privileges and a disruption budget',
    (name, verifiesTokens) => {
      const { spec } = find('Deployment', name);
      const { containers, securityContext } = spec?.template.spec ?? ({} as never);
      const [container] = containers;
      const settings = container.envFrom.map(({ configMapRef, secretRef }) =>
        configMapRef ? find('ConfigMap', configMapRef.name).data : SECRETS[secretRef?.name ?? ''],
      );
      const own = Object.fromEntries((container.env ?? []).map(({ name: key, value }) => [key, value]));
      expectToStart(Object.assign({}, ...settings, own) as Variables, verifiesTokens);
      expect(Object.assign({}, ...settings)).toMatchObject(SECRETS.metrics ?? {});
      expect(container).toMatchObject({
        livenessProbe: { httpGet: { path: '/health/live' } },
        readinessProbe: { httpGet: { path: '/health/ready' } },
        startupProbe: expect.anything(),
        securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
      });
      expect(securityContext).toMatchObject({ runAsNonRoot: true });
      const { matchLabels } = find('PodDisruptionBudget', name).spec?.selector ?? {};
      expect(spec?.template.metadata.labels).toMatchObject(matchLabels ?? { missing: true });
    },
  );

  it.each(['api', 'worker'])('give a process of %s the time that it needs to end', (name) => {
    const { containers, terminationGracePeriodSeconds } =
      find('Deployment', name).spec?.template.spec ?? ({} as never);
    const [command, seconds] = containers[0].lifecycle?.preStop.exec.command ?? ['sleep', '0'];
    expect(command).toBe('sleep');
    // A balancer may take a while to notice; the workers have none.
    expect(Number(seconds)).toBe(name === 'api' ? 5 : 0);
    expect(terminationGracePeriodSeconds).toBeGreaterThan(Number(seconds) + 10);
  });

  it('run the image that the kustomization names, of this version', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(images).toMatchObject([{ newTag: version }]);
    for (const name of ['api', 'worker'])
      expect(find('Deployment', name).spec?.template.spec.containers[0].image).toBe(images[0]?.name);
  });

  it('let a process connect to DNS, database and key server, and webhooks to no private network', () => {
    for (const [name, ports] of [
      ['api', [53, 53, 27017, 443]],
      ['worker', [53, 53, 27017]],
    ] as const) {
      const { podSelector, policyTypes, egress = [] } = find('NetworkPolicy', name).spec ?? ({} as never);
      const { labels } = find('Deployment', name).spec?.template.metadata ?? ({} as never);
      expect([podSelector?.matchLabels, policyTypes]).toEqual([labels, ['Egress']]);
      const anywhere = egress.filter(({ to }) => to === undefined);
      expect(anywhere.flatMap((rule) => (rule.ports ?? []).map(({ port }) => port))).toEqual(ports);
      const blocks = egress.flatMap(({ to = [] }) => to.map(({ ipBlock }) => ipBlock));
      expect(blocks.map(({ cidr }) => cidr)).toEqual(name === 'api' ? [] : ['0.0.0.0/0', '::/0']);
    }
    const { egress = [] } = find('NetworkPolicy', 'worker').spec ?? {};
    const refused = egress.flatMap(({ to = [] }) => to.flatMap(({ ipBlock }) => ipBlock.except));
    expect(refused).toEqual(
      expect.arrayContaining(['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', 'fc00::/7']),
    );
  });
});

describe('compose.yml', () => {
  type Own = Variables & { '<<'?: Variables };
  type Service = { '<<'?: { environment: Variables; stop_grace_period: string }; environment?: Own };
  const { services } = load(readFileSync('compose.yml', 'utf8')) as { services: Record<string, Service> };

  it.each(PROCESSES)('starts %s with settings that it takes, and the time to end', (name, verifiesTokens) => {
    expect(parseInt(services[name]?.['<<']?.stop_grace_period ?? '10s')).toBeGreaterThan(10);
    // With those that it merges in.
    const { '<<': base, environment: { '<<': shared, ...own } = {} } = services[name] ?? {};
    const environment: Variables = { ...base?.environment, ...shared, ...own };
    if (environment.JWT_SECRET) environment.JWT_SECRET = 'x'.repeat(64);
    expectToStart(environment, verifiesTokens);
  });

  it('passes the schema of Compose and the rules of its linter', () => {
    const linter = new DCLinter({ rules: {}, quiet: true, debug: false, exclude: [] });
    const [result] = linter.lintFiles(['compose.yml'], false);
    expect(result?.messages.filter(({ type }: { type: string }) => type === 'error')).toEqual([]);
    // A file that was not read has no errors either.
    expect(result?.filePath).toMatch(/compose\.yml$/);
  });
});

describe('the Dockerfile', () => {
  it('passes the rules of Docker', () => {
    expect(validate(dockerfile)).toEqual([]);
  });

  it('copies only files that exist, runs without root, and checks its health', () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, names = '']) =>
      names.split(' '),
    );
    for (const name of copied) expect([name, existsSync(name)]).toEqual([name, true]);
    const workspaces = readdirSync('libs').map((name) => `libs/${name}/package.json`);
    expect(copied).toEqual(expect.arrayContaining(workspaces));
    expect(dockerfile).toMatch(/^USER node$/m);
    expect(dockerfile).toMatch(/^HEALTHCHECK [^]*\/health\/live/m);
  });
});

import { readFileSync } from 'node:fs';
import { useTestApp } from '../support/test-app.js';

interface Dashboard {
  panels: { title: string; type: string; targets?: { expr: string }[] }[];
  templating: { list: { definition?: string }[] };
}

const dashboard = JSON.parse(
  readFileSync(new URL('../../deploy/grafana/posts-and-todos.json', import.meta.url), 'utf8'),
) as Dashboard;

const queries = [
  ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ...dashboard.templating.list.flatMap(({ definition }) => definition ?? []),
];

/** Functions of PromQL, and of Grafana's variables, that the dashboard uses. */
const FUNCTIONS = ['histogram_quantile', 'label_values', 'max', 'min', 'rate', 'sum'];

/** The labels that a scrape adds. */
const OF_THE_SCRAPE = ['instance', 'job'];

/** The series and labels that a query names. */
function namesIn(query: string): { series: string[]; labels: string[] } {
  const labels: string[] = [];
  const rest = query
    .replaceAll(/\{([^}]*)\}/g, (_all, matchers: string) => {
      labels.push(...[...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, name = '']) => name));
      return '';
    })
    .replaceAll(/\bby\s*\(([^)]*)\)/g, (_all, names: string) => {
      labels.push(...names.split(',').map((name) => name.trim()));
      return '';
    })
    .replaceAll(/\[[^\]]*\]|, job\)/g, '');
  const words = rest.match(/[a-zA-Z_:][\w:]*/g) ?? [];
  return { series: words.filter((word) => !FUNCTIONS.includes(word)), labels };
}

describe('the dashboard for Grafana', () => {
  const app = useTestApp({ env: { WORKER: 'off' } });
  let text = '';
  beforeAll(async () => {
    await app.get('/health/live');
    // What is told of garbage collection and the like begins with the first scrape.
    await app.get('/metrics');
    text = (await app.get('/metrics')).text;
  });

  it('contains a query in every panel', () => {
    const empty = dashboard.panels.filter(({ type, targets = [] }) => type !== 'row' && targets.length === 0);
    expect(empty).toEqual([]);
    expect(queries.length).toBeGreaterThan(30);
  });

  it.each([...new Set(queries.flatMap((query) => namesIn(query).series))])(
    'asks for %s, which /metrics has',
    (name) => {
      expect(text).toMatch(new RegExp(`^${name}(?:\\{| )`, 'm'));
    },
  );

  it('names no label that /metrics does not have', () => {
    const known = new Set([...text.matchAll(/[{,](\w+)="/g)].map(([, name]) => name));
    const asked = new Set(queries.flatMap((query) => namesIn(query).labels));
    expect([...asked].filter((name) => !known.has(name) && !OF_THE_SCRAPE.includes(name))).toEqual([]);
  });

  it('shows every figure of requests, the database and the notifications', () => {
    const declared = [...text.matchAll(/^# TYPE ((?:http|database|notifications)_\w+)/gm)].map(
      ([, name]) => name ?? '',
    );
    const shown = queries.join(' ');
    expect(declared.length).toBeGreaterThan(10);
    expect(declared.filter((name) => !shown.includes(name))).toEqual([]);
  });
});

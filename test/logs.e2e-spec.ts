import { eventually } from './support/eventually.js';
import { buildService, ServiceProcess } from './support/service-process.js';
import { TEST_SECRET } from './support/tenants.js';

type Line = Record<string, unknown>;

describe('while the database cannot be reached', () => {
  let lines: Line[];

  beforeAll(async () => {
    buildService();
    const service = ServiceProcess.spawn({
      MONGODB_URI: 'mongodb://127.0.0.1:1/none',
      JWT_SECRET: TEST_SECRET,
      PORT: '0',
    });
    const url = await service.url();
    await eventually(async () => {
      const headers = { 'X-Request-Id': 'probe' };
      expect((await fetch(`${url}/health/ready`, { headers })).status).toBe(503);
    });
    service.signal('SIGTERM');
    const { stdout } = await service.ended();
    lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
  }, 60_000);

  const common = { level: 'error', time: expect.any(String) };

  it('each attempt to open it is one short line', () => {
    const attempts = lines.filter(({ context }) => context === 'Database');
    expect(attempts.length).toBeGreaterThan(0);
    for (const attempt of attempts) {
      expect(attempt).toEqual({
        ...common,
        context: 'Database',
        reason: 'connect ECONNREFUSED 127.0.0.1:1',
        msg: 'The database cannot be opened; trying again',
      });
    }
  });

  it('each probe of readiness is one short line beside that of the request', () => {
    const [failure, answer, ...more] = lines.filter(({ requestId }) => requestId === 'probe');
    expect(failure).toEqual({
      ...common,
      context: 'Problem',
      requestId: 'probe',
      code: 'DATABASE_UNAVAILABLE',
      msg: 'The database cannot be reached or is too slow. Try again later.',
    });
    expect(answer).toMatchObject({ level: 'info', status: 503, msg: 'answered' });
    expect(more).toEqual([]);
  });
});

/** The figures of each run. A ratio below 1 is better, except for the throughput. */
export const FIGURES = {
  throughput: { title: 'Throughput', unit: 'requests/s' },
  p50: { title: 'p50', unit: 'ms' },
  p99: { title: 'p99', unit: 'ms' },
  serverCpu: { title: 'Server CPU', unit: 'µs per request' },
  databaseCpu: { title: 'Database CPU', unit: 'µs per request' },
};

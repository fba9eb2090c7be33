export * from './metrics.js';
export { DURATION_BUCKETS, Tally, type TallyChild } from './tally.js';

export * from './metrics.js';
export * from './metrics.module.js';
export { DURATION_BUCKETS, Tally, type TallyChild } from './tally.js';

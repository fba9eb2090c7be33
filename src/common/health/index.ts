export { HealthController, HealthModule, ShutdownState } from './health.module.js';

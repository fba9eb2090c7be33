export { NotificationsModule, type NotificationsOptions } from './notifications.module.js';
export { StreamModule } from './stream/stream.module.js';
export type { TargetCheck } from './subscriptions/subscriptions.service.js';
export type { TargetPolicy } from './webhooks/targets.js';
export { DeliveryWorker } from './worker/delivery-worker.js';

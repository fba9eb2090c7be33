export { NotificationsModule, type NotificationsOptions } from './notifications.module.js';
export { describeWebhooks } from './webhooks/describe-webhooks.js';
export type { StreamOptions } from './stream/event-streams.js';
export type { ResolveName, TargetPolicy } from './webhooks/targets.js';
export type { SenderOptions } from './webhooks/webhook-sender.js';
export { DeliveryWorker } from './worker/delivery-worker.js';

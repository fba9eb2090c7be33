import { createServer, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import type { Order } from './order.js';

/** What subscribers are told of an order. */
export interface OrderEvent {
  readonly type: 'orders.created' | 'orders.updated';
  readonly timestamp: string;
  readonly data: Order & { readonly _id: string };
}

/**
 * A receiver of the events of orders, as another program would have it: it believes a message only if it was signed
 * with the secret of its subscription (https://www.standardwebhooks.com).
 */
export function createReceiver(secret: () => string, onEvent: (event: OrderEvent) => void): Server {
  return createServer((request, response) => {
    // The bytes as they came: what is parsed and written again may have another signature.
    void text(request).then((body) => {
      try {
        const headers = request.headers as Record<string, string>;
        onEvent(new Webhook(secret()).verify(body, headers) as OrderEvent);
        response.writeHead(204).end();
      } catch {
        response.writeHead(400).end();
      }
    });
  });
}

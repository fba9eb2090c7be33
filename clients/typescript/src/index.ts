import createClient, { type Client } from 'openapi-fetch';
import type { components, paths } from './api.js';

/** Records, inputs and problems by their names in the OpenAPI document, such as `Schemas['Todo']`. */
export type Schemas = components['schemas'];

/** The methods of the API: `api.GET('/todos/{id}', …)`. Each resolves with `data`, or with `error`, a problem (RFC 9457). */
export type Api = Client<paths, 'application/json' | 'application/problem+json'>;

/** How a client reaches the service. */
export interface ApiOptions {
  /** The service's address, such as `https://api.example.com`. */
  url: string;
  /** The bearer token, or a function that gives a fresh one for each request. Public operations need none. */
  token?: string | (() => string | Promise<string>);
}

/** Makes a client of the API. */
export function createApi({ url, token }: ApiOptions): Api {
  const api: Api = createClient({
    baseUrl: url,
    // Lists in a query are written as `fields=title,body`.
    querySerializer: { array: { style: 'form', explode: false } },
  });
  if (token !== undefined) {
    api.use({
      async onRequest({ request }) {
        const value = typeof token === 'function' ? await token() : token;
        request.headers.set('Authorization', `Bearer ${value}`);
        return request;
      },
    });
  }
  return api;
}

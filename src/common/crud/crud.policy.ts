import { RequestMethod } from '@nestjs/common';
import type { CrudAction } from './crud-options.interface.js';

/** The handlers of a generated controller. */
export type CrudHandler = 'list' | 'count' | 'get' | 'create' | 'update' | 'del';

/** What is fixed about a handler, whatever the resource. */
export interface HandlerPolicy {
  readonly action: CrudAction;
  readonly method: RequestMethod;
  /** Path below the resource's. */
  readonly path: string;
  readonly status: 200 | 201;
  readonly takesId: boolean;
  readonly takesBody: boolean;
  /** Query parameters that the route has. */
  readonly query: readonly string[];
  /** One line for the explorer, made from the name of one record and the name of the resource. */
  readonly summary: (record: string, resource: string) => string;
}

/** Action by action: method, path, status and summary. The one place that says what a generated route looks like. */
export const CRUD_POLICY: Readonly<Record<CrudHandler, HandlerPolicy>> = {
  create: {
    action: 'create',
    method: RequestMethod.POST,
    path: '',
    status: 201,
    takesId: false,
    takesBody: true,
    query: [],
    summary: (record) => `Create a ${record.toLowerCase()}`,
  },
  list: {
    action: 'get',
    method: RequestMethod.GET,
    path: '',
    status: 200,
    takesId: false,
    takesBody: false,
    query: ['offset', 'limit'],
    summary: (_record, resource) => `List ${resource}, newest first`,
  },
  count: {
    action: 'count',
    method: RequestMethod.GET,
    path: 'count',
    status: 200,
    takesId: false,
    takesBody: false,
    query: [],
    summary: (_record, resource) => `Count ${resource}`,
  },
  get: {
    action: 'get',
    method: RequestMethod.GET,
    path: ':id',
    status: 200,
    takesId: true,
    takesBody: false,
    query: [],
    summary: (record) => `Get one ${record.toLowerCase()}`,
  },
  update: {
    action: 'update',
    method: RequestMethod.PATCH,
    path: ':id',
    status: 200,
    takesId: true,
    takesBody: true,
    query: [],
    summary: (record) => `Update a ${record.toLowerCase()}`,
  },
  del: {
    action: 'del',
    method: RequestMethod.DELETE,
    path: ':id',
    status: 200,
    takesId: true,
    takesBody: false,
    query: [],
    summary: (record) => `Delete a ${record.toLowerCase()}`,
  },
};

/** The handlers in the order of the explorer. */
export const CRUD_HANDLERS = Object.keys(CRUD_POLICY) as CrudHandler[];

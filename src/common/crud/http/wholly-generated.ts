import type { Type } from '@nestjs/common';
import {
  EXCEPTION_FILTERS_METADATA,
  GUARDS_METADATA,
  HEADERS_METADATA,
  HOST_METADATA,
  INTERCEPTORS_METADATA,
  PIPES_METADATA,
  REDIRECT_METADATA,
  RENDER_METADATA,
  VERSION_METADATA,
} from '@nestjs/common/constants.js';
import { TenantGuard, TenantInterceptor } from '../../tenancy/index.js';
import { CrudInterceptor } from './crud.interceptor.js';
import { ReplayInterceptor } from './replay.interceptor.js';

/** The guards and interceptors of generated controllers. */
const GENERATED: ReadonlySet<unknown> = new Set([
  TenantGuard,
  TenantInterceptor,
  ReplayInterceptor,
  CrudInterceptor,
]);

/** Metadata by which decorators add to the chain of a request, or change its answer. */
const CHAIN = [GUARDS_METADATA, INTERCEPTORS_METADATA, PIPES_METADATA, EXCEPTION_FILTERS_METADATA];
const ANSWER = [HEADERS_METADATA, REDIRECT_METADATA, RENDER_METADATA];

/** Whether Nest serves a method of a controller with generated code only. */
export function isWhollyGenerated(controller: Type<object>, handler: string): boolean {
  const method = (controller.prototype as Record<string, object>)[handler];
  if (!method || [...CHAIN, ...ANSWER].some((key) => Reflect.hasMetadata(key, method))) return false;
  const isSaid = (key: string) => (Reflect.getMetadata(key, controller) as unknown) !== undefined;
  if ([HOST_METADATA, VERSION_METADATA].some(isSaid)) return false;
  return CHAIN.every((key) => {
    const members = (Reflect.getMetadata(key, controller) ?? []) as readonly unknown[];
    return members.every((member) => GENERATED.has(member));
  });
}

import { type CanActivate, type ExecutionContext, ForbiddenException, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { callerOf } from '../../src/common/tenancy/index.js';

/** A role from the token's claim `role`, or `self`, the user in the path. */
export type Who = 'admin' | 'self';

/** Declares who may use a route. */
export const Roles = Reflector.createDecorator<Who[]>();

@Injectable()
export class RolesGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const roles = this.reflector.get(Roles, context.getHandler());
    const { claims, subject } = callerOf(context);
    const { id } = context.switchToHttp().getRequest<FastifyRequest<{ Params: { id?: string } }>>().params;
    const own = subject !== undefined && id?.toLowerCase() === subject;
    if (roles.some((role) => (role === 'self' ? own : claims.role === role))) return true;
    throw new ForbiddenException(`Only for: ${roles.join(', ')}.`);
  }
}

import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Reservation } from './reservation.js';

/** Injects the {@link Reservation} of a request with an `Idempotency-Key` into a hand-written handler. */
export const CurrentReservation = createParamDecorator(
  (_data: unknown, context: ExecutionContext): Reservation | undefined =>
    context.switchToHttp().getRequest<FastifyRequest>().reservation,
);

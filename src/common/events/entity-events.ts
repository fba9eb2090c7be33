import { Inject, Injectable, Logger } from '@nestjs/common';
import { EventEmitter2, OnEvent } from '@nestjs/event-emitter';

/** The hooks that run after a write, and the events of the same name. */
export type AfterHook = 'afterCreate' | 'afterUpdate' | 'afterDel';

/** The purpose of a write. A resource with an archive reports `del` and `restore` through `afterUpdate`. */
export type WriteAction = 'create' | 'update' | 'del' | 'restore';

/** Tells a listener about a write. */
export interface EntityEvent<Entity = unknown> {
  /** `evt_` and 24 hexadecimal digits, the same on every delivery; absent unless the resource has `events`. */
  readonly id?: string;
  /** Name of the resource, such as `posts`. */
  readonly resource: string;
  readonly action: WriteAction;
  /** The record as it was stored or removed, with the fields that clients may see. */
  readonly record: Entity;
  /** Names of the fields that the write set, changed or removed; empty for a delete. */
  readonly changed: readonly string[];
  /** The tenant that made the write: 24 hexadecimal digits; absent if no token was required. */
  readonly tenant?: string;
  /** The tenant of the record, as far as it is known; absent unless the resource has `events`. */
  readonly owner?: string;
  /** Time of the write: RFC 3339, UTC, milliseconds. */
  readonly time: string;
}

/** The name of an emitted event, for example `posts.afterCreate`. */
export function entityEventName(resource: string, hook: AfterHook): string {
  return `${resource}.${hook}`;
}

/** Injection token: a hook or listener that takes longer is logged as slow, and the request goes on. Unit: milliseconds. */
export const HOOK_WARN_MS = Symbol('HOOK_WARN_MS');

/** A listener to the events of a resource. */
type EntityListener<Entity> = (event: EntityEvent<Entity>) => unknown;

/** Runs after-hooks and emits their events, without letting them fail or delay a request. */
@Injectable()
export class EntityEventPublisher {
  private readonly logger = new Logger('Hooks');
  private readonly running = new Set<Promise<void>>();

  constructor(
    private readonly emitter: EventEmitter2,
    @Inject(HOOK_WARN_MS) private readonly hookWarnMs: number,
  ) {}

  /**
   * Calls the resource's own hook, then every listener of `<resource>.<hook>` through EventEmitter2. Resolves
   * when all are done, or after `hookWarnMs`, whichever comes first; never rejects.
   */
  async publish<Entity>(hook: AfterHook, event: EntityEvent<Entity>, ownHook?: () => unknown): Promise<void> {
    const name = entityEventName(event.resource, hook);
    const listeners = [...(ownHook ? [ownHook] : []), ...this.listenersOf<Entity>(name)];
    if (listeners.length === 0) return;
    const work = Promise.all(listeners.map((listener) => this.run(name, event, listener)));
    const done = work.then(() => void this.running.delete(done));
    this.running.add(done);
    await new Promise<void>((resolve) => {
      const timer = this.warnLater(name, identifiersOf(name, event), resolve);
      void done.then(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Whether the event of a hook has a listener. If not, the event need not be made. */
  isHeard(resource: string, hook: AfterHook): boolean {
    return this.listenersOf(entityEventName(resource, hook)).length > 0;
  }

  /** Runs a before-hook and logs it if it takes longer than `hookWarnMs`. @throws the hook's own exception */
  async warnIfSlow(name: string, hook: () => Promise<void>): Promise<void> {
    const timer = this.warnLater(name, { event: name });
    try {
      await hook();
    } finally {
      clearTimeout(timer);
    }
  }

  /** Resolves when no hook is running; used by the shutdown. */
  async drain(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running);
  }

  /** Called one by one, no listener can keep the event from another: `emitAsync` stops at the first that throws. */
  private listenersOf<Entity>(name: string): EntityListener<Entity>[] {
    const named = this.emitter.listeners(name) as EntityListener<Entity>[];
    const any = this.emitter.listenersAny() as ((name: string, event: EntityEvent<Entity>) => unknown)[];
    return [...named, ...any.map((listener) => (event: EntityEvent<Entity>) => listener(name, event))];
  }

  private async run<Entity>(name: string, event: EntityEvent<Entity>, listener: EntityListener<Entity>) {
    try {
      await listener(event);
    } catch (error) {
      this.logger.error({ ...identifiersOf(name, event), error }, `A hook or listener of ${name} failed`);
    }
  }

  private warnLater(name: string, identifiers: object, then?: () => void): NodeJS.Timeout {
    return setTimeout(() => {
      this.logger.warn(identifiers, `A hook of ${name} takes longer than ${this.hookWarnMs} ms`);
      then?.();
    }, this.hookWarnMs);
  }
}

/** The identifiers of an event, for the log. The record itself may be confidential. */
function identifiersOf(name: string, { id, action, tenant, record }: EntityEvent): object {
  const { _id } = (record ?? {}) as { _id?: unknown };
  return { event: name, eventId: id, action, tenant, record: _id };
}

/** Subscribes a method to an entity event. Its exceptions are logged with the event, and do not affect the client. */
export function OnEntityEvent(resource: string, hook: AfterHook): MethodDecorator {
  // Nest would log only the error. Unsuppressed, it reaches the publisher, which knows the event.
  return OnEvent(entityEventName(resource, hook), { suppressErrors: false });
}

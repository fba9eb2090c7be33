import type { AfterHook, EntityEvent, EntityEventPublisher } from '../../events/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import type { CrudHooks } from '../options/crud-hooks.js';
import type { HookName } from '../options/option-names.js';

type BeforeHook = Exclude<HookName, AfterHook>;

/** Runs the hooks of one resource, which are functions or methods of a provider. */
export class HookRunner {
  constructor(
    private readonly definition: CrudDefinition,
    private readonly hooks: CrudHooks<object, object>,
    private readonly events: EntityEventPublisher,
  ) {}

  has(name: HookName): boolean {
    return typeof this.hooks[name] === 'function';
  }

  /** Whether an after-hook does anything: the resource has it, or its event has a listener. */
  isHeard(name: AfterHook): boolean {
    return this.has(name) || this.events.isHeard(this.definition.name, name);
  }

  /** Runs a before-hook, if there is one. @throws the hook's own exception */
  async before(name: BeforeHook, context: object): Promise<void> {
    if (!this.has(name)) return;
    await this.events.watch(`${this.definition.name}.${name}`, async () => {
      await this.hooks[name]?.(context as never);
    });
  }

  /** Runs an after-hook and emits its event; never rejects. */
  async after(name: AfterHook, event: EntityEvent, context: object): Promise<void> {
    const own = this.has(name) ? () => this.hooks[name]?.(context as never) : undefined;
    await this.events.publish(name, event, own);
  }
}

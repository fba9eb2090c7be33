import { Injectable, type Type } from '@nestjs/common';
import {
  PARAMTYPES_METADATA,
  PROPERTY_DEPS_METADATA,
  SELF_DECLARED_DEPS_METADATA,
} from '@nestjs/common/constants.js';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import { isCrudToken } from '../crud.tokens.js';

type Module = ReturnType<ModulesContainer['values']> extends Iterable<infer Each> ? Each : never;
type Wrapper = ReturnType<Module['providers']['values']> extends Iterable<infer Each> ? Each : never;

/**
 * Stops the start of an application whose services wait for each other, such as by hooks that inject each other's service. Of
 * such a circle Nest would say only that a symbol is no string.
 */
@Injectable()
export class CircleCheck {
  private readonly done = new Set<Wrapper>();

  /** @throws Error that names the circle and the fix */
  constructor(moduleRef: ModuleRef) {
    // To inject the container itself takes longer than Nest takes to run into the circle.
    const modules = moduleRef.get(ModulesContainer, { strict: false });
    for (const module of modules.values()) {
      for (const wrapper of module.providers.values()) this.visit(wrapper, []);
    }
  }

  private visit(wrapper: Wrapper, path: readonly Wrapper[]): void {
    const circle = path.slice(path.indexOf(wrapper));
    if (path.includes(wrapper) && circle.some(({ token }) => isCrudToken(token))) refuse(circle);
    if (path.includes(wrapper) || this.done.has(wrapper)) return;
    for (const token of dependenciesOf(wrapper)) {
      const dependency = find(token, wrapper.host);
      if (dependency) this.visit(dependency, [...path, wrapper]);
    }
    this.done.add(wrapper);
  }
}

/** The provider of a token that a module has, or imports. */
function find(token: unknown, module: Module | undefined): Wrapper | undefined {
  return module?.providers.get(token as string) ?? findExported(token, module, () => true);
}

/** What one of its imports exports, as Nest looks for it. */
function findExported(
  token: unknown,
  module: Module | undefined,
  isExported: (imported: Module) => boolean,
  seen = new Set<Module>(),
): Wrapper | undefined {
  for (const imported of module?.imports ?? []) {
    if (seen.has(imported) || !isExported(imported)) continue;
    seen.add(imported);
    const own = imported.exports.has(token as string) ? imported.providers.get(token as string) : undefined;
    const found = own ?? findExported(token, imported, (next) => imported.exports.has(next.metatype), seen);
    if (found) return found;
  }
  return undefined;
}

/** What a provider waits for; what is injected by `forwardRef` it does not wait for. */
function dependenciesOf({ inject, metatype }: Wrapper): unknown[] {
  if (inject) return inject.map((token) => (isOptional(token) ? token.token : token));
  if (!metatype) return [];
  const types = (Reflect.getMetadata(PARAMTYPES_METADATA, metatype) ?? []) as unknown[];
  const declared = metadataOf<{ index: number; param: unknown }>(SELF_DECLARED_DEPS_METADATA, metatype);
  const properties = metadataOf<{ type: unknown }>(PROPERTY_DEPS_METADATA, metatype);
  const params = types.map((type, i) => declared.find(({ index }) => index === i)?.param ?? type);
  return [...params, ...properties.map(({ type }) => type)];
}

function metadataOf<Entry>(key: string, target: object): Entry[] {
  return (Reflect.getMetadata(key, target) ?? []) as Entry[];
}

function isOptional(token: unknown): token is { token: unknown } {
  return typeof token === 'object' && token !== null && 'token' in token;
}

function refuse(circle: readonly Wrapper[]): never {
  // A token that only leads on, to a resource or to a service of the feature's own, says nothing to its author.
  const shown = circle.filter(({ token, inject }) => !isCrudToken(token) || !inject);
  const names = [...shown, ...shown.slice(0, 1)].map(({ token }) => nameOf(token));
  throw new Error(
    `Services wait for each other: ${names.join(' → ')}. Inject ModuleRef into one of these classes instead, and take the service when it is needed: this.moduleRef.get(getCrudServiceToken(Entity), { strict: false }).`,
  );
}

function nameOf(token: unknown): string {
  if (typeof token === 'function') return (token as Type).name;
  return typeof token === 'symbol' ? (token.description ?? '') : String(token);
}

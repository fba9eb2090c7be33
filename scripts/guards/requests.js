const INSTANTIATE = 'src/common/fields/instantiate.ts';
const JSON_BODY = 'src/common/http/json-body.ts';
const BYTE_BUDGET = 'src/common/http/byte-budget.ts';
const ISOLATED = 'src/common/tenancy/isolated.ts';
const QUERY_STRING = 'src/common/http/query-string.ts';
const SCOPE = 'src/common/tenancy/tenant-scope.ts';
const TOKENS = 'src/common/tenancy/token-verifier.ts';

/** What stands between a request and the handlers. */
export const REQUEST_GUARDS = [
  {
    name: 'TenantGuard on the class',
    file: ISOLATED,
    guard: 'UseGuards(TenantGuard),',
    without: '',
    tests: ['tenancy'],
  },
  {
    name: 'TenantInterceptor on the class',
    file: ISOLATED,
    guard: 'UseInterceptors(TenantInterceptor),',
    without: '',
    tests: ['tenancy'],
  },
  {
    name: 'the interceptor refuses without the guard',
    file: 'src/common/tenancy/decide-caller.ts',
    guard:
      "if (!request.tenantContext) throw new Error('The TenantGuard did not run before the TenantInterceptor.');",
    without: 'request.tenantContext ??= { authenticated: false, claims: {} };',
    tests: ['scopes-fail-closed'],
  },
  {
    name: '@CurrentScope() without a scope',
    file: 'src/common/tenancy/current-scope.ts',
    guard: 'if (tenantScope) return tenantScope;',
    without: 'return tenantScope as TenantScope;',
    tests: ['scopes-fail-closed'],
  },
  {
    name: 'a verb takes scopes alone',
    file: SCOPE,
    guard: 'if (scope instanceof TenantScope) return;',
    without: 'if (scope !== scopeOf) return;',
    tests: ['isolation-sources'],
  },
  {
    name: 'a scope has every value',
    file: SCOPE,
    guard: 'if (value === undefined || value === null) throw new UnauthenticatedError();',
    without: '',
    tests: ['scopes-fail-closed'],
  },
  {
    name: 'the key source decides the algorithm',
    file: TOKENS,
    guard: "algorithms: ['HS256'] }",
    without: '}',
    tests: ['tokens'],
  },
  {
    name: 'tokens expire',
    file: TOKENS,
    guard: "requiredClaims: ['exp'],",
    without: '',
    tests: ['tokens'],
  },
  {
    name: 'unknown field of a body',
    file: INSTANTIATE,
    guard: 'context.faults.add(pointerTo(context.at, name), detail);',
    without: '',
    tests: ['posts'],
  },
  {
    name: 'unknown field passes into the record',
    file: INSTANTIATE,
    guard: 'else if (context.extras.includes(name)) put(target, name, value);',
    without: 'else put(target, name, value);\n    if (field || plan) continue;',
    tests: ['tenancy'],
  },
  {
    name: 'null on a required field',
    file: INSTANTIATE,
    guard: 'else if (required) refuseNull();',
    without: '',
    tests: ['input-reader', 'todos'],
  },
  {
    name: 'strict query string',
    file: QUERY_STRING,
    guard: '} catch {\n    return undefined;',
    without: '} catch {\n    return text;',
    tests: ['query-string', 'hostile-queries'],
  },
  {
    name: 'number of parameters',
    file: QUERY_STRING,
    guard: 'if (pairs.length > MAX_PARAMETERS) return TOO_LONG;',
    without: '',
    tests: ['query-string'],
  },
  {
    name: 'a parameter is given once',
    file: 'src/common/http/strict-query.ts',
    guard:
      "if (typeof value !== 'string') return [{ parameter: name, detail: errorMessages.repeatedParameter(name) }];",
    without: '',
    tests: ['own-action-queries'],
  },
  {
    name: 'parameters are declared ones',
    file: 'src/common/http/strict-query.ts',
    guard: 'if (allowed && !allowed.includes(name))',
    without: 'if (allowed && !name)',
    tests: ['own-action-queries'],
  },
  {
    name: 'bodies are checked',
    file: 'src/common/http/body-parsing.ts',
    guard: 'if (request.routeOptions.config.carriedBody === undefined) checkHarmless(value);',
    without: '',
    tests: ['names-in-open-objects'],
  },
  {
    name: 'no prototype in a body',
    file: JSON_BODY,
    guard: "if (Object.hasOwn(current, '__proto__')) throw malformed();",
    without: '',
    tests: ['names-in-open-objects'],
  },
  {
    name: 'harmful names in a body',
    file: JSON_BODY,
    guard: 'isHarmful || depth > MAX_DEPTH',
    without: '(isHarmful && false) || depth > MAX_DEPTH',
    tests: ['names-in-open-objects'],
  },
  {
    name: 'depth of a body',
    file: JSON_BODY,
    guard: ' || depth > MAX_DEPTH',
    without: '',
    tests: ['names-in-open-objects'],
  },
  {
    name: 'harmful names in bulk',
    file: 'src/common/crud/batch/operation.ts',
    guard: 'checkHarmless(content);',
    without: '',
    tests: ['bulk'],
  },
  {
    name: 'harmful names in an import',
    file: 'src/common/crud/batch/import-lines.ts',
    guard: 'checkHarmless(body);',
    without: '',
    tests: ['import'],
  },
  {
    name: 'a request has one place in the process',
    file: 'src/common/http/load/load-control.ts',
    guard: 'if (request.load) return done();',
    without: '',
    tests: ['load'],
  },
  {
    name: 'clients take turns for the memory of large pages',
    file: BYTE_BUDGET,
    guard: 'this.endTurn(client);',
    without: '',
    tests: ['byte-budget'],
  },
  {
    name: 'no client keeps all waiting places of large pages',
    file: BYTE_BUDGET,
    guard: 'if (this.waiting >= MAX_WAITING) this.makeRoom(client);',
    without: 'if (this.waiting >= MAX_WAITING) throw new OverloadedError();',
    tests: ['byte-budget'],
  },
  {
    name: 'what is global closes direct lanes',
    file: 'src/common/setup/create-crud-app.ts',
    guard: 'return others.length === 0;',
    without: 'return true;',
    tests: ['own-chains'],
  },
  {
    name: 'what is added to a controller closes its direct lanes',
    file: 'src/common/crud/http/wholly-generated.ts',
    guard: 'return members.every((member) => GENERATED.has(member));',
    without: 'return true;',
    tests: ['own-chains'],
  },
];

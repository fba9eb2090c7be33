const BATCH = 'src/common/crud/batch';
const KEYS = 'src/common/idempotency/idempotency-keys.ts';
const IDENTIFY = 'src/common/idempotency/idempotency.interceptor.ts';
const EXCHANGE = 'src/common/idempotency/idempotent-exchange.ts';
const REFERENCES = 'src/common/crud/service/references.ts';
const SERVICE = 'src/common/crud/service/crud.service.ts';
const WRITES = 'src/common/crud/service/writes.ts';

/** What stands between a writer and what it must not change, store twice or lose. */
export const WRITE_GUARDS = [
  {
    name: 'If-Match',
    file: SERVICE,
    guard: 'const matching = withTags(filter, tags);',
    without: 'const matching = filter;',
    tests: ['posts'],
  },
  {
    name: 'If-Match inside of the write',
    file: SERVICE,
    guard: 'const matching = withTags(filter, tags);',
    without: `const matching = filter;
      if (!(await this.store.exists(withTags(filter, tags)))) return this.refuseUnmatched(filter, tags);`,
    tests: ['posts'],
  },
  {
    name: 'If-None-Match',
    file: 'src/common/crud/http/answers.ts',
    guard: '!isKnown(tags, record) || expansion',
    without: 'record',
    tests: ['posts', 'archive'],
  },
  {
    name: 'decisions hold for one revision',
    file: 'src/common/crud/service/changes.ts',
    guard: 'return { ...filter, _id, __v };',
    without: 'return { ...filter, _id };',
    tests: ['decided-writes'],
  },
  {
    name: 'a change keeps the scope',
    file: WRITES,
    guard: 'this.keepScope(isolatedAs, scope, change);',
    without: '',
    tests: ['isolation-sources'],
  },
  {
    name: 'events are stored with a create',
    file: 'src/common/crud/store/mongoose.store.ts',
    guard: 'if (this.hasOutbox && entry) document.set({ [OUTBOX]: [entry] });',
    without: '',
    tests: ['outbox'],
  },
  {
    name: 'events are stored with a change',
    file: 'src/common/crud/store/mongoose.store.ts',
    guard: '...(this.hasOutbox && entry && { $push: { [OUTBOX]: entry } }),',
    without: '',
    tests: ['outbox'],
  },
  {
    name: 'restore within the scope',
    file: SERVICE,
    guard: "const filter = this.filterOf('update', scope, objectId(id), { archived: 'only' });",
    without: 'const filter = { _id: objectId(id), [field]: { $ne: null } };',
    tests: ['archive'],
  },
  {
    name: 'parents are readable',
    file: 'src/common/crud/service/parents.ts',
    guard: 'if (children.length > 0) return;',
    without: 'if (children) return;',
    tests: ['levels-of-parents'],
  },
  {
    name: 'references are there',
    file: REFERENCES,
    guard: 'return found.filter(({ id }) => !there.has(id))',
    without: 'return found.filter(() => false)',
    tests: ['verbs-in-code'],
  },
  {
    name: 'references within the scope',
    file: REFERENCES,
    guard: "check === 'sameScope' ? this.sharedScope(target, action, scope) : {}",
    without: '{}',
    tests: ['same-scope'],
  },
  {
    name: 'references restrict a delete',
    file: REFERENCES,
    guard: "if (reference.onDelete === 'restrict' && (await resource.store.exists(filter))) {",
    without: 'if (!reference) {',
    tests: ['archive-resource'],
  },
  {
    name: 'unique among live records only',
    file: 'src/common/crud/definition/indexes.ts',
    guard: '...liveOnly(field),',
    without: '',
    tests: ['archive-resource'],
  },
  {
    name: 'a duplicate is told to its own caller',
    file: 'src/common/crud/store/gathered-inserts.ts',
    guard: 'return refused.has(i) ? this.storeAlone(one) : one.stored();',
    without: 'return one.stored();',
    tests: ['gathered-inserts'],
  },
  {
    name: 'a duplicate is told to nobody else',
    file: 'src/common/crud/store/gathered-inserts.ts',
    guard: 'return refused.has(i) ? this.storeAlone(one) : one.stored();',
    without: 'return one.failed(causeOf(error));',
    tests: ['gathered-inserts'],
  },
  {
    name: 'keys belong to a caller',
    file: IDENTIFY,
    guard: '[tenant, subject, own, method, targetOf(url), key, ...carried]',
    without: '[own, method, targetOf(url), key, ...carried]',
    tests: ['idempotency'],
  },
  {
    name: 'keys belong to a scope',
    file: IDENTIFY,
    guard: '[tenant, subject, own, method, targetOf(url), key, ...carried]',
    without: '[tenant, subject, method, targetOf(url), key, ...carried]',
    tests: ['idempotency-scopes'],
  },
  {
    name: 'keys belong to a path',
    file: IDENTIFY,
    guard: '[tenant, subject, own, method, targetOf(url), key, ...carried]',
    without: '[tenant, subject, own, method, key, ...carried]',
    tests: ['idempotency-resources'],
  },
  {
    name: 'a key has one body',
    file: KEYS,
    guard: 'if (!isExpired && found.bodyHash !== bodyHash) throw new IdempotencyKeyReusedError();',
    without: '',
    tests: ['idempotency'],
  },
  {
    name: 'a key in flight is leased',
    file: KEYS,
    guard: 'if (!isExpired && found.leaseUntil.getTime() > Date.now()) throw new IdempotencyKeyInUseError();',
    without: '',
    tests: ['idempotency-resources'],
  },
  {
    name: 'a key reserves its identifiers',
    file: 'src/common/idempotency/reservation.ts',
    guard: 'return earlier ?? (await insert(id));',
    without: 'return earlier ?? (await insert());',
    tests: ['idempotency'],
  },
  {
    name: 'an answer is kept before it is sent',
    file: EXCHANGE,
    guard: 'return inTime(this.reply, this.keys.keep(reservation, answer)).catch((error: unknown) => {',
    without: `void this.keys.keep(reservation, answer).catch(() => undefined);
    return Promise.resolve(undefined).catch((error: unknown) => {`,
    tests: ['idempotency-resources', 'idempotency'],
  },
  {
    name: 'unkept members are not stored',
    file: EXCHANGE,
    guard: "without(Buffer.from(payload ?? ''), this.unkept)",
    without: "Buffer.from(payload ?? '')",
    tests: ['idempotency-resources'],
  },
  {
    name: 'a bulk item has a scope of its own',
    file: `${BATCH}/items.ts`,
    guard: 'tenantScope: undefined,',
    without: '',
    tests: ['bulk-scopes'],
  },
  {
    name: 'limit of operations',
    file: `${BATCH}/operation.ts`,
    guard: '&& operations.length <= MAX_OPERATIONS',
    without: '',
    tests: ['bulk'],
  },
  {
    name: 'disabled action',
    file: 'src/common/crud/routes/routes.ts',
    guard: '&& !definition.disabled.has(GENERATED_ROUTES[handler].action)',
    without: "&& (definition.name === 'books' || !definition.disabled.has(GENERATED_ROUTES[handler].action))",
    tests: ['generator'],
  },
  {
    name: 'disabled action in bulk',
    file: 'src/common/http/carried-requests.ts',
    guard: 'if (!handler) return Promise.resolve(this.refuse(request));',
    without: 'if (!handler) return Promise.resolve({ status: 200, body: {} });',
    tests: ['bulk-own-code'],
  },
  {
    name: 'limit of a line',
    file: `${BATCH}/line-reader.ts`,
    guard: 'if (isTooLong) return [{ number }];',
    without: '',
    tests: ['import'],
  },
];

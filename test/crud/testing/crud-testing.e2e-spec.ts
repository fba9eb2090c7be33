import { Injectable } from '@nestjs/common';
import { Types } from 'mongoose';
import { CrudModule, CrudService } from '../../../src/common/crud/index.js';
import {
  createCrudTestingModule,
  type CrudTestingModule,
  describeCrudContract,
} from '../../../src/common/crud/testing/index.js';
import { IsReference, IsText, IsWholeNumber } from '../../../src/common/fields/index.js';
import { scopeOf, type TenantScope } from '../../../src/common/tenancy/index.js';
import { OF_TENANT, resource } from '../../support/resource.js';
import { useResourceApp } from '../../support/resource-app.js';
import { ACME, acme, GLOBEX, globex } from '../../support/tenants.js';

const letters = resource({
  name: 'letters',
  fields: { text: IsText({ min: 1, max: 80, example: 'Dear Emma' }) },
  ...OF_TENANT,
});

function computedOf(sent: unknown) {
  const name = String(sent).trim();
  return { name, words: name.split(' ').length };
}

const stamps = resource({
  name: 'stamps',
  fields: {
    name: IsText({ min: 1, max: 80, example: 'Penny Black' }),
    letter: IsReference(() => letters.entity),
  },
  ...OF_TENANT,
  kept: { ...OF_TENANT.kept, words: IsWholeNumber({ min: 0 }) },
  references: { letter: { to: letters.entity } },
  hooks: {
    beforeCreate: ({ record, input }) => void Object.assign(record, computedOf(input.name)),
    beforeUpdate: ({ record }) => void Object.assign(record, computedOf(record.name)),
  },
});

@Injectable()
class LettersService extends CrudService.for(letters) {
  shout(scope: TenantScope, text: string) {
    return this.create(scope, { text: text.toUpperCase() });
  }
}

describe('describeCrudContract', () => {
  let letter: string;
  const app = useResourceApp(CrudModule.forFeature(letters, { service: LettersService }), stamps);
  beforeAll(async () => void (letter = await app.create('/letters', { text: 'Dear Emma' }, acme)));

  const tokens = { app: () => app.app, token: () => acme, otherToken: () => globex };
  // Its hooks compute fields, one of them a field that is sent, and it refers to what beforeAll makes.
  describeCrudContract('stamps', {
    ...tokens,
    path: '/stamps',
    valid: () => ({ name: ' Penny Black ', letter }),
    changes: () => ({ name: 'Inverted Jenny 1918 ', letter }),
    invalid: { 'no name': () => ({ letter }), 'no letter': { name: 'Penny Black' } },
    computed: ['name', 'words'],
  });

  // Without changes of its own, an update sends another valid body.
  const valid = () => ({ name: 'Penny Black', letter });
  describeCrudContract('stamps by their valid body alone', { ...tokens, path: '/stamps', valid });
});

describe('createCrudTestingModule', () => {
  const [ofAcme, ofGlobex] = [scopeOf({ tenant: ACME }), scopeOf({ tenant: GLOBEX })];
  let testing: CrudTestingModule<LettersService>;
  beforeAll(async () => void (testing = await createCrudTestingModule(letters, { service: LettersService })));
  afterAll(() => testing.close());

  it('provides your own service on a real database', async () => {
    const { service } = testing;
    const letter = await service.shout(ofAcme, 'hello');
    expect(letter).toMatchObject({ text: 'HELLO', tenant: new Types.ObjectId(ACME) });
    await expect(service.get(ofGlobex, letter._id)).rejects.toThrow('Letter not found');
    expect(await service.get(ofAcme, letter._id)).toEqual(letter);
    expect(await service.count(ofGlobex)).toBe(0);
  });

  it('refuses input that clients could not send', async () => {
    await expect(testing.service.shout(ofAcme, '')).rejects.toThrow(
      'The request is not valid: "text" must be a string of 1 to 80 characters.',
    );
    await expect(testing.service.shout(scopeOf({}), 'hello')).rejects.toThrow(
      'The scope has no "tenant", which isolates this action. Write scopeOf({ tenant }).',
    );
  });
});

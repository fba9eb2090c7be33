import { Injectable } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { CrudModule, CrudService } from '../../../src/common/crud/index.js';
import {
  createCrudTestingModule,
  type CrudTestingModule,
  describeCrudContract,
} from '../../../src/common/crud/testing/index.js';
import { IsIdentifier, IsReference, IsText, IsWholeNumber } from '../../../src/common/fields/index.js';
import { currentTenant, scopeOf, type TenantScope } from '../../../src/common/tenancy/index.js';
import { useResourceApp } from '../../support/resource-app.js';
import { ACME, acme, GLOBEX, globex } from '../../support/tenants.js';
import { resource } from '../../support/resource.js';

const isolationFields = { all: { tenant: currentTenant } };
const letters = resource({
  name: 'letters',
  fields: {
    text: IsText({ min: 1, max: 80, example: 'Dear Emma' }),
    seal: IsText({ max: 20, optional: true }),
  },
  kept: { tenant: Prop({ type: Types.ObjectId, required: true }) },
  isolationFields,
});

function computedOf(sent: unknown): { name: string; words: number } {
  const name = String(sent).trim();
  return { name, words: name.split(' ').length };
}

const stamps = resource({
  name: 'stamps',
  fields: {
    name: IsText({ min: 1, max: 80, example: 'Penny Black' }),
    letter: IsReference(() => letters.entity),
  },
  kept: { tenant: IsIdentifier(), words: IsWholeNumber({ min: 0 }) },
  isolationFields,
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
  const app = useResourceApp(
    CrudModule.forFeature(letters, { service: LettersService }),
    CrudModule.forFeature(stamps),
  );
  beforeAll(async () => {
    const created = await app.post('/letters', { text: 'Dear Emma' }, { token: acme });
    letter = String(created.body._id);
  });

  describeCrudContract('letters', {
    app: () => app.app,
    path: '/letters',
    valid: { text: 'Dear Emma', seal: 'wax' },
    changes: { text: 'Dear Harriet' },
    invalid: { 'no text': {}, 'a long text': { text: 'x'.repeat(81) }, 'a number': { text: 1 } },
    token: () => acme,
    otherToken: () => globex,
  });

  // Its hooks compute fields, one of them a field that is sent, and it refers to what beforeAll makes.
  describeCrudContract('stamps', {
    app: () => app.app,
    path: '/stamps',
    valid: () => ({ name: ' Penny Black ', letter }),
    changes: () => ({ name: 'Inverted Jenny 1918 ', letter }),
    invalid: { 'no name': () => ({ letter }), 'no letter': { name: 'Penny Black' } },
    computed: ['name', 'words'],
    token: () => acme,
    otherToken: () => globex,
  });

  // Without changes of its own, an update sends another valid body.
  describeCrudContract('stamps by their valid body alone', {
    app: () => app.app,
    path: '/stamps',
    valid: () => ({ name: 'Penny Black', letter }),
    token: () => acme,
  });
});

describe('createCrudTestingModule', () => {
  let testing: CrudTestingModule<LettersService>;
  beforeAll(async () => {
    testing = await createCrudTestingModule(letters, { service: LettersService });
  });
  afterAll(() => testing.close());

  it('provides your own service on a real database', async () => {
    const { service } = testing;
    const [acme, globex] = [scopeOf({ tenant: ACME }), scopeOf({ tenant: GLOBEX })];
    const letter = await service.shout(acme, 'hello');
    expect(letter).toMatchObject({ text: 'HELLO', tenant: new Types.ObjectId(ACME) });
    await expect(service.get(globex, letter._id)).rejects.toThrow('Letter not found');
    expect(await service.get(acme, letter._id)).toEqual(letter);
    expect(await service.count(globex)).toBe(0);
  });

  it('refuses input that clients could not send', async () => {
    await expect(testing.service.shout(scopeOf({ tenant: ACME }), '')).rejects.toThrow(
      'The request is not valid: "text" must be a string of 1 to 80 characters.',
    );
    await expect(testing.service.shout(scopeOf({}), 'hello')).rejects.toThrow(
      'The scope has no "tenant", which isolates this action. Write scopeOf({ tenant }).',
    );
  });
});

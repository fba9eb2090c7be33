import { currentTenant, IsNested, IsReference, IsText, IsWholeNumber } from '../../src/index.js';
import { type MisuseCases, Note, NoteInput, of } from './misused-classes.js';
import { type Fields, withFields } from './resource.js';

const kind = (fields: Fields) => withFields(class extends NoteInput {}, fields);
class Sheet {
  @IsText({ max: 9 }) size!: string;
}
const Other = withFields(class {}, { text: IsText({ max: 9 }) });
const [Long, Short] = [kind({ pages: IsWholeNumber() }), kind({ pages: IsText({ max: 9 }) })];
const [Printed, Drawn] = [kind({ on: IsNested(() => Sheet) }), kind({ on: IsNested(() => Other) })];
const Linked = kind({ next: IsReference(() => Note) });
const kinds = { long: Long, linked: Linked };
const isolationFields = { all: { tenant: currentTenant } };

export const KIND_CASES: MisuseCases = {
  ...of('kinds', {
    ' must be an object, such as { seasonal: SeasonalInput, weekday: WeekdayInput }.': [Long],
    '.long must be a class.': { long: 'Long' },
    '.long must be a class that extends NoteInput.': { long: Other },
    '.long has a field "kind", which the generator adds. Remove it.': {
      long: kind({ kind: IsText({ max: 9 }) }),
    },
    ' has no kind. Name one, or leave kinds out.': {},
    ' has "very long", which is no word of letters, digits, - and _.': { 'very long': Long },
  }),
  'kinds take one input class, which theirs extend.': {
    input: { create: NoteInput, update: NoteInput },
    kinds: { long: Long },
  },
  'the field "on" of kinds.drawn is of another type than that of kinds.printed. Rename one.': {
    kinds: { printed: Printed, drawn: Drawn },
  },
  'the field "pages" of kinds.short is of another type than that of kinds.long. Rename one.': {
    kinds: { long: Long, short: Short },
  },
  'references.next.onDelete cannot be "unset", since the field is required, or in a list of objects. Write "restrict", "cascade" or "ignore".':
    { kinds, references: { next: { to: Note, onDelete: 'unset' } } },
  'fields.pages is required in a create, which callers who may not write it could not make. Make it optional.':
    { kinds, isolationFields, fields: { pages: { write: () => false } } },
};

import { failure, unsupported } from '../errors.js';
import { BsonType } from '../bson/types.js';
import { KeyWriter } from '../bson/key.js';
import { elements, findElement, type RawElement, rawNull, rawUndefined } from '../bson/raw.js';

/** One component of a key pattern. */
export interface KeyField {
  /** Dotted path of the field. */
  path: string;
  /** Whether the component sorts from large to small. */
  descending: boolean;
}

/** The keys that one document has under a pattern. */
export interface DocumentKeys {
  /** Sortable bytes, one entry per distinct key. */
  keys: Buffer[];
  /** For each component, whether there is an array on its path in this document. */
  arrays: boolean[];
}

/** A component on its way through a document: the value found, or the remaining names. */
interface Component {
  /** The value, once the path has been walked to its end. */
  found?: RawElement;
  /** Names still to be followed. */
  rest: Buffer[];
}

const writer = new KeyWriter();

/**
 * Extracts the index keys (or, smallest first, the sort keys) of documents, as MongoDB does: an array on the
 * way yields one key per element, an empty array `undefined`, a missing field null. Two parallel arrays are
 * rejected, and so is a number in a path into an array, where it may mean a position or a name.
 */
export class KeyExtractor {
  private readonly names: Buffer[][];
  private readonly simple: boolean;

  /** @param sparse Whether to leave out keys without a single component found. */
  constructor(
    private readonly fields: readonly KeyField[],
    private readonly sparse = false,
  ) {
    this.names = fields.map(({ path }) => path.split('.').map((name) => Buffer.from(name)));
    this.simple = this.names.every((path) => path.length === 1);
  }

  /**
   * @throws CommandError CannotIndexParallelArrays (171) if two components are separate arrays;
   * CommandNotSupported (115) for a number after an array.
   */
  extract(bytes: Buffer): DocumentKeys {
    return (this.simple && this.extractSimple(bytes)) || this.extractAny(bytes);
  }

  /** Without dots and arrays, a component takes one look-up, which is enough for most documents. */
  private extractSimple(bytes: Buffer): DocumentKeys | undefined {
    let missing = true;
    const found: RawElement[] = [];
    for (const path of this.names) {
      const element = findElement(bytes, 0, path[0] as Buffer);
      if (element?.type === BsonType.array) return undefined;
      if (element) missing = false;
      found.push(element ?? rawNull);
    }
    const keys = missing && this.sparse ? [] : [this.write(bytes, found)];
    return { keys, arrays: this.fields.map(() => false) };
  }

  private extractAny(bytes: Buffer): DocumentKeys {
    const { rows, arrays } = this.collect(bytes);
    return { keys: rows.map(({ key }) => key), arrays };
  }

  /** The values from which the key at `position` of {@link KeyExtractor.extract} was made. */
  values(bytes: Buffer, position: number): RawElement[] {
    return this.collect(bytes).rows[position]?.values ?? [];
  }

  private collect(bytes: Buffer): { rows: { key: Buffer; values: RawElement[] }[]; arrays: boolean[] } {
    const collector = new Collector(bytes, this.fields, this.sparse);
    const components = this.names.map((rest) => ({ rest }));
    collector.walk(0, components, 0);
    const rows = new Map<string, { key: Buffer; values: RawElement[] }>();
    for (const values of collector.rows) {
      const key = this.write(bytes, values);
      const text = key.toString('latin1');
      if (!rows.has(text)) rows.set(text, { key, values });
    }
    return { rows: [...rows.values()], arrays: collector.arrays };
  }

  private write(bytes: Buffer, values: readonly RawElement[]): Buffer {
    writer.begin();
    values.forEach((value, i) => writer.raw(bytes, value, this.fields[i]?.descending));
    return writer.finish();
  }
}

/** Walks all components through one document, expanding arrays in step. */
class Collector {
  readonly rows: RawElement[][] = [];
  readonly arrays: boolean[];

  constructor(
    private readonly bytes: Buffer,
    private readonly fields: readonly KeyField[],
    private readonly sparse: boolean,
  ) {
    this.arrays = fields.map(() => false);
  }

  /**
   * @param start Where the document with the fields begins; undefined for an array element that is not a
   * document.
   * @param notFound Components that were missing on the way here.
   */
  walk(start: number | undefined, components: readonly Component[], notFound: number): void {
    let array: RawElement | undefined;
    const expanded = new Set<number>();
    const next = components.map((component, i): Component => {
      if (component.rest.length === 0) return component;
      const { element, rest } = this.follow(start, component.rest);
      if (!element) {
        notFound++;
        return { found: rawNull, rest: [] };
      }
      if (element.type !== BsonType.array) return { found: element, rest: [] };
      if (rest[0] && /^\d+$/.test(rest[0].toString()))
        throw unsupported('A number in the path of an index or a sort, behind an array,');
      if (array && array.at !== element.at) throw this.parallel(i, expanded);
      array = element;
      expanded.add(i);
      this.arrays[i] = true;
      return { rest };
    });
    if (array) this.expand(array, next, expanded, notFound);
    else this.emit(next, notFound);
  }

  private emit(components: readonly Component[], notFound: number): void {
    if (this.sparse && notFound === this.fields.length) return;
    this.rows.push(components.map(({ found }) => found ?? rawNull));
  }

  private expand(
    array: RawElement,
    components: readonly Component[],
    expanded: Set<number>,
    notFound: number,
  ): void {
    const descend = (element: RawElement): void => {
      const next = components.map((component, i) =>
        expanded.has(i) && component.rest.length === 0 ? { found: element, rest: [] } : component,
      );
      this.walk(element.type === BsonType.object ? element.at : undefined, next, notFound);
    };
    let empty = true;
    for (const element of elements(this.bytes, array.at)) {
      empty = false;
      descend(element);
    }
    if (empty) descend(rawUndefined);
  }

  /** Walks through embedded documents until the path ends or an array begins. */
  private follow(start: number | undefined, names: Buffer[]): { element?: RawElement; rest: Buffer[] } {
    let element: RawElement | undefined;
    let rest = names;
    for (
      let at = start;
      at !== undefined && rest.length > 0;
      at = element?.type === BsonType.object ? element.at : undefined
    ) {
      element = findElement(this.bytes, at, rest[0] as Buffer);
      rest = rest.slice(1);
    }
    const ends = rest.length === 0 || element?.type === BsonType.array;
    return ends ? { element, rest } : { rest };
  }

  private parallel(second: number, expanded: Set<number>): Error {
    const lastName = (i: number): string => (this.fields[i] as KeyField).path.split('.').at(-1) as string;
    const [first = 0] = expanded;
    return failure(
      'CannotIndexParallelArrays',
      `cannot index parallel arrays [${lastName(second)}] [${lastName(first)}]`,
    );
  }
}

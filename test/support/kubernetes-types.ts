import { resolve } from 'node:path';
import ts from 'typescript';

/** What every document for Kubernetes says of itself. */
export interface KubernetesObject {
  apiVersion: string;
  kind: string;
}

const OPTIONS: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  lib: ['lib.es5.d.ts'],
  types: [],
};

/**
 * What the documents have against the types of Kubernetes: unknown kinds and fields, missing fields, and values of other types,
 * each with the line as JSON. The types are made from Kubernetes' own OpenAPI document.
 */
export function typeProblems(documents: KubernetesObject[]): string[] {
  const path = resolve('test/manifests.ts');
  const source = ts.createSourceFile(path, documents.map(declaration).join('\n'), ts.ScriptTarget.ES2023);
  const host = ts.createCompilerHost(OPTIONS);
  const read = host.getSourceFile.bind(host);
  host.getSourceFile = (name, ...rest) => (name === path ? source : read(name, ...rest));
  const program = ts.createProgram([path], OPTIONS, host);
  return ts.getPreEmitDiagnostics(program).map(({ start = 0, messageText }) => {
    const { line } = source.getLineAndCharacterOfPosition(start);
    const text = source.text.split('\n')[line]?.trim() ?? '';
    return `${text} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
  });
}

/** A constant of the document's type: the compiler takes no unknown field in a literal. */
function declaration(document: KubernetesObject, index: number): string {
  const [version = '', group = 'core'] = document.apiVersion.split('/').reverse();
  return [
    `import type { ${document.kind} as Kind${index} } from 'kubernetes-types/${group.split('.')[0]}/${version}';`,
    `export const document${index}: Kind${index} = ${JSON.stringify(document, undefined, 1)};`,
  ].join('\n');
}

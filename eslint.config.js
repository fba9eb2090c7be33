import eslint from '@eslint/js';
import { createNodeResolver, importX } from 'eslint-plugin-import-x';
import tseslint from 'typescript-eslint';
import { importZones } from './scripts/lint/import-zones.js';

export default tseslint.config(
  {
    ignores: [
      '**/dist/**',
      '**/node_modules/**',
      'coverage/**',
      'data/**',
      'packages/**',
      'clients/typescript/src/api.ts',
    ],
  },
  eslint.configs.recommended,
  ...tseslint.configs.strict,
  {
    files: ['{src,examples,scripts}/**', 'libs/*/src/**'],
    // No text becomes code.
    rules: { 'no-eval': 'error', 'no-new-func': 'error' },
  },
  {
    files: ['**/*.ts'],
    plugins: { 'import-x': importX },
    settings: {
      'import-x/extensions': ['.ts'],
      'import-x/parsers': { '@typescript-eslint/parser': ['.ts'] },
      // Imports are written with .js, and the files end in .ts: without the alias nothing is found, and nothing reported.
      'import-x/resolver-next': [createNodeResolver({ extensionAlias: { '.js': ['.ts', '.js'] } })],
    },
    rules: {
      'import-x/no-restricted-paths': ['error', { zones: importZones }],
      // An `import type` of an injected class erases the token that Nest resolves it by.
      '@typescript-eslint/consistent-type-imports': 'off',
      '@typescript-eslint/no-extraneous-class': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      'no-console': 'error',
      'max-lines': ['warn', { max: 300, skipComments: true, skipBlankLines: true }],
    },
  },
  {
    files: ['**/*.{spec,e2e-spec}.ts'],
    rules: { 'import-x/no-restricted-paths': 'off' },
  },
  {
    files: ['src/**/*.ts', 'examples/**/*.ts', 'libs/*/src/**/*.ts'],
    // Of two injectables that import each other, one is undefined when the other is decorated.
    rules: { 'import-x/no-cycle': ['error', { ignoreExternal: true }] },
  },
  {
    files: [
      'scripts/**',
      'tools/**',
      'test/**',
      'libs/*/bench/**',
      'libs/*/test/**',
      'libs/*/src/cli.ts',
      '**/*.mjs',
      '**/*.js',
    ],
    languageOptions: {
      globals: {
        console: 'readonly',
        process: 'readonly',
        Buffer: 'readonly',
        fetch: 'readonly',
        URL: 'readonly',
        setTimeout: 'readonly',
        setInterval: 'readonly',
        clearInterval: 'readonly',
        clearTimeout: 'readonly',
        queueMicrotask: 'readonly',
      },
    },
    rules: { 'no-console': 'off' },
  },
  {
    // Jest requires it.
    files: ['**/*.cjs'],
    languageOptions: { sourceType: 'commonjs', globals: { console: 'readonly', process: 'readonly' } },
    rules: { '@typescript-eslint/no-require-imports': 'off' },
  },
  {
    // It runs in browsers.
    files: ['public/**/*.js'],
    languageOptions: {
      globals: { AbortController: 'readonly', document: 'readonly', TextDecoderStream: 'readonly' },
    },
  },
);

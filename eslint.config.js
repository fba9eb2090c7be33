import eslint from '@eslint/js';
import { importX } from 'eslint-plugin-import-x';
import tseslint from 'typescript-eslint';

/** Imports point one way: main → app.module → features → common/crud → common/* → libraries. */
const directions = [
  { target: './src/common', from: './src', except: ['./common'] },
  { target: './src/common/errors', from: './src/common', except: ['./errors'] },
  { target: './src/common/fields', from: './src/common', except: ['./fields', './errors'] },
  { target: './src/common/events', from: './src/common', except: ['./events', './errors'] },
  { target: './src/common/database', from: './src/common', except: ['./database', './errors'] },
  { target: './src/common/tenancy', from: './src/common', except: ['./tenancy', './errors'] },
  { target: './src/posts', from: './src', except: ['./posts', './common'] },
  { target: './src/todos', from: './src', except: ['./todos', './common'] },
  { target: './src/notifications', from: './src', except: ['./notifications', './common'] },
  { target: './src/config', from: './src', except: ['./config', './common/errors'] },
].map((zone) => ({ ...zone, message: 'Imports point one way; see docs/architecture.md.' }));

export default tseslint.config(
  { ignores: ['**/dist/**', '**/node_modules/**', 'coverage/**', 'data/**'] },
  eslint.configs.recommended,
  ...tseslint.configs.strict,
  {
    files: ['**/*.ts'],
    plugins: { 'import-x': importX },
    settings: {
      'import-x/extensions': ['.ts'],
      'import-x/parsers': { '@typescript-eslint/parser': ['.ts'] },
      'import-x/resolver': { node: { extensions: ['.ts', '.js'] } },
    },
    rules: {
      'import-x/no-restricted-paths': ['error', { zones: directions }],
      // An `import type` of an injected class erases the token that Nest resolves it by.
      '@typescript-eslint/consistent-type-imports': 'off',
      '@typescript-eslint/no-extraneous-class': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      'no-console': 'error',
      'max-lines': ['warn', { max: 300, skipComments: true, skipBlankLines: true }],
    },
  },
  {
    files: [
      'scripts/**',
      'bench/**',
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
        fetch: 'readonly',
        URL: 'readonly',
        setTimeout: 'readonly',
      },
    },
    rules: { 'no-console': 'off' },
  },
);

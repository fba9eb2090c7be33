import { ApiQuery } from '@nestjs/swagger';
import { MAX_SEARCH_LENGTH } from '../search/search.js';
import type { SearchDefinition } from '../search/search-definition.js';

/** Documents `q`. */
export function ApiSearch({ fields }: SearchDefinition): MethodDecorator {
  return ApiQuery({
    name: 'q',
    required: false,
    description: [
      `Words to find in ${fields.map((field) => `\`${field}\``).join(', ')}, all of them, without regard to case and accents.`,
      'Words in double quotes stand next to each other; a minus in front of a word or phrase excludes it, as in',
      '`tea "green leaves" -milk`.',
    ].join(' '),
    // No example: the explorer would send it with every list.
    schema: { type: 'string', minLength: 1, maxLength: MAX_SEARCH_LENGTH },
  });
}

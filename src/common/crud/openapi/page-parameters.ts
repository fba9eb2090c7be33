import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiQuery } from '@nestjs/swagger';
import { COUNT_MODES } from '../query/list-query.js';

const CURSOR_EXAMPLE = 'qL0r3yCkSYpWcQ1xJ8mOSzEAAAAEYXQAEAAAAAkw';

/** Documents `after`, `before` and `count`. */
export function ApiCursors(): MethodDecorator {
  const cursor = (name: string, place: string) =>
    ApiQuery({
      name,
      required: false,
      description: `Cursor of a page with the same filter and order: the records ${place}. Not with \`offset\`.`,
      schema: { type: 'string', minLength: 1 },
    });
  return applyDecorators(
    cursor('after', 'that come after it (`next`)'),
    cursor('before', 'that come before it (`prev`)'),
    ApiQuery({
      name: 'count',
      required: false,
      description:
        'How a page counts all records: `estimated` may take the figure that the database keeps, `none` leaves `count` out.',
      schema: { type: 'string', enum: [...COUNT_MODES], default: 'exact' },
    }),
  );
}

/** Documents `next` and `prev` of a page. */
export class PageEnds {
  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Cursor of the next page (`after`); null on the last one',
    example: CURSOR_EXAMPLE,
  })
  next!: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Cursor of the previous page (`before`); null on the first one',
    example: null,
  })
  prev!: string | null;
}

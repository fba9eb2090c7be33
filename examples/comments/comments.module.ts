import { Module } from '@nestjs/common';
import { Schema } from '@nestjs/mongoose';
import { CrudModule } from '../../src/common/crud/index.js';
import { IsIdentifier, IsReference, IsText } from '../../src/common/fields/index.js';
import { claim, currentTenant } from '../../src/common/tenancy/index.js';

class ArticleInput {
  @IsText({ min: 1, max: 200, example: 'Ten years of us' })
  title!: string;

  @IsText({ max: 50_000, optional: true, example: 'It began in a garage.' })
  text?: string;
}

@Schema({ timestamps: true })
class Article extends ArticleInput {
  @IsIdentifier()
  tenant!: string;
}

class CommentInput {
  @IsText({ min: 1, max: 2_000, example: 'Congratulations!' })
  text!: string;
}

@Schema({ timestamps: true })
class Comment extends CommentInput {
  @IsReference(() => Article)
  article!: string;

  @IsText({ min: 1, max: 200, example: 'ada', description: 'Who wrote it: the subject of the token' })
  author!: string;
}

const tenant = { tenant: currentTenant };
const author = { author: claim('sub') };

@Module({
  imports: [
    CrudModule.forFeature({
      entity: Article,
      input: ArticleInput,
      name: 'articles',
      tag: 'Articles and comments',
      query: { filter: ['title', 'createdAt'], sort: ['title'] },
      isolationFields: { create: tenant, update: tenant, del: tenant },
    }),
    CrudModule.forFeature({
      entity: Comment,
      input: CommentInput,
      name: 'comments',
      path: 'articles/:articleId/comments',
      tag: 'Articles and comments',
      query: { filter: ['author', 'text', 'createdAt'] },
      parent: { entity: Article, param: 'articleId', field: 'article' },
      isolationFields: { create: author, update: author, del: author },
      references: { article: { to: Article, onDelete: 'cascade' } },
    }),
  ],
})
export class CommentsModule {}

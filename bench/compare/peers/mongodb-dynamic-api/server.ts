/**
 * The todo API as mongodb-dynamic-api generates it. Its list has no pages; a page with its count is its
 * `Aggregate` route with the pipeline that its own builder makes. Its cache is off, because it would return
 * records that another process has changed.
 */
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Prop, Schema } from '@nestjs/mongoose';
import { Type } from 'class-transformer';
import {
  IsBoolean,
  IsInt,
  IsISO8601,
  IsOptional,
  IsString,
  Matches,
  Max,
  MaxLength,
  Min,
} from 'class-validator';
import { BaseEntity, DynamicApiModule, enableDynamicAPIValidation } from 'mongodb-dynamic-api';

@Schema({ collection: 'todos', autoIndex: false, autoCreate: false })
class Todo extends BaseEntity {
  @IsString()
  @MaxLength(1_000)
  @Matches(/^\s*\S(?:[\s\S]{0,198}\S)?\s*$/u)
  @Prop({ type: String, required: true })
  title!: string;

  @IsOptional()
  @IsString()
  @MaxLength(10_000)
  @Prop({ type: String })
  description?: string;

  @IsOptional()
  @IsBoolean()
  @Prop({ type: Boolean, default: false })
  completed?: boolean;

  @IsOptional()
  @IsISO8601({ strict: true, strictSeparator: true })
  @Prop({ type: Date })
  dueAt?: Date;

  /** The service stores the words of its search in the same records. */
  @Prop({ type: Object, select: false })
  _words?: object;
}

class PageQuery {
  @IsInt()
  @Min(0)
  @Type(() => Number)
  offset = 0;

  @IsInt()
  @Min(1)
  @Max(100)
  @Type(() => Number)
  limit = 20;

  static toPipeline({ offset, limit }: PageQuery): object[] {
    const docs = [
      { $sort: { createdAt: -1, _id: -1 } },
      { $skip: offset },
      { $limit: limit },
      { $project: { _words: 0 } },
    ];
    return [{ $facet: { docs, count: [{ $count: 'totalElements' }] } }];
  }
}

class PagePresenter extends BaseEntity {
  static fromAggregate(results: Todo[], count: number): { results: Todo[]; count: number } {
    return { results, count };
  }
}

@Module({
  imports: [
    DynamicApiModule.forRoot(process.env.MONGODB_URI ?? '', { useGlobalCache: false }),
    DynamicApiModule.forFeature({
      entity: Todo,
      controllerOptions: { path: 'todos' },
      routes: [
        { type: 'GetOne' },
        { type: 'CreateOne' },
        { type: 'UpdateOne' },
        { type: 'Aggregate', subPath: 'page', dTOs: { query: PageQuery, presenter: PagePresenter } },
      ],
    }),
  ],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['error'] });
enableDynamicAPIValidation(app);
app.enableShutdownHooks();
await app.listen(Number(process.env.PORT), process.env.HOST ?? '127.0.0.1');
process.stdout.write(`Listening on ${await app.getUrl()}\n`);

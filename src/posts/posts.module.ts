import { Module } from '@nestjs/common';
import { CrudModule } from '../common/crud/index.js';
import { PostsController } from './posts.controller.js';
import { postsCrud } from './posts.crud.js';
import { PostsService } from './posts.service.js';

@Module({
  imports: [CrudModule.forFeature(postsCrud, { controller: PostsController, service: PostsService })],
})
export class PostsModule {}

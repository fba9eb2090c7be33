import {
  Body,
  type CanActivate,
  type ExecutionContext,
  Headers,
  Injectable,
  Param,
  Query,
  SetMetadata,
  StreamableFile,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { IsInt, Max } from 'class-validator';
import * as f from '../../src/common/fields/index.js';
import {
  type Changes,
  conditionOf,
  CrudAction,
  type CrudActionOptions,
  CrudController,
  CrudModule,
  CrudService,
  CurrentQuery,
  CurrentScope,
  hasRole,
  listOf,
  pageOf,
  type PageQuery,
  patchOf,
  type TenantScope,
} from '../../src/index.js';
import { OF_TENANT, resource } from './resource.js';

class PhotoInput {
  @f.IsText({ max: 40 }) title!: string;
  @f.IsText({ max: 40, optional: true }) price?: string;
}
const bytes = f.IsWholeNumber({ optional: true });
const photos = resource({
  name: 'photos',
  fields: PhotoInput,
  ...OF_TENANT,
  kept: { ...OF_TENANT.kept, bytes, place: f.IsText({ max: 20, optional: true }) },
  query: { filter: ['title'], sort: ['title'] },
  rules: { price: { write: hasRole('sales') } },
});
const Photo = photos.entity;

enum Order {
  Up = 1,
  Down = -1,
}
class Recent {
  @IsInt() @Max(50) limit = 10;
  @f.IsListOf(f.IsText({ max: 10 }), { max: 2, optional: true }) tags?: string[];
  @f.IsFlag({ optional: true }) exact?: boolean;
  @f.IsOneOf(Order, { optional: true }) order?: Order;
  @f.IsText({ max: 5, example: 'tea' }) word!: string;
}
class Filed {
  @f.IsFlag({ optional: true }) archived?: boolean;
}
class Word {
  @f.IsText({ max: 9 }) word!: string;
}
class Device {
  @f.IsText({ max: 10, description: 'Name of the device' }) 'X-Device'!: string;
  @f.IsWholeNumber({ max: 9, optional: true }) 'X-Copies'?: number;
  @f.IsListOf(f.IsWholeNumber(), { max: 3, optional: true }) 'X-Sizes'?: number[];
}
class Place {
  @f.IsText({ max: 20 }) place!: string;
  @bytes bytes?: number;
}

@Injectable()
class NamedGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}
  canActivate(context: ExecutionContext) {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    return headers['x-name'] === this.reflector.get<string>('named', context.getHandler());
  }
}

@Injectable()
class PhotosService extends CrudService.for(photos) {
  bytes(scope: TenantScope) {
    return this.aggregate<{ bytes: number }>(scope, [{ $group: { _id: null, bytes: { $sum: '$bytes' } } }]);
  }
}

const reads = (path: string, more: Partial<CrudActionOptions> = {}) =>
  CrudAction(photos, { method: 'GET', path, isolatedAs: 'get', ...more });
const puts = (path: string, isolatedAs: 'create' | 'update', more: Partial<CrudActionOptions>) =>
  CrudAction(photos, { method: 'PUT', path, isolatedAs, ...more });

class PhotosController extends CrudController(photos, PhotosService) {
  @puts(':id/file', 'update', { consumes: 'application/*' })
  file(@CurrentScope() scope: TenantScope, @Param('id') id: string, @Body() body: Buffer) {
    return this.service.update(scope, id, Buffer.isBuffer(body) ? { bytes: body.length } : body);
  }

  @CrudAction(photos, {
    method: 'POST',
    path: 'file',
    consumes: 'application/octet-stream',
    isolatedAs: 'create',
  })
  upload(@CurrentScope() scope: TenantScope, @Body() body: Buffer) {
    return this.service.create(scope, { title: 'a file', bytes: body.length });
  }

  @reads(':id/file', { response: 'image/svg+xml' })
  async download(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
    const { title } = await this.service.get(scope, id);
    return new StreamableFile(Buffer.from(String(title)));
  }

  @reads('word', { query: Word, response: Word })
  word(@Query('word') word: string) {
    return { word };
  }

  @reads('recent', { query: Recent, response: Recent })
  recent(@Query() query: Recent) {
    return query;
  }

  @reads('filed', { query: Filed, response: Filed })
  filed(@Query() query: Filed) {
    return query;
  }

  @reads('all', { response: listOf(Photo) })
  async all(@CurrentScope() scope: TenantScope) {
    const all = [];
    for await (const photo of this.service.list(scope)) all.push(photo);
    return all;
  }

  @reads('placed', { query: 'list', response: pageOf(Photo) })
  placed(@CurrentScope() scope: TenantScope, @CurrentQuery() query: PageQuery) {
    return this.service.page(scope, query, { and: [conditionOf(photos, 'place', 'exists', true)] });
  }

  @reads('bytes', { response: listOf(Place) })
  bytes(@CurrentScope() scope: TenantScope) {
    return this.service.bytes(scope);
  }

  @reads('device', { headers: Device, response: Device })
  device(@Headers() headers: Record<string, unknown>) {
    const [device, copies, sizes] = ['x-device', 'x-copies', 'x-sizes'].map((name) => headers[name]);
    return { 'X-Device': device, 'X-Copies': copies, 'X-Sizes': sizes };
  }

  @CrudAction(photos, {
    ...{ method: 'PATCH', path: ':id/place', body: patchOf(Place), isolatedAs: 'update' },
    ...{ guards: [NamedGuard], decorators: [SetMetadata('named', 'Ada')] },
    errors: ['RECORD_NOT_FOUND', 403],
  })
  place(@CurrentScope() scope: TenantScope, @Param('id') id: string, @Body() changes: Changes<Place>) {
    return this.service.update(scope, id, changes);
  }

  @puts(':id/place', 'update', { body: Place, response: Place })
  async replace(@CurrentScope() scope: TenantScope, @Param('id') id: string, @Body() place: Place) {
    await this.service.update(scope, id, { ...place });
    return place;
  }

  @puts('titled', 'create', { body: PhotoInput })
  titled(@CurrentScope() scope: TenantScope, @Body() input: PhotoInput) {
    return this.service.create(scope, { ...input });
  }

  @reads(':id/self')
  self(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
    return this.service.get(scope, id);
  }
}

/** A resource with routes of its own of every kind. */
export const photosModule = () =>
  CrudModule.forFeature(photos, {
    controller: PhotosController,
    service: PhotosService,
    providers: [NamedGuard],
  });

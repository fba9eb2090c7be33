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
import {
  type Changes,
  conditionOf,
  CrudAction,
  CrudController,
  CrudModule,
  CrudService,
  CurrentQuery,
  CurrentScope,
  hasRole,
  IsFlag,
  IsListOf,
  IsOneOf,
  IsText,
  IsWholeNumber,
  listOf,
  pageOf,
  type PageQuery,
  patchOf,
  type TenantScope,
} from '../../src/index.js';
import { OF_TENANT, resource } from './resource.js';

class PhotoInput {
  @IsText({ max: 40 }) title!: string;
  @IsText({ max: 40, optional: true }) price?: string;
}
const bytes = IsWholeNumber({ optional: true });
const photos = resource({
  name: 'photos',
  fields: PhotoInput,
  ...OF_TENANT,
  kept: { ...OF_TENANT.kept, bytes, place: IsText({ max: 20, optional: true }) },
  query: { filter: ['title'], sort: ['title'] },
  rules: { price: { write: hasRole('sales') } },
});
const Photo = photos.entity;

const BYTES = 'application/octet-stream';
enum Order {
  Up = 1,
  Down = -1,
}
class Recent {
  @IsInt() @Max(50) limit = 10;
  @IsListOf(IsText({ max: 10 }), { max: 2, optional: true }) tags?: string[];
  @IsFlag({ optional: true }) exact?: boolean;
  @IsOneOf(Order, { optional: true }) order?: Order;
  @IsText({ max: 5, example: 'tea' }) word!: string;
}
class Filed {
  @IsFlag({ optional: true }) archived?: boolean;
}
class Word {
  @IsText({ max: 9 }) word!: string;
}
class Device {
  @IsText({ max: 10, description: 'Name of the device' }) 'X-Device'!: string;
  @IsWholeNumber({ max: 9, optional: true }) 'X-Copies'?: number;
  @IsListOf(IsWholeNumber(), { max: 3, optional: true }) 'X-Sizes'?: number[];
}
class Place {
  @IsText({ max: 20 }) place!: string;
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
  placed(scope: TenantScope, query: PageQuery) {
    return this.page(scope, query, { and: [conditionOf(photos, 'place', 'exists', true)] });
  }
  bytes(scope: TenantScope) {
    return this.aggregate<{ bytes: number }>(scope, [{ $group: { _id: null, bytes: { $sum: '$bytes' } } }]);
  }
}

class PhotosController extends CrudController(photos, PhotosService) {
  @CrudAction(photos, { method: 'PUT', path: ':id/file', consumes: 'application/*', isolatedAs: 'update' })
  file(@CurrentScope() scope: TenantScope, @Param('id') id: string, @Body() body: Buffer) {
    return this.service.update(scope, id, Buffer.isBuffer(body) ? { bytes: body.length } : body);
  }

  @CrudAction(photos, { method: 'POST', path: 'file', consumes: BYTES, isolatedAs: 'create' })
  upload(@CurrentScope() scope: TenantScope, @Body() body: Buffer) {
    return this.service.create(scope, { title: 'a file', bytes: body.length });
  }

  @CrudAction(photos, { method: 'GET', path: ':id/file', isolatedAs: 'get', response: 'image/svg+xml' })
  async download(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
    const { title } = await this.service.get(scope, id);
    return new StreamableFile(Buffer.from(String(title)));
  }

  @CrudAction(photos, { method: 'GET', path: 'word', query: ['word'], isolatedAs: 'get', response: Word })
  word(@Query('word') word: string) {
    return { word };
  }

  @CrudAction(photos, { method: 'GET', path: 'recent', query: Recent, isolatedAs: 'get', response: Recent })
  recent(@Query() query: Recent) {
    return query;
  }

  @CrudAction(photos, { method: 'GET', path: 'filed', query: Filed, isolatedAs: 'get', response: Filed })
  filed(@Query() query: Filed) {
    return query;
  }

  @CrudAction(photos, { method: 'GET', path: 'all', isolatedAs: 'get', response: listOf(Photo) })
  async all(@CurrentScope() scope: TenantScope) {
    const all = [];
    for await (const photo of this.service.list(scope)) all.push(photo);
    return all;
  }

  @CrudAction(photos, {
    method: 'GET',
    path: 'placed',
    query: 'list',
    isolatedAs: 'get',
    response: pageOf(Photo),
  })
  placed(@CurrentScope() scope: TenantScope, @CurrentQuery() query: PageQuery) {
    return this.service.placed(scope, query);
  }

  @CrudAction(photos, { method: 'GET', path: 'bytes', isolatedAs: 'get', response: listOf(Place) })
  bytes(@CurrentScope() scope: TenantScope) {
    return this.service.bytes(scope);
  }

  @CrudAction(photos, { method: 'GET', path: 'device', headers: Device, isolatedAs: 'get', response: Device })
  device(@Headers() headers: Record<string, unknown>) {
    const [device, copies, sizes] = ['x-device', 'x-copies', 'x-sizes'].map((name) => headers[name]);
    return { 'X-Device': device, 'X-Copies': copies, 'X-Sizes': sizes };
  }

  @CrudAction(photos, {
    method: 'PATCH',
    path: ':id/place',
    body: patchOf(Place),
    isolatedAs: 'update',
    guards: [NamedGuard],
    decorators: [SetMetadata('named', 'Ada')],
    errors: ['RECORD_NOT_FOUND', 403],
  })
  place(@CurrentScope() scope: TenantScope, @Param('id') id: string, @Body() changes: Changes<Place>) {
    return this.service.update(scope, id, changes);
  }

  @CrudAction(photos, {
    method: 'PUT',
    path: ':id/place',
    body: Place,
    isolatedAs: 'update',
    response: Place,
  })
  async replace(@CurrentScope() scope: TenantScope, @Param('id') id: string, @Body() place: Place) {
    await this.service.update(scope, id, { ...place });
    return place;
  }

  @CrudAction(photos, { method: 'PUT', path: 'titled', body: PhotoInput, isolatedAs: 'create' })
  titled(@CurrentScope() scope: TenantScope, @Body() input: PhotoInput) {
    return this.service.create(scope, { ...input });
  }

  @CrudAction(photos, { method: 'GET', path: ':id/self', isolatedAs: 'get' })
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

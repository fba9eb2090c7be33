import { ConflictException, Injectable, Module } from '@nestjs/common';
import { Schema } from '@nestjs/mongoose';
import { CrudModule, crudOptions, CrudService } from '../../src/common/crud/index.js';
import { IsIdentifier, IsReference, IsText, IsTimestamp } from '../../src/common/fields/index.js';
import { currentTenant, type TenantScope } from '../../src/common/tenancy/index.js';

class RoomInput {
  @IsText({ max: 80, example: 'Attic' }) name!: string;
}

@Schema({ timestamps: true })
class Room extends RoomInput {
  @IsIdentifier() tenant!: string;
  @IsTimestamp({ optional: true }) bookedAt?: Date;
}

const rooms = crudOptions({
  entity: Room,
  input: RoomInput,
  name: 'rooms',
  tag: 'Bookings',
  isolationFields: { all: { tenant: currentTenant } },
});

@Injectable()
class RoomsService extends CrudService.for(rooms) {
  /** Changes the room, so that of two units of work that book it at the same time one comes after the other. */
  async book(scope: TenantScope, id: string) {
    return this.change('update', scope, id, { set: { bookedAt: new Date() } });
  }
}

class BookingInput {
  @IsReference(() => Room) room!: string;
  @IsTimestamp({ example: '2027-05-01T14:00:00.000Z' }) from!: Date;
  @IsTimestamp({ example: '2027-05-08T10:00:00.000Z' }) until!: Date;
}

@Schema({ timestamps: true })
class Booking extends BookingInput {
  @IsIdentifier() tenant!: string;
}

const bookings = crudOptions({
  entity: Booking,
  input: BookingInput,
  name: 'bookings',
  tag: 'Bookings',
  disable: ['update'],
  isolationFields: { all: { tenant: currentTenant } },
  query: { filter: ['room', 'from', 'until'], sort: ['from'] },
  references: { room: { to: Room, check: 'sameScope', onDelete: 'restrict' } },
  routes: { create: { errors: [409] } },
});

/** No two bookings of a room overlap. */
@Injectable()
class BookingsService extends CrudService.for(bookings) {
  constructor(private readonly rooms: RoomsService) {
    super();
  }

  override create(scope: TenantScope, input: BookingInput) {
    return this.atomically(scope, async (work) => {
      const booking = await super.create(work, input);
      const { _id, room, from, until } = booking;
      await this.rooms.book(work, String(room));
      const others = { room, from: { $lt: until }, until: { $gt: from }, _id: { $ne: _id } };
      if (await this.store.exists({ ...this.filterOf('get', work), $and: [others] }))
        throw new ConflictException('The room is booked at that time.');
      return booking;
    });
  }
}

const roomsModule = CrudModule.forFeature(rooms, { service: RoomsService });

@Module({
  imports: [
    roomsModule,
    CrudModule.forFeature(bookings, { service: BookingsService, imports: [roomsModule] }),
  ],
})
export class BookingsModule {}

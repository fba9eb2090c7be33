import { Module } from '@nestjs/common';
import { Prop, Schema } from '@nestjs/mongoose';
import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsDate,
  IsEmail,
  IsInt,
  IsLatitude,
  IsLongitude,
  IsObject,
  IsOptional,
  IsString,
  Length,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import { Types } from 'mongoose';
import { CrudModule } from '../../src/common/crud/index.js';
import { currentTenant } from '../../src/common/tenancy/index.js';

class Place {
  @Prop({ type: String, required: true })
  @IsString()
  @Length(1, 100)
  @ApiProperty({ example: 'Town hall' })
  name!: string;

  @Prop({ type: Number, required: true })
  @IsLatitude()
  @ApiProperty({ example: 52.52 })
  latitude!: number;

  @Prop({ type: Number, required: true })
  @IsLongitude()
  @ApiProperty({ example: 13.4 })
  longitude!: number;
}

class EventInput {
  @Prop({ type: String, required: true })
  @IsString()
  @Length(1, 120)
  @ApiProperty({ example: 'Summer party' })
  title!: string;

  @Prop({ type: Date, required: true })
  @IsDate()
  @Type(() => Date)
  @ApiProperty({ example: '2026-07-01T18:00:00.000Z' })
  starts!: Date;

  @Prop({ type: Number, default: 60 })
  @IsOptional()
  @IsInt()
  @Min(5)
  @Max(10_080)
  @ApiProperty({ example: 90, description: 'Unit: minutes' })
  length?: number;

  @Prop({ type: Place })
  @IsOptional()
  @ValidateNested()
  @Type(() => Place)
  place?: Place;

  @Prop({ type: [String], default: undefined })
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(100)
  @IsEmail({}, { each: true })
  @ApiProperty({ example: ['ada@example.com'] })
  guests?: string[];

  @Prop({ type: Map, of: String })
  @IsOptional()
  @IsObject()
  @ApiProperty({ example: { dress: 'casual' }, description: 'Notes of any name' })
  notes?: Record<string, string>;
}

@Schema({ timestamps: true })
class Event extends EventInput {
  @Prop({ type: Types.ObjectId, required: true })
  tenant!: Types.ObjectId;
}

@Module({
  imports: [
    CrudModule.forFeature({
      entity: Event,
      input: EventInput,
      // The notifications have a collection and a path of the name "events".
      name: 'gatherings',
      tag: 'Events',
      query: { filter: ['title', 'starts', 'length', 'guests'], sort: ['starts', 'title'] },
      isolationFields: { all: { tenant: currentTenant } },
    }),
  ],
})
export class EventsModule {}

import { Prop, Schema } from '@nestjs/mongoose';
import { ApiProperty, PickType } from '@nestjs/swagger';
import { IsEmail, MaxLength } from 'class-validator';
import { IsIdentifier, IsOneOf, IsText } from '../../src/common/fields/index.js';

export enum Role {
  Member = 'member',
  Admin = 'admin',
}

class Account {
  @Prop({ type: String, required: true, lowercase: true })
  @IsEmail()
  @MaxLength(254)
  @ApiProperty({ example: 'ada@example.com' })
  email!: string;

  @IsText({ min: 1, max: 100, example: 'Ada Lovelace' })
  name!: string;

  @IsOneOf(Role, { default: Role.Member })
  role!: Role;
}

export class SignUp extends Account {
  @IsText({ min: 12, max: 200, example: 'correct horse battery' })
  password!: string;
}

export class ProfilePatch extends PickType(SignUp, ['name', 'password']) {}

@Schema({ timestamps: true })
export class User extends Account {
  @IsIdentifier()
  tenant!: string;

  @Prop({ type: String, required: true, select: false })
  passwordHash!: string;
}

/** A user as clients see one. */
export class UserView extends PickType(User, ['email', 'name', 'role']) {
  @ApiProperty({ example: 'AL' })
  get initials(): string {
    return this.name
      .split(/\s+/)
      .map((word) => word.charAt(0))
      .join('');
  }
}

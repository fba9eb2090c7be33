import { type DynamicModule, Global, Module } from '@nestjs/common';
import { CallerIdentity } from './caller-identity.js';
import { Callers } from './callers.js';
import { TokenVerifier, type TokenVerifierOptions } from './token-verifier.js';

/** Makes injectable who calls, which the TenantGuard of every feature asks. */
@Global()
@Module({})
export class TenancyModule {
  static forRoot(options: TokenVerifierOptions): DynamicModule {
    return {
      module: TenancyModule,
      providers: [
        { provide: TokenVerifier, useFactory: () => new TokenVerifier(options) },
        Callers,
        CallerIdentity,
      ],
      exports: [TokenVerifier, Callers, CallerIdentity],
    };
  }
}

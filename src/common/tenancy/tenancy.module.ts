import { type DynamicModule, Global, Module } from '@nestjs/common';
import { TokenVerifier, type TokenVerifierOptions } from './token-verifier.js';

/** Makes the verifier of tokens injectable, which the TenantGuard of every feature asks. */
@Global()
@Module({})
export class TenancyModule {
  static forRoot(options: TokenVerifierOptions): DynamicModule {
    return {
      module: TenancyModule,
      providers: [{ provide: TokenVerifier, useFactory: () => new TokenVerifier(options) }],
      exports: [TokenVerifier],
    };
  }
}

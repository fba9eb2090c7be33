import { type DynamicModule, type FactoryProvider, Global, Module } from '@nestjs/common';
import { CallerIdentity, Callers, TokenVerifier, type TokenVerifierOptions } from './callers.js';

const VERIFIER_OPTIONS = Symbol('TokenVerifierOptions');

/** Provides the callers, which the TenantGuard of every feature uses. */
@Global()
@Module({})
export class TenancyModule {
  static forRoot(options: TokenVerifierOptions): DynamicModule {
    return TenancyModule.forRootAsync({ useFactory: () => options });
  }

  static forRootAsync(
    options: Pick<FactoryProvider<TokenVerifierOptions>, 'inject' | 'useFactory'>,
  ): DynamicModule {
    return {
      module: TenancyModule,
      providers: [
        { provide: VERIFIER_OPTIONS, ...options },
        {
          provide: TokenVerifier,
          inject: [VERIFIER_OPTIONS],
          useFactory: (given: TokenVerifierOptions) => new TokenVerifier(given),
        },
        Callers,
        CallerIdentity,
      ],
      exports: [TokenVerifier, Callers, CallerIdentity],
    };
  }
}

import type { EndedExchange, Usage } from '../contract/index.ts'

/**
 * What a request used at providers: nothing, the tokens that were reported, or unknown. A reply that came
 * without a provider call, such as a cached one, used nothing; so did failed calls that are not billed.
 */
export type ProviderUse = 'nothing' | 'unknown' | Usage

export function providerUseOf({ attempts, usage }: Pick<EndedExchange, 'attempts' | 'usage'>): ProviderUse {
  // A client that disconnects does not stop the provider's work at once.
  if (attempts.some(({ mayBeBilled }) => mayBeBilled)) return 'unknown'
  if (!attempts.some(({ outcome }) => outcome === 'ok')) return 'nothing'
  return usage ?? 'unknown'
}

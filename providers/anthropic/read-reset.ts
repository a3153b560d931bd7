import type { ProviderErrorResponse } from '../../core/contract/provider.ts'

const LIMITS = ['requests', 'tokens', 'input-tokens', 'output-tokens']

/**
 * Whole seconds until every limit that is used up is reset, from `anthropic-ratelimit-*` (reference 5.8); undefined where
 * none is.
 */
export function readReset(headers: ProviderErrorResponse['headers'], now = Date.now()): number | undefined {
  const resets = LIMITS.map((limit) => `anthropic-ratelimit-${limit}`)
    .filter((name) => headers[`${name}-remaining`] === '0')
    .map((name) => Date.parse(String(headers[`${name}-reset`])))
    .filter((time) => !Number.isNaN(time))
  if (resets.length === 0) return undefined
  return Math.max(1, Math.ceil((Math.max(...resets) - now) / 1000))
}

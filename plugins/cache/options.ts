import {
  type Action,
  type Exchange,
  GatewayError,
  isJsonObject,
  type Static,
  StrictObject,
  slot,
  Type,
} from '../../core/contract/index.ts'

/** A month. Counts as a limit of rules, too. */
const MAX_TTL_SECONDS = 31 * 24 * 60 * 60

export const cacheOptions = StrictObject({
  ttl_seconds: Type.Integer({
    minimum: 1,
    maximum: MAX_TTL_SECONDS,
    default: 3600,
    description: 'How long replies are kept. A rule can set another time for its requests.',
  }),
  shared: Type.Boolean({
    default: false,
    description: 'Whether users get replies to identical requests of other users.',
  }),
})

export type CacheOptions = Static<typeof cacheOptions>

/** The value of the action `cache` of a routing rule. */
const ruleTtl = slot<number>('cache')

/** The action `cache` of routing rules: the seconds that replies are kept, or false for no caching. */
export const cacheAction: Action = {
  name: 'cache',
  schema: {
    type: ['boolean', 'object'],
    not: { const: true },
    required: ['ttl'],
    properties: {
      ttl: {
        type: 'integer',
        minimum: 0,
        maximum: MAX_TTL_SECONDS,
        description: 'How long replies are kept, in seconds. 0: not at all.',
      },
    },
    additionalProperties: false,
  },
  description: 'false or an object such as {"ttl": 600}, with seconds',
  combine: 'first',
  apply(value, draft) {
    ruleTtl.set(draft, isJsonObject(value) ? Number(value.ttl) : 0)
  },
}

/** Throws 400 if the header is invalid. */
export function checkCacheHeader({ headers }: Pick<Exchange, 'headers'>): void {
  const value = headers['x-cache']
  if (value === undefined || value === 'on' || value === 'no-store') return
  const message = 'The header x-cache must be "on" or "no-store". Correct or omit it.'
  throw new GatewayError('invalid_value', message, { param: 'x-cache' })
}

/**
 * Returns how long the reply to a request is kept, in seconds; 0 if the cache must not be used. The header
 * can switch it off, then a rule decides, then the header, then the temperature. See docs/decisions/cache.md,
 * "Only requests that expect the same reply are cached".
 */
export function findTtl(exchange: Exchange, { ttl_seconds }: CacheOptions): number {
  const { headers, request } = exchange
  const header = headers['x-cache']
  if (header === 'no-store') return 0
  const byRule = ruleTtl.of(exchange)
  if (byRule !== undefined) return byRule
  return header === 'on' || request.temperature === 0 ? ttl_seconds : 0
}

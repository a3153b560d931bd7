import {
  definePlugin,
  type Host,
  type Reply,
  type ReplyingExchange,
  SharedStateUnavailableError,
  type Target,
} from '../../core/contract/index.ts'
import { createCounter } from '../../core/util/metrics.ts'
import { buildCacheKey } from './cache-key.ts'
import {
  buildCachedReply,
  type CachedContent,
  type CachedReply,
  replay,
  toCachedReply,
} from './cached-reply.ts'
import { noteLookup } from './index.ts'
import { type CacheOptions, cacheAction, cacheOptions, checkCacheHeader, findTtl } from './options.ts'
import { recordReply } from './record-reply.ts'

/**
 * Answers requests that were answered before, without calling a provider (docs/guides/cache.md). See
 * docs/decisions/cache.md, "The cache is a plugin that is not listed by default" and "Replies are stored
 * before they are inspected".
 */
export default definePlugin({
  name: 'cache',
  after: ['routing'],
  before: ['dispatch'],
  options: cacheOptions,
  replay: {
    type: 'pure',
    why: 'Stored replies are not looked up: requests that the cache answered cost nothing.',
  },
  setup(options: CacheOptions, { store, metrics, logger }) {
    const requests = createCounter(metrics, {
      name: 'signalbox_cache_requests_total',
      help: 'Requests by what the cache did: hit, miss, skipped, or unavailable (the store failed).',
      labelNames: ['outcome'],
    })

    async function answer(
      exchange: ReplyingExchange,
      key: string,
      ttl: number,
      next: () => Promise<Reply>,
    ): Promise<Reply> {
      const { stored, isAvailable } = await find(store, key)
      const cached = toCachedReply(stored, ttl)
      requests(isAvailable ? (cached ? 'hit' : 'miss') : 'unavailable').inc()
      exchange.res.setDefaultHeader('x-cache', noteLookup(exchange, cached !== undefined))
      if (cached !== undefined) return answerFromCache(exchange, cached)
      const warningCount = exchange.warnings.length
      const reply = await next()
      // One failure per request is waited for.
      if (!isAvailable) return reply
      const warnings = exchange.warnings.slice(warningCount)
      return recordReply(reply, (content: CachedContent) =>
        store.set(key, { ...buildCachedReply(exchange, warnings, content) }, ttl).catch((error: unknown) => {
          if (SharedStateUnavailableError.isInstance(error) || error instanceof RangeError) return
          logger.error({ err: error, requestId: exchange.id }, 'reply not cached')
        }),
      )
    }

    return {
      actions: [cacheAction],
      // An invalid header is refused before a provider is called.
      decide: checkCacheHeader,
      reply(exchange, next) {
        const ttl = findTtl(exchange, options)
        const key = ttl > 0 ? buildCacheKey(exchange, options.shared) : undefined
        if (key !== undefined) return answer(exchange, key, ttl, next)
        requests('skipped').inc()
        return next()
      },
    }
  },
})

/** A store that is unavailable is like an empty one. The gateway logs when it becomes unavailable. */
async function find(store: Host['store'], key: string) {
  try {
    return { stored: await store.get(key), isAvailable: true }
  } catch (error) {
    if (!SharedStateUnavailableError.isInstance(error)) throw error
    return { stored: undefined, isAvailable: false }
  }
}

function answerFromCache(exchange: ReplyingExchange, { target, warnings, content }: CachedReply): Reply {
  if (target !== null) exchange.target = findTarget(exchange, target)
  exchange.warnings.push(...warnings)
  return replay(content, exchange.request.stream === true ? 'stream' : 'whole')
}

/** Returns the target of the route, which has the catalogue's entry, if it is one of them. */
function findTarget({ route }: ReplyingExchange, { provider, model }: Target): Target {
  const known = route?.targets.find((target) => target.provider === provider && target.model === model)
  return known ?? { provider, model }
}

import { LRUCache } from 'lru-cache'
import type { Registry } from 'prom-client'
import { type RuleSet, type Static, StrictObject, Type } from '../contract/index.ts'
import type { MaybePromise } from './maybe-promise.ts'
import { type CounterSeries, createCounter } from './metrics.ts'

/**
 * Options of plugins that compile rules. `cached_rules`: maximum number of cached compiled rules of all
 * users and policies.
 */
export const compiledCacheOptions = StrictObject({
  cached_rules: Type.Integer({ minimum: 1, default: 200_000 }),
})

export type CompiledCacheOptions = Static<typeof compiledCacheOptions>

/**
 * Creates an LRU cache of compiled rule sets by owner. Rule sets are compiled on first use. A rule change
 * creates a new `RuleSet`, so entries compiled from another object are stale. All owners without rules share
 * one entry. Transient rule sets are not cached. See docs/decisions/plugins.md, "Users without rules share
 * one compiled entry".
 */
export function createCompiledCache<Compiled extends object>(
  compile: (rules: RuleSet) => Promise<Compiled>,
  { cached_rules }: CompiledCacheOptions,
  countRules: (rules: RuleSet) => number,
  recordLookup: (isHit: boolean) => void,
): (rules: RuleSet) => MaybePromise<Compiled> {
  interface Entry {
    readonly rules: RuleSet
    compiled: MaybePromise<Compiled>
  }
  const cache = new LRUCache<number, Entry>({
    maxSize: cached_rules,
    sizeCalculation: ({ rules }) => 1 + countRules(rules),
  })

  async function compileAndCache(key: number, rules: RuleSet): Promise<Compiled> {
    const compiling = compile(rules)
    const entry: Entry = { rules, compiled: compiling }
    cache.set(key, entry)
    try {
      entry.compiled = await compiling
      return entry.compiled
    } catch (error) {
      if (cache.peek(key) === entry) cache.delete(key)
      throw error
    }
  }

  return (rules) => {
    if (rules.transient) return compile(rules)
    const isEmpty = countRules(rules) === 0
    const key = isEmpty ? EMPTY_KEY : rules.ownerId
    const entry = cache.get(key)
    const isHit = entry !== undefined && (isEmpty || entry.rules === rules)
    recordLookup(isHit)
    return isHit ? entry.compiled : compileAndCache(key, rules)
  }
}

/** Cache key of empty rule sets; never the id of an owner. */
const EMPTY_KEY = -1

/** All caches of a registry share one metric. */
const lookupCounters = new WeakMap<Registry, (...labels: readonly string[]) => CounterSeries>()

/** Returns a function that counts the hits and misses of a named cache. */
export function createLookupCounter(metrics: Registry, cache: string): (isHit: boolean) => void {
  const counter = lookupCounters.get(metrics) ?? registerLookupCounter(metrics)
  lookupCounters.set(metrics, counter)
  const hits = counter(cache, 'hit')
  const misses = counter(cache, 'miss')
  return (isHit) => (isHit ? hits : misses).inc()
}

function registerLookupCounter(metrics: Registry) {
  return createCounter(metrics, {
    name: 'signalbox_cache_lookups_total',
    help: 'Cache lookups by cache and outcome (hit, miss).',
    labelNames: ['cache', 'outcome'],
  })
}

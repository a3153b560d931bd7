import { LRUCache } from 'lru-cache'
import type { Registry } from 'prom-client'
import type { JsonObject, RuleSet } from '../contract/index.ts'
import type { MaybePromise } from './maybe-promise.ts'
import { type CounterSeries, createCounter } from './metrics.ts'

/** The option of plugins that compile rules: how many compiled rules are kept, over all users. */
export const compiledCacheOptions: JsonObject = {
  type: 'object',
  additionalProperties: false,
  properties: { cached_rules: { type: 'integer', minimum: 1, default: 200_000 } },
}

/**
 * What a user's rules compile to, made on first use and kept for the users seen last, as far as their rules fit together. A
 * rule change makes a new `RuleSet`, so an entry that was compiled from another object is out of date. All users without rules
 * share one entry.
 */
export function createCompiledCache<Compiled extends object>(
  compile: (rules: RuleSet) => Promise<Compiled>,
  options: JsonObject,
  countRules: (rules: RuleSet) => number,
  noteLookup: (isHit: boolean) => void,
): (rules: RuleSet) => MaybePromise<Compiled> {
  interface Entry {
    readonly rules: RuleSet
    compiled: MaybePromise<Compiled>
  }
  const cache = new LRUCache<number, Entry>({
    maxSize: Number(options.cached_rules ?? 200_000),
    sizeCalculation: ({ rules }) => 1 + countRules(rules),
  })
  async function open(owner: number, rules: RuleSet): Promise<Compiled> {
    const compiling = compile(rules)
    const entry: Entry = { rules, compiled: compiling }
    cache.set(owner, entry)
    try {
      entry.compiled = await compiling
      return entry.compiled
    } catch (error) {
      if (cache.peek(owner) === entry) cache.delete(owner)
      throw error
    }
  }

  return (rules) => {
    if (rules.transient) return compile(rules)
    const isEmpty = countRules(rules) === 0
    const owner = isEmpty ? NOBODY : rules.userId
    const known = cache.get(owner)
    const isHit = known !== undefined && (isEmpty || known.rules === rules)
    noteLookup(isHit)
    if (isHit) return known.compiled
    return open(owner, rules)
  }
}

/** No user's id. */
const NOBODY = -1

/** Of each registry, for all caches share one metric. */
const counters = new WeakMap<Registry, (...labels: readonly string[]) => CounterSeries>()

/** Counts what look-ups in the named cache found. */
export function createLookupCounter(metrics: Registry, cache: string): (isHit: boolean) => void {
  const counter = counters.get(metrics) ?? createLookupSeries(metrics)
  counters.set(metrics, counter)
  const hits = counter(cache, 'hit')
  const misses = counter(cache, 'miss')
  return (isHit) => (isHit ? hits : misses).inc()
}

function createLookupSeries(metrics: Registry) {
  return createCounter(metrics, {
    name: 'signalbox_cache_lookups_total',
    help: 'Look-ups in caches by what they found.',
    labelNames: ['cache', 'outcome'],
  })
}

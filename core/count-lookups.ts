import type { Registry } from 'prom-client'
import { type CounterSeries, createCounter } from './metrics/counter.ts'

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

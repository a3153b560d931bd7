import { Counter, type Registry } from 'prom-client'

const NAME = 'signalbox_cache_lookups_total'

/** Counts what look-ups in the named cache found. All caches share one metric. */
export function countLookups(metrics: Registry, cache: string): (isHit: boolean) => void {
  const counter = (metrics.getSingleMetric(NAME) as Counter | undefined) ?? createCounter(metrics)
  const hits = counter.labels({ cache, outcome: 'hit' })
  const misses = counter.labels({ cache, outcome: 'miss' })
  return (isHit) => (isHit ? hits : misses).inc()
}

function createCounter(metrics: Registry): Counter {
  return new Counter({
    name: NAME,
    help: 'Look-ups in caches by what they found.',
    labelNames: ['cache', 'outcome'],
    registers: [metrics],
  })
}

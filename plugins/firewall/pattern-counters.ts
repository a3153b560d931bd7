import { Counter, type Registry } from 'prom-client'

/** Counters of patterns that counted as no match: a firewall never goes quiet silently. */
export function createPatternCounters(metrics: Registry) {
  const unusable = new Counter({
    name: 'signalbox_firewall_unusable_patterns_total',
    help: 'Rules left out when a firewall was compiled, because their pattern cannot be evaluated.',
    registers: [metrics],
  })
  const overruns = new Counter({
    name: 'signalbox_firewall_overruns_total',
    help: "Patterns that were stopped, or not started, because a request's time for patterns was used up.",
    registers: [metrics],
  })
  return {
    noteUnusable: (count: number) => unusable.inc(count),
    noteOverruns: (count: number) => overruns.inc(count),
  }
}

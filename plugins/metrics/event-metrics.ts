import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Subscription } from '../../projections/runtime/subscribe.ts'

const DELAYS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30]

/** How this node keeps up with the event log. */
export function registerEventMetrics(metrics: Registry, live: Subscription): void {
  const registers = [metrics]
  new Gauge({
    name: 'signalbox_projection_position',
    help: 'Position in the event log up to which this node knows everything.',
    aggregator: 'min',
    registers,
    collect() {
      this.set(live.position())
    },
  })
  new Gauge({
    name: 'signalbox_event_log_followed',
    help: '1 while this node follows the event log, 0 while the log is away.',
    aggregator: 'min',
    registers,
    collect() {
      this.set(live.state() === 'following' ? 1 : 0)
    },
  })
  new Counter({
    name: 'signalbox_unknown_events_total',
    help: 'Events that only a newer version can read, and that this node passed over.',
    // All processes of a node read the same log.
    aggregator: 'max',
    registers,
    collect() {
      this.reset()
      this.inc(live.skipped())
    },
  })
  const lag = new Histogram({
    name: 'signalbox_event_lag_seconds',
    help: 'From the moment when an event was written, on any node, to the moment when it is in force on this one.',
    buckets: DELAYS,
    registers,
  })
  const effect = new Histogram({
    name: 'signalbox_rule_change_to_effect_seconds',
    help: 'The same, of changes to rules only.',
    buckets: DELAYS,
    registers,
  })
  live.onApplied(({ stream }, delayMs) => {
    lag.observe(delayMs / 1000)
    if (stream.startsWith('rules-')) effect.observe(delayMs / 1000)
  })
}

import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Subscription } from '../../projections/runtime/subscribe.ts'
import type { Evidence } from '../../projections/transparency/evidence.ts'

const LAG_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30]

/** Registers metrics that show how closely this node follows the event log. */
export function registerEventMetrics(
  metrics: Registry,
  live: Subscription,
  damagedFiles: () => Promise<readonly string[]>,
  evidence: Pick<Evidence, 'contradiction'>,
): void {
  const registers = [metrics]
  new Gauge({
    name: 'signalbox_projection_position',
    help: 'Position in the event log up to which this node has applied all events.',
    aggregator: 'min',
    registers,
    collect() {
      this.set(live.position())
    },
  })
  new Gauge({
    name: 'signalbox_event_log_followed',
    help: '1 while this node follows the event log, 0 while the event log is unavailable.',
    aggregator: 'min',
    registers,
    collect() {
      this.set(live.state() === 'following' ? 1 : 0)
    },
  })
  new Counter({
    name: 'signalbox_unknown_events_total',
    help: 'Events that this node skipped because only a newer version can read them.',
    // All processes of a node read the same log.
    aggregator: 'max',
    registers,
    collect() {
      this.reset()
      this.inc(live.skipped())
    },
  })
  new Counter({
    name: 'signalbox_foreign_events_total',
    help: 'Events that this node skipped because they are malformed or were written by another program.',
    aggregator: 'max',
    registers,
    collect() {
      this.reset()
      this.inc(live.foreign())
    },
  })
  new Gauge({
    name: 'signalbox_damaged_streams',
    help: 'Streams in the event log that cannot be read completely. Their users are refused.',
    aggregator: 'max',
    registers,
    collect() {
      this.set(live.damaged().length)
    },
  })
  new Gauge({
    name: 'signalbox_damaged_files',
    help: 'Files of the data folder that are damaged, or were and have been set aside.',
    // All processes of a node have the same folder.
    aggregator: 'max',
    registers,
    async collect() {
      this.set((await damagedFiles()).length)
    },
  })
  new Gauge({
    name: 'signalbox_event_log_contradicted',
    help: '1 while no checkpoint is signed because the event log is not what was recorded or signed, else 0.',
    // All processes of a node have the same folder.
    aggregator: 'max',
    registers,
    async collect() {
      this.set((await evidence.contradiction()) ? 1 : 0)
    },
  })
  const lag = new Histogram({
    name: 'signalbox_event_lag_seconds',
    help: 'Time from the write of an event, on any node, until this node has applied it.',
    buckets: LAG_BUCKETS,
    registers,
  })
  const changeToEffect = new Histogram({
    name: 'signalbox_rule_change_to_effect_seconds',
    help: 'Time from the write of a rule change, on any node, until it is in effect on this node.',
    buckets: LAG_BUCKETS,
    registers,
  })
  live.onApplied(({ stream }, delayMs) => {
    lag.observe(delayMs / 1000)
    if (stream.startsWith('rules-') || stream.startsWith('policy-')) changeToEffect.observe(delayMs / 1000)
  })
}

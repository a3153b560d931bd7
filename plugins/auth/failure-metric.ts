import { Counter, type Registry } from 'prom-client'
import type { FailureOutcome, KeyKind } from './failed-keys.ts'

const KINDS: readonly KeyKind[] = ['api', 'admin']
const OUTCOMES: readonly FailureOutcome[] = ['refused', 'limited']

/** A counter of keys that failed; every series is there from the start, so that a rate over them has no gaps. */
export function createFailureMetric(metrics: Registry): (kind: KeyKind, outcome: FailureOutcome) => void {
  const counter = new Counter({
    name: 'signalbox_failed_keys_total',
    help: 'Keys that were wrong, by kind and what was answered.',
    labelNames: ['kind', 'outcome'],
    registers: [metrics],
  })
  for (const kind of KINDS) for (const outcome of OUTCOMES) counter.inc({ kind, outcome }, 0)
  return (kind, outcome) => counter.inc({ kind, outcome })
}

import type { Registry } from 'prom-client'
import { PLANS, type Plan } from '../../core/contract/index.ts'
import { createCounter } from '../../core/metrics/counter.ts'

const OUTCOMES = ['unlimited', 'allowed', 'refused', 'open', 'closed'] as const

/** What became of a request: `open` and `closed` are those that could not be counted, let through or refused. */
export type LimitOutcome = (typeof OUTCOMES)[number]

/** A counter of outcomes by plan; every series is there from the start, so that a rate over them has no gaps. */
export function createOutcomeCounter(metrics: Registry): (plan: Plan, outcome: LimitOutcome) => void {
  const counter = createCounter(metrics, {
    name: 'signalbox_rate_limit_outcomes_total',
    help: 'Requests of known users by what the rate limit made of them.',
    labelNames: ['plan', 'outcome'],
  })
  for (const plan of PLANS) for (const outcome of OUTCOMES) counter(plan, outcome)
  return (plan, outcome) => counter(plan, outcome).inc()
}

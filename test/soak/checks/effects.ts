import type { Tally } from '../tally.ts'
import type { Kind } from '../world.ts'
import { type Check, fewOf } from './check.ts'

/** There were no unexpected outcomes. */
export function checkEffects(tally: Tally): Check {
  const count = tally.failureCount()
  const faults = tally.failures.length < count ? [...tally.failures, `… ${count} in all`] : tally.failures
  return {
    name: 'no error that was not injected or expected',
    found: `${tally.noted()} came out as they had to`,
    faults,
  }
}

/** Every kind of request occurred: otherwise the checks would prove nothing. */
export function checkCoverage(kinds: readonly Kind[], tally: Tally): Check {
  const missing = kinds
    .filter(({ name }) => !tally.effects.has(name))
    .map(({ name }) => `never happened: ${name}`)
  return {
    name: 'every kind of traffic happened',
    found: `${tally.effects.size} kinds`,
    faults: fewOf(missing),
  }
}

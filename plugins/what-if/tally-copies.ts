import type { Host } from '../../core/contract/index.ts'
import { NANOS_PER_USD, roundUsd, toNanoUsd } from '../../core/prices/cost.ts'
import type { StoredRecord } from '../ledger/index.ts'
import type { Decision } from './decision.ts'
import type { WhatIfReport } from './schemas.ts'

/** Counts the copies of requests for other models. A reply of the same length is assumed. */
export class CopiesTally {
  readonly #costOf: Host['costOf']
  #requests = 0
  #unknown = 0
  /** Nano-dollars. */
  #cost = 0

  constructor(costOf: Host['costOf']) {
    this.#costOf = costOf
  }

  /** Only what a provider answered is copied. */
  add({ tokens, isCacheHit }: StoredRecord, { error, shadow, target }: Decision): void {
    if (shadow === undefined || error !== undefined || isCacheHit) return
    if (target?.entry === shadow.entry) return
    this.#requests += 1
    const cost = tokens === null ? undefined : this.#costOf(tokens, shadow)
    if (cost === undefined) this.#unknown += 1
    else this.#cost += toNanoUsd(cost)
  }

  report(): WhatIfReport['copies']['before'] {
    const cost_usd = roundUsd(this.#cost / NANOS_PER_USD)
    return { requests: this.#requests, cost_usd, unknown: this.#unknown }
  }
}

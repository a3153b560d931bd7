import type { StoredRecord } from '../ledger/index.ts'
import type { Decision } from './decision.ts'
import { isReplyMasked } from './recorded-replies.ts'
import type { WhatIfReport } from './schemas.ts'

/** Why response rules could not be evaluated on a reply. */
type UnknownReply = 'not_recorded' | 'recorded_masked' | 'other_model'

/** Counts replies that response rules would inspect. */
export class RepliesTally {
  #evaluated = 0
  readonly #unknown = new Map<UnknownReply, number>()

  /** `isKnown`: there is a reply that response rules can be evaluated on. */
  add(record: StoredRecord, before: Decision, after: Decision, isKnown: boolean): void {
    const replied = [before, after].filter(({ error }) => error === undefined)
    if (replied.length === 0) return
    if (replied.every(({ reply }) => reply !== undefined)) this.#evaluated += 1
    else {
      const unknown = isReplyMasked(record) ? 'recorded_masked' : 'not_recorded'
      const reason = isKnown ? 'other_model' : unknown
      this.#unknown.set(reason, (this.#unknown.get(reason) ?? 0) + 1)
    }
  }

  report(): WhatIfReport['replies'] {
    return {
      evaluated: this.#evaluated,
      not_evaluated: [...this.#unknown].map(([reason, requests]) => ({ reason, requests })),
    }
  }
}

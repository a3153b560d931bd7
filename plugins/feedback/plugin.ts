import type { Plugin } from '../../core/contract/index.ts'
import type { ReportRatingChange } from '../../core/events/access-events.ts'
import type { PendingRecords } from '../ledger/pending-records.ts'
import { createLedgerReader } from '../ledger/reader.ts'
import type { LedgerCalls } from '../ledger/store/methods.ts'
import { createFeedbackEndpoints } from './endpoints.ts'
import type { ImportServices } from './import-ratings.ts'

export interface FeedbackServices {
  readonly ledger: LedgerCalls
  readonly pending: PendingRecords
  readonly importing: Omit<ImportServices, 'store' | 'report'>
  readonly reportRatings: ReportRatingChange
}

/**
 * Takes what users and operators say about replies. Records that wait are written first, so that every
 * answered request is known. See docs/decisions/feedback.md, "Feedback is kept in the ledger, not in the
 * event log".
 */
export function createFeedback({ ledger, pending, importing, reportRatings }: FeedbackServices): Plugin {
  return {
    name: 'feedback',
    after: ['ledger'],
    setup(_, { logger }) {
      const reader = createLedgerReader(ledger, () => pending.flush(), logger)
      return { endpoints: createFeedbackEndpoints(reader, importing, reportRatings) }
    },
  }
}

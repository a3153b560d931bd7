import { definePlugin, service } from '../../core/contract/index.ts'
import { Access } from '../auth/index.ts'
import { createLedgerReader, Ledger } from '../ledger/index.ts'
import { createFeedbackEndpoints } from './endpoints.ts'
import type { ImportServices } from './import-ratings.ts'

/** What imports of rated prompts need. The gateway creates it with the secret of learned routing. */
export type RatingImporting = Omit<ImportServices, 'store' | 'report'>

const Importing = service<RatingImporting>('feedback.importing')

/**
 * Takes what users and operators say about replies. Records that wait are written first, so that every
 * answered request is known. See docs/decisions/feedback.md, "Feedback is kept in the ledger, not in the
 * event log".
 */
export default definePlugin({
  name: 'feedback',
  after: ['ledger'],
  uses: { ledger: Ledger, importing: Importing, access: Access },
  setup(_, { use: { ledger, importing, access }, logger }) {
    const reader = createLedgerReader(ledger, ledger.flush, logger)
    return { endpoints: createFeedbackEndpoints(reader, importing, access.accessLog.reportRatings) }
  },
})

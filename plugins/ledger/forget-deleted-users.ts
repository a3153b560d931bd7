import type { Logger } from 'pino'
import { errorMessage } from '../../core/util/error-message.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { LedgerReader } from './reader.ts'

/** How soon a deletion is tried again while the ledger is away. */
const RETRY_MS = 10_000

/**
 * Deletes the prompts, the stored responses and the feedback of each user that is deleted from now on.
 * Returns a function that stops it. See docs/decisions/prompt-recording.md, "Prompts are deleted with their
 * user".
 */
export function forgetDeletedUsers(
  accounts: Pick<Accounts, 'onDeletion'>,
  reader: Pick<LedgerReader, 'forgetUser'>,
  logger: Logger,
): () => void {
  const timers = new Set<NodeJS.Timeout>()

  async function forget(userId: number): Promise<void> {
    try {
      const prompts = await reader.forgetUser(userId)
      logger.info({ userId, prompts }, 'recorded prompts and feedback of a deleted user deleted')
    } catch (error) {
      logger.warn(
        { userId, reason: errorMessage(error) },
        'recorded prompts and feedback not deleted; retrying',
      )
      const timer = setTimeout(() => {
        timers.delete(timer)
        void forget(userId)
      }, RETRY_MS).unref()
      timers.add(timer)
    }
  }

  const unsubscribe = accounts.onDeletion((userId) => void forget(userId))
  return () => {
    unsubscribe()
    for (const timer of timers) clearTimeout(timer)
  }
}

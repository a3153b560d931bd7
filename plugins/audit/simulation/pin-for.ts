import type { Account } from '../../../core/contract/index.ts'
import type { CallerSnapshot } from '../../../core/http/exchange.ts'
import { foldUser, rulesAt } from '../../../projections/past.ts'
import type { AuditServices } from '../services.ts'
import { addDrafts } from './add-drafts.ts'
import type { Simulation } from './read-simulation.ts'

/** Who asks and by which rules: now or at the moment that the simulation names, with its drafts among the rules. */
export async function pinFor(
  { moment, drafts }: Simulation,
  account: Account,
  { past, desks, pin }: AuditServices,
): Promise<CallerSnapshot> {
  const hasDrafts = Object.values(drafts).some((list) => list.length > 0)
  if (moment === undefined && !hasDrafts) return pin(account)
  const { userId } = account
  const { user, book } = foldUser(userId, await past.eventsOf(userId, moment))
  return {
    // Before there was a user there was no plan: today's says what the drafts would do.
    account: { ...account, plan: user?.plan ?? account.plan, position: user?.position ?? 0 },
    rules: hasDrafts ? addDrafts(userId, book, drafts, desks) : rulesAt(userId, book),
  }
}

import type { Account, Exchange } from '../contract/index.ts'
import { freezeJson } from '../util/json.ts'

/** What requests of a user, or of everybody, have in common. */
export interface SharedFields extends Partial<Pick<Exchange, 'policies' | 'rules' | 'route'>> {
  readonly account?: Account | undefined
  /** Of requests that have ended. */
  readonly exchange?: SharedFields | undefined
}

/**
 * Freezes the account, the rules and the targets before a plugin package sees them: what it changed in them
 * would hold for later requests, too. It may replace them on its exchange.
 */
export function freezeShared({ account, policies, rules, route, exchange }: SharedFields): void {
  for (const shared of [account, policies, rules, route?.targets]) freezeJson(shared)
  if (exchange !== undefined) freezeShared(exchange)
}

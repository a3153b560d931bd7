import { type Access, type EndpointCall, type TProperties, user } from '../../core/contract/index.ts'
import { callerOf } from '../../core/http/idempotency.ts'

type KnownCaller = Exclude<Access, { readonly type: 'public' }>

/** Whose rules some endpoints are about: the caller's, or those of the policy that the path names. */
export interface RuleScope {
  /** What the paths of the endpoints begin with. */
  readonly path: string
  readonly params: TProperties
  readonly read: KnownCaller
  readonly write: KnownCaller
  /** Part of the operation ids. */
  readonly operation: string
  /** Completes "Lists … rules". */
  readonly whose: string
  /** Returns the id of the owner. Throws 404 if there is none, or none any more unless `isPast`. */
  ownerOf(call: EndpointCall, isPast?: boolean): number
}

const paidUser = user({ plan: 'paid' })

/** The caller's own rules. */
export const OWN_RULES: RuleScope = {
  path: '/v1',
  params: {},
  read: paidUser,
  write: paidUser,
  operation: '',
  whose: 'your',
  ownerOf: (call) => callerOf(call).userId,
}

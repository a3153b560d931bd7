import {
  type Access,
  type ChatRequest,
  type EndpointCall,
  type Exchange,
  type RuleSet,
  service,
  slot,
  type TProperties,
  user,
} from '../../core/contract/index.ts'
import { callerOf } from '../../core/http/change-headers.ts'
import type { PageQuery } from '../../core/http/pages.ts'
import type { AsOf } from '../../core/util/as-of.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'
import type { RuleOwner } from '../../projections/events/rules.ts'
import type { History } from '../../projections/history.ts'
import type { RuleKindName } from '../../projections/rules.ts'
import type { Subscription } from '../../projections/runtime/subscribe.ts'
import type { RuleCommandSet, RuleServices } from './rule-commands.ts'
import type { RuleKinds } from './rule-kind.ts'

/** Rules of one kind as of a point in time. */
interface PastRulesQuery {
  readonly owner: RuleOwner
  readonly kind: RuleKindName
  readonly asOf: AsOf
}

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

/** The filters and the page of `GET /v1/audit`. */
export interface AuditQuery {
  /** Inclusive, like `until`. */
  readonly since: AsOf | undefined
  readonly until: AsOf | undefined
  readonly actor: string | undefined
  readonly kind: string | undefined
  readonly limit: number
  /** Only entries before this position. */
  readonly below: number
}

interface OwnerQuery {
  readonly owner: RuleOwner
}

/**
 * What is read from the events of one owner. Texts are bodies in JSON. `list`, `find` and `diff` throw 400 if
 * a point in time is in the future.
 */
export interface RuleHistory {
  /** `{data: […], next_cursor?}`: the rules in evaluation order, as the API shows them, or a page of them. */
  list(query: PastRulesQuery & { readonly page: PageQuery }, signal: AbortSignal): Promise<Uint8Array>
  /** Resolves with a rule set that holds the rule, or nothing if it did not exist. */
  find(query: PastRulesQuery & { readonly ruleId: number }, signal: AbortSignal): Promise<RuleSet>
  /** `{data: {from, to, routing, firewall, tool}}`. */
  diff(query: OwnerQuery & { from: AsOf; to: AsOf | undefined }, signal: AbortSignal): Promise<Uint8Array>
  /** `{data: [change…]}` of one rule; undefined if there was no such rule. */
  changes(
    query: OwnerQuery & { kind: RuleKindName; ruleId: number },
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined>
  /** `{data: [change…], next_cursor}`: a page of all changes. */
  page(query: OwnerQuery & { filter: AuditQuery }, signal: AbortSignal): Promise<Uint8Array>
}

/** What the history of rules depends on, those of users or those of policies. */
export interface RuleHistoryServices extends RuleServices {
  readonly scope: RuleScope
  readonly history: History
  readonly past: RuleHistory
  readonly subscription: Subscription
  readonly kinds: RuleKinds
  readonly commands: RuleCommandSet
}

/** The rules of users and of policies, with their history. The gateway creates them. */
export interface RuleScopes {
  readonly kinds: RuleKinds
  /** As users change their own. */
  readonly own: RuleHistoryServices
  /** As operators change those of users. */
  readonly ofUsers: RuleHistoryServices
  readonly ofPolicies: RuleHistoryServices
}

export const RuleScopes = service<RuleScopes>('rules.scopes')

/**
 * Calls `apply` for the rules of each policy and then for the user's own, one after the other. An error ends
 * the walk. See docs/decisions/policies.md, "A request walks the rule sets of its policies".
 */
export function forEachRuleSet(
  exchange: Pick<Exchange, 'policies' | 'rules'>,
  apply: (rules: RuleSet) => MaybePromise<void>,
): MaybePromise<void> {
  return exchange.policies.length === 0 ? apply(exchange.rules) : applyFrom(0, exchange, apply)
}

function applyFrom(
  index: number,
  exchange: Pick<Exchange, 'policies' | 'rules'>,
  apply: (rules: RuleSet) => MaybePromise<void>,
): MaybePromise<void> {
  const policy = exchange.policies[index]
  if (policy === undefined) return apply(exchange.rules)
  return chain(apply(policy), () => applyFrom(index + 1, exchange, apply))
}

/** The request as the firewall rules of each policy left it. */
const judged = slot<Map<RuleSet, ChatRequest>>('rules.judged')

/**
 * Keeps the request for the conditions of a policy's routing rules: masks of later rules hide nothing from
 * them. See docs/decisions/policies.md, "Conditions of a policy see what later masks hide".
 */
export function keepJudgedRequest(exchange: Exchange, policy: RuleSet): void {
  const requests = judged.of(exchange) ?? new Map<RuleSet, ChatRequest>()
  judged.set(exchange, requests.set(policy, exchange.request))
}

/** The request as a policy's firewall rules left it; undefined if it is the one that is sent. */
export function findJudgedRequest(exchange: Exchange, policy: RuleSet): ChatRequest | undefined {
  const request = judged.of(exchange)?.get(policy)
  return request === exchange.request ? undefined : request
}

import {
  type Account,
  GatewayError,
  type Rule,
  type RuleSet,
  type Static,
} from '../../core/contract/index.ts'
import { anyRevision } from '../../core/http/change-headers.ts'
import type { CallerSnapshot } from '../../core/pipeline/inference.ts'
import type { AsOf } from '../../core/util/as-of.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import { toAccount } from '../../projections/accounts.ts'
import type { CallerAt } from '../../projections/callers.ts'
import { evolveUserRules, type RuleEvent } from '../../projections/events/rules.ts'
import type { User } from '../../projections/events/users.ts'
import { toPastRuleSet } from '../../projections/history.ts'
import { RULE_KINDS, type RuleKindName, toUserRules } from '../../projections/rules.ts'
import { userNotFoundError } from '../auth/index.ts'
import type { StoredRecord } from '../ledger/index.ts'
import {
  checkPatternSize,
  prefixErrors,
  prefixRejection,
  type RuleChange,
  type RuleCommandSet,
} from '../rules/index.ts'
import type { Draft, DraftsByKind, PolicyDraftSchema } from './schemas.ts'
import type { AuditServices } from './services.ts'

/**
 * Higher than every real id, so that new drafts sort after all rules of the same priority, as new rules do.
 */
export const FIRST_DRAFT_ID = 2 ** 52

/** Arbitrary: no decision depends on the time of a rule. */
const DRAFT_TIME = new Date(0).toISOString()

/**
 * Adds drafts to the rules of an owner by validating them and applying the events that they would cause. A
 * draft with an id changes the stored rule with that id. A draft without an id is a new rule; in the result,
 * new rules have the ids -1, -2, … in the order of the drafts. See docs/decisions/rules.md, "Drafts are added
 * to the stored rules".
 */
async function addDrafts(
  stored: RuleSet,
  drafts: RuleDrafts,
  commandSet: RuleCommandSet,
  path: string,
): Promise<RuleSet> {
  let nextId = FIRST_DRAFT_ID
  const { ownerId, origin, position } = stored
  const draftedRules = toUserRules(stored)
  const record = { revision: -1, position, metadata: { time: DRAFT_TIME } }
  const draftedSet = (): RuleSet => ({
    ...toPastRuleSet(ownerId, draftedRules),
    ...(origin && { origin }),
  })
  const pendingEvents: RuleEvent[] = []
  const changes: { readonly path: string; readonly change: RuleChange }[] = []
  const slice = createCooperativeYield()

  function addDraft(kind: RuleKindName, { id, ...body }: RuleDraft, draftPath: string): void {
    const commands = commandSet[kind](ownerId, draftedSet)
    const change = id === undefined ? commands.create(body) : commands.update(id, body, anyRevision)
    changes.push({ path: draftPath, change })
    const events = change.decide(change.ruleId ?? nextId++)
    pendingEvents.push(...events)
    for (const event of events) evolveUserRules(draftedRules, event, record)
  }

  // Reading a body with many drafts takes a good part of a slice.
  await slice.yieldNow()
  for (const kind of RULE_KINDS) {
    for (const [index, draft] of (drafts[kind] ?? []).entries()) {
      const draftPath = `${path}.${kind}[${index}]`
      prefixErrors(draftPath, () => addDraft(kind, draft, draftPath))
      if (slice.isDue()) await slice.yieldNow()
    }
  }
  await slice.yieldNow()
  checkPatternSize(stored, pendingEvents)
  // What a write would refuse is refused here, too.
  for (const each of changes) await prefixRejection(each.path, each.change)
  const rules = draftedSet()
  // The patterns of drafts are compiled like those of stored rules.
  for (const kind of RULE_KINDS) await commandSet[kind](ownerId, () => rules).prepare()
  const { routing, firewall, tool } = rules
  return {
    ...rules,
    routing: routing.map(renumberDraft),
    firewall: firewall.map(renumberDraft),
    tool: tool.map(renumberDraft),
  }
}

function renumberDraft<Kind extends Rule>(rule: Kind): Kind {
  return rule.id < FIRST_DRAFT_ID ? rule : { ...rule, id: showDraftId(rule.id) }
}

/** Returns an id as it is shown: those of drafts are -1, -2, … */
export function showDraftId(id: number): number {
  return id < FIRST_DRAFT_ID ? id : FIRST_DRAFT_ID - id - 1
}

/** A new rule as it would be created. With an `id`, a change to the stored rule with that id. */
type RuleDraft = Static<typeof Draft>

export type RuleDrafts = Static<typeof DraftsByKind>

export type PolicyDraft = Static<typeof PolicyDraftSchema>

/** As whom and by which rules is decided. */
export interface CallerTerms {
  /** Undefined for the current rules and plan. */
  readonly asOf: AsOf | undefined
  readonly keyId: string | undefined
  readonly requestId: string | undefined
  readonly drafts: RuleDrafts
  readonly policyDrafts: readonly PolicyDraft[]
}

/** Takes the key and the position of what was recorded, unless others are asked for. */
export function completeFromRecord<Terms extends CallerTerms>(
  terms: Terms,
  { rulesPosition, keyId }: Pick<StoredRecord, 'rulesPosition' | 'keyId'>,
): Terms {
  const { asOf, drafts, policyDrafts } = terms
  if (asOf !== undefined || hasRules(drafts) || policyDrafts.length > 0) return terms
  return {
    ...terms,
    asOf: { type: 'position', position: rulesPosition, param: 'request_id' },
    keyId: terms.keyId ?? (keyId === '' ? undefined : keyId),
  }
}

export function hasRules(drafts: RuleDrafts): boolean {
  return Object.values(drafts).some((list) => list.length > 0)
}

/**
 * The caller's account and rules, now or as of the simulation's point in time, with its drafts added to the
 * rules.
 */
export async function snapshotSimulatedCaller(
  { asOf, keyId, drafts, policyDrafts }: CallerTerms,
  account: Account,
  services: AuditServices,
): Promise<CallerSnapshot & { readonly past?: CallerAt }> {
  const { callers, commands } = services
  const hasDrafts = hasRules(drafts)
  const { userId } = account
  if (asOf === undefined && !hasDrafts && policyDrafts.length === 0)
    return callers.snapshot(accountOfKey(account, keyId, services.accounts.user(userId)))
  const past = await callers.at(userId, asOf)
  const { user, rules, policies, policyPosition } = past
  if (user === undefined && services.accounts.user(userId) === undefined) throw userNotFoundError(userId)
  const stored = toPastRuleSet(userId, rules)
  return {
    // Before the user existed there was no plan: the current one shows what the drafts would do.
    account: {
      ...accountOfKey(account, keyId, user),
      plan: user?.plan ?? account.plan,
      position: user?.position ?? 0,
    },
    past,
    policies: await addPolicyDrafts(policies, policyDrafts, services),
    policyPosition,
    rules: hasDrafts ? await addDrafts(stored, drafts, commands, 'rules') : stored,
  }
}

/** The account of a request with a key of the user. Throws 404 if the user had no such key then. */
function accountOfKey(account: Account, keyId: string | undefined, user: User | undefined): Account {
  if (keyId === undefined || keyId === account.keyId) return account
  const key = user?.keys.find(({ id }) => id === keyId)
  if (user !== undefined && key !== undefined) return toAccount(user, key)
  throw new GatewayError('not_found', `key_id: key ${keyId} of user ${account.userId} was not found.`)
}

/** Adds drafts to the rules of policies, which then apply to the request whatever their settings are. */
async function addPolicyDrafts(
  ruleSets: readonly RuleSet[],
  drafts: readonly PolicyDraft[],
  { policies, policyCommands }: AuditServices,
): Promise<readonly RuleSet[]> {
  let drafted = ruleSets
  const order = new Map(policies.policies().map((known, place) => [known.id, place]))
  for (const [index, { policy_id: id, ...rules }] of drafts.entries()) {
    const policy = policies.policy(id)
    const path = `drafts.policies[${index}]`
    if (policy === undefined) throw createUnknownPolicyError(index, id)
    const stored = drafted.find(({ ownerId }) => ownerId === id) ?? policies.rulesOf(id)
    const changed = await addDrafts(stored, rules, policyCommands, path)
    drafted = [...drafted.filter(({ ownerId }) => ownerId !== id), changed].sort(
      (a, b) => (order.get(a.ownerId) ?? 0) - (order.get(b.ownerId) ?? 0),
    )
  }
  return drafted
}

export function createUnknownPolicyError(index: number, id: number): GatewayError {
  return new GatewayError('not_found', `drafts.policies[${index}]: policy ${id} was not found.`)
}

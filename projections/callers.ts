import { type Account, type EventLog, type Position, type RuleSet, service } from '../core/contract/index.ts'
import type { CallerSnapshot, CallerSource } from '../core/pipeline/inference.ts'
import type { AsOf } from '../core/util/as-of.ts'
import { createAccounts } from './accounts.ts'
import { groupStream } from './events/groups.ts'
import { policyStream } from './events/policies.ts'
import { evolveUserRules, isRuleEvent, type UserRules } from './events/rules.ts'
import type { User } from './events/users.ts'
import { createGroups } from './groups.ts'
import { eventsAsOf, foldInSlices, userStreams } from './history.ts'
import type { PastEvent, ReadPastEvents } from './past-events.ts'
import { createPolicies, type Policies } from './policies.ts'
import type { Projections } from './projections.ts'
import type { Routers } from './routers.ts'
import { emptyUserRules } from './rules.ts'
import type { Subscription } from './runtime/subscribe.ts'

/**
 * Returns a function that snapshots the caller's current account, policies and rules together. The caller was
 * authenticated before the body arrived, and the plan may have changed in the meantime. See
 * docs/decisions/rules.md, "Account and rules are captured together, once the body has been read".
 */
export function createCallerSnapshots({ accounts, rules, groups, policies, routers }: CallerState) {
  return (account: Account): CallerSnapshot => {
    const { userId } = account
    const user = accounts.user(userId)
    return {
      account: user ? { ...account, plan: user.plan, position: user.position } : account,
      policies: policies.ruleSetsFor(userId, groups.groupsOf(userId)),
      policyPosition: policyPositionOf(userId, { groups, policies, routers }),
      rules: rules.of(userId),
    }
  }
}

type CallerState = Pick<Projections, 'accounts' | 'rules' | 'groups' | 'policies'> & {
  readonly routers: Pick<Routers, 'activatedAt'>
}

/**
 * The position from which on the same policies apply to the user, with the same rules, and the same routers
 * are active. Changes of the user's groups are events of the user, except for the deletion of a group.
 */
function policyPositionOf(
  userId: number,
  { groups, policies, routers }: Pick<CallerState, 'groups' | 'policies' | 'routers'>,
): Position {
  const position = policies.position()
  const policyChange = position === 0 ? 0 : Math.max(position, groups.deletedAt(userId))
  return Math.max(policyChange, routers.activatedAt())
}

/** What decided about a user's requests at a point in time. The caller may modify `rules`. */
export interface CallerAt extends Pick<CallerSnapshot, 'policies' | 'policyPosition'> {
  /** Undefined before the user was created. */
  readonly user: User | undefined
  readonly rules: UserRules
  /** The user's groups. */
  readonly groups: readonly number[]
  readonly routers: PastRouters
}

type PastRouters = Pick<Routers, 'activationsOf' | 'version' | 'activatedAt'>

/** Folds events with the same functions as the live projections. */
async function foldCaller(
  userId: number,
  events: readonly PastEvent[],
  routers: PastRouters,
): Promise<CallerAt> {
  const [accounts, policies] = [createAccounts(), createPolicies()]
  const groups = createGroups((groupId) => policies.policyOfGroup(groupId)?.id)
  const rules = emptyUserRules()
  await foldInSlices(events, (event, record) => {
    if (isRuleEvent(event) && 'userId' in event.data) evolveUserRules(rules, event, record)
    for (const projection of [accounts, groups, policies]) projection.apply(event, record)
  })
  return {
    user: accounts.user(userId),
    rules,
    policies: policies.ruleSetsFor(userId, groups.groupsOf(userId)),
    policyPosition: policyPositionOf(userId, { groups, policies, routers }),
    groups: groups.groupsOf(userId),
    routers,
  }
}

/** How long a position is waited for before it counts as one in the future. */
const CATCH_UP_MS = 500

/** Reads the routers of a point in time. */
type ReadRoutersAt = (
  log: Pick<EventLog, 'read'>,
  subscription: Pick<Subscription, 'position'>,
  asOf: AsOf,
) => Promise<PastRouters>

type ReadCallerAt = (userId: number, asOf: AsOf | undefined) => Promise<CallerAt>

/**
 * Returns a function that reads a user, their rules, groups and policies as they were together, by default as
 * they are now. It throws 400 if `asOf` is in the future. See docs/decisions/policies.md, "The past is one
 * prefix of all streams that decide".
 */
export function createCallerHistory(
  log: Pick<EventLog, 'poll' | 'read'>,
  readPastEvents: ReadPastEvents,
  subscription: Pick<Subscription, 'position' | 'until'>,
  live: Pick<Policies, 'allIds' | 'rulesOf'>,
  routers: { readonly live: Pick<Routers, 'activations'> & PastRouters; readonly at: ReadRoutersAt },
  now: () => number = Date.now,
): ReadCallerAt {
  /** Policies are known up to the position of this node, which another node may be ahead of. */
  async function catchUp(position: Position): Promise<void> {
    if (position <= subscription.position()) return
    log.poll?.()
    await subscription.until(() => subscription.position() >= position, CATCH_UP_MS).catch(() => undefined)
  }

  async function readEvents(userId: number): Promise<readonly PastEvent[]> {
    const own = await readPastEvents(userStreams(userId))
    const groupIds = new Set(
      own.flatMap(({ event }) => (event?.type === 'UserAddedToGroup' ? event.data.groupId : [])),
    )
    const shared = await readPastEvents([
      ...live.allIds().map(policyStream),
      ...[...groupIds].map(groupStream),
    ])
    return [...own, ...shared].sort((a, b) => a.record.position - b.record.position)
  }

  /** The log is not read for routers that never decided. */
  async function readRouters(asOf: AsOf | undefined): Promise<PastRouters> {
    const isCurrent = asOf === undefined || routers.live.activations().length === 0
    return isCurrent ? routers.live : routers.at(log, subscription, asOf)
  }

  /** Replaces past rules that are still in force, because those are compiled already. */
  function useCurrent(past: RuleSet): RuleSet {
    const current = live.rulesOf(past.ownerId)
    const isSame = current.position === past.position && current.origin?.name === past.origin?.name
    return isSame ? current : { ...past, transient: true }
  }

  return async (userId, asOf) => {
    if (asOf?.type === 'position') await catchUp(asOf.position)
    const all = await readEvents(userId)
    const past = eventsAsOf(all, asOf, subscription.position(), now())
    const { policies, ...caller } = await foldCaller(userId, past, await readRouters(asOf))
    return { ...caller, policies: policies.map(useCurrent) }
  }
}

/** The accounts, policies and rules of callers, now and at an earlier position. */
export interface Callers extends CallerSource {
  readonly at: ReadCallerAt
}

export const Callers = service<Callers>('callers')

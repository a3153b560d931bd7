import {
  type EventLog,
  GatewayError,
  type Position,
  type RecordedEvent,
  type RuleSet,
} from '../core/contract/index.ts'
import type { AppliedChange } from '../core/http/change-headers.ts'
import type { AsOf } from '../core/util/as-of.ts'
import { createBackgroundYield, mapInSlices } from '../core/util/cooperative-yield.ts'
import { createAccounts } from './accounts.ts'
import { type DomainEvent, decodeEvent } from './events/registry.ts'
import { evolveUserRules, isRuleEvent, rulesStream, type UserRules } from './events/rules.ts'
import { type User, userStream } from './events/users.ts'
import { type PastEvent, readStreams } from './past-events.ts'
import { copyUserRules, emptyUserRules, toRuleSet } from './rules.ts'
import type { Subscription } from './runtime/subscribe.ts'

/** A user's past state. `user` is undefined before the user was created. The caller may modify `rules`. */
interface UserAt {
  readonly user: User | undefined
  readonly rules: UserRules
}

/**
 * Past states of users, or of policies, read from the log on demand. See docs/decisions/event-log.md,
 * "History is read from the log on demand".
 */
export interface History {
  /**
   * All events about a user, their keys and their rules, or about a policy and its rules, in log order,
   * optionally up to a point in time.
   */
  eventsOf(ownerId: number, asOf?: AsOf): Promise<readonly PastEvent[]>
  /** Throws 400 if `asOf` is in the future. */
  rulesOf(ownerId: number, asOf: AsOf): Promise<RuleSet>
  /** The events of one change. */
  eventsOfChange(change: AppliedChange): Promise<readonly PastEvent[]>
}

export function createHistory(
  log: EventLog,
  subscription: Pick<Subscription, 'position'>,
  now: () => number = Date.now,
  readEvents: (ownerId: number) => Promise<readonly PastEvent[]> = (userId) =>
    readStreams(log, userStreams(userId)),
): History {
  async function eventsOf(ownerId: number, asOf?: AsOf): Promise<readonly PastEvent[]> {
    return eventsAsOf(await readEvents(ownerId), asOf, subscription.position(), now())
  }

  return {
    eventsOf,
    async rulesOf(ownerId, asOf) {
      const { rules } = await foldUser(ownerId, await eventsOf(ownerId, asOf))
      return toPastRuleSet(ownerId, rules)
    },
    eventsOfChange: (change) => readChange(log, change),
  }
}

/** Past events of single streams. */
export interface StreamHistory extends Pick<History, 'eventsOfChange'> {
  /** Throws 400 if `asOf` is in the future. */
  eventsOf(stream: string, asOf?: AsOf): Promise<readonly PastEvent[]>
}

export function createStreamHistory(
  log: Pick<EventLog, 'read'>,
  subscription: Pick<Subscription, 'position'>,
): StreamHistory {
  return {
    eventsOf: async (stream, asOf) =>
      eventsAsOf(await readStreams(log, [stream]), asOf, subscription.position(), Date.now()),
    eventsOfChange: (change) => readChange(log, change),
  }
}

/**
 * The events up to `asOf`, by default all. `position` is the newest one that was applied, `now` the time in
 * Unix milliseconds. Throws 400 if `asOf` is in the future.
 */
export function eventsAsOf(
  events: readonly PastEvent[],
  asOf: AsOf | undefined,
  position: Position,
  now: number,
): readonly PastEvent[] {
  if (asOf === undefined) return events
  checkNotInFuture(asOf, position, now, events)
  return eventsUpTo(events, asOf, now)
}

/** Folds events with the same functions as the live projections. */
export async function foldUser(userId: number, events: readonly PastEvent[]): Promise<UserAt> {
  const accounts = createAccounts()
  const rules = emptyUserRules()
  await foldInSlices(events, (event, record) => {
    if (isRuleEvent(event)) evolveUserRules(rules, event, record)
    else accounts.apply(event, record)
  })
  return { user: accounts.user(userId), rules }
}

/**
 * Folds the rules after two prefixes of the same events. Rules that did not change between them are the same
 * objects.
 */
export async function foldRulesTwice(
  first: readonly PastEvent[],
  second: readonly PastEvent[],
): Promise<readonly [UserRules, UserRules]> {
  const [shorter, longer] = first.length < second.length ? [first, second] : [second, first]
  const earlier = await foldRules(emptyUserRules(), shorter)
  const later = await foldRules(copyUserRules(earlier), longer.slice(shorter.length))
  return first === shorter ? [earlier, later] : [later, earlier]
}

/** Applies the events of rules. */
export async function foldRules(rules: UserRules, events: readonly PastEvent[]): Promise<UserRules> {
  await foldInSlices(events, (event, record) => {
    if (isRuleEvent(event)) evolveUserRules(rules, event, record)
  })
  return rules
}

/** Applies the events that this version can decode, in slices: a history may have many thousands. */
export async function foldInSlices(
  events: readonly PastEvent[],
  apply: (event: DomainEvent, record: RecordedEvent) => void,
): Promise<void> {
  await mapInSlices(
    events,
    ({ event, record }) => {
      if (event !== undefined) apply(event, record)
    },
    createBackgroundYield(),
  )
}

/**
 * Returns past rules as a rule set that is marked transient, so that what is compiled from it is not cached.
 */
export function toPastRuleSet(userId: number, rules: UserRules): RuleSet {
  return { ...toRuleSet(userId, rules), transient: true }
}

/** A time counts as now this long, because a request takes a while to arrive. */
const PRESENT_MS = 1000

/**
 * The events up to `asOf`. For a time, that is up to the last event whose time is not later. Events whose
 * time is later than `now`, because the clock was set back, count as made now. See
 * docs/decisions/event-log.md, "A timestamp names a prefix of the log, not a filter".
 */
export function eventsUpTo(events: readonly PastEvent[], asOf: AsOf, now: number): readonly PastEvent[] {
  const count = 1 + events.findLastIndex(({ record }) => isNotAfter(record, asOf))
  if (count === events.length || asOf.type === 'position') return events.slice(0, count)
  const latest = latestTime(now)
  const isPresent = asOf.time >= formatTime(now - PRESENT_MS) && asOf.time <= latest
  return isPresent && events.slice(count).every(({ record }) => record.metadata.time > latest)
    ? events
    : events.slice(0, count)
}

function isNotAfter({ position, metadata }: RecordedEvent, asOf: AsOf): boolean {
  return asOf.type === 'position' ? position <= asOf.position : metadata.time <= asOf.time
}

/** Reads the events of one change. */
async function readChange(
  log: Pick<EventLog, 'read'>,
  { stream, revision }: AppliedChange,
): Promise<readonly PastEvent[]> {
  const events: PastEvent[] = []
  let key: string | undefined
  for await (const record of log.read(stream, revision)) {
    key ??= record.metadata.idempotency?.key
    if (record.metadata.idempotency?.key !== key) break
    events.push({ record, event: decodeEvent(record) })
  }
  return events
}

/** The streams with all events about a user. */
export function userStreams(userId: number): readonly string[] {
  return [userStream(userId), rulesStream(userId)]
}

/**
 * Throws 400 if `asOf` is in the future. Events in the log are never in the future, even if this node's
 * projections or its clock are behind.
 */
export function checkNotInFuture(
  asOf: AsOf,
  position: Position,
  now: number,
  events: readonly PastEvent[],
): void {
  if (asOf.type === 'position') {
    const lastPosition = Math.max(position, ...events.slice(-1).map(({ record }) => record.position))
    if (asOf.position <= lastPosition) return
  } else {
    if (asOf.time <= latestTime(now)) return
    if (events.some(({ record }) => asOf.time <= record.metadata.time)) return
  }
  const message = `${asOf.param} must not be in the future: use a past log position or time.`
  throw new GatewayError('invalid_value', message, { param: asOf.param })
}

/** The latest time that is not in the future: a clock of milliseconds is up to one millisecond behind. */
function latestTime(now: number): string {
  return formatTime(now + 1)
}

/** Formats Unix milliseconds like the times of events. */
function formatTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('Z', '000Z')
}

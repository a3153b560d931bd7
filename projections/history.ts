import {
  type Account,
  type EventLog,
  GatewayError,
  type Position,
  type RecordedEvent,
  type RuleSet,
} from '../core/contract/index.ts'
import { type DomainEvent, decodeEvent, isRuleEvent } from '../core/events/codec.ts'
import { rulesStream, userStream } from '../core/events/domain-events.ts'
import type { AsOf } from '../core/util/as-of.ts'
import { type Accounts, createAccounts, type User } from './accounts.ts'
import type { Rules } from './rules.ts'
import type { Subscription } from './runtime/subscribe.ts'
import { emptyUserRules, evolveUserRules, toRuleSet, type UserRules } from './user-rules.ts'

/** What happened; `event` is undefined for a type or shape that only a newer node knows. */
export interface PastEvent {
  readonly record: RecordedEvent
  readonly event: DomainEvent | undefined
}

/** A user as they were: undefined before there was one. `book` holds their rules and is the caller's to change. */
interface UserAt {
  readonly user: User | undefined
  readonly rules: UserRules
}

/** What has been, read from the log when it is asked for. */
export interface History {
  /** Everything that happened to a user, their keys and their rules, in log order; up to a moment where one is given. */
  eventsOf(userId: number, moment?: AsOf): Promise<readonly PastEvent[]>
  /** Throws 400 for a moment that has not come. */
  rulesOf(userId: number, moment: AsOf): Promise<RuleSet>
}

export function createHistory(
  log: EventLog,
  live: Subscription,
  milliseconds: () => number = Date.now,
): History {
  async function eventsOf(userId: number, moment?: AsOf): Promise<readonly PastEvent[]> {
    const events = await readEvents(log, userId)
    if (moment === undefined) return events
    refuseFuture(moment, live.position(), milliseconds(), events)
    return eventsUpTo(events, moment)
  }

  return {
    eventsOf,
    async rulesOf(userId, moment) {
      return toPastRuleSet(userId, foldUser(userId, await eventsOf(userId, moment)).rules)
    },
  }
}

/** The user that the events make, by the same steps as those of the running gateway. */
export function foldUser(userId: number, events: readonly PastEvent[]): UserAt {
  const accounts = createAccounts()
  const book = emptyUserRules()
  for (const { event, record } of events) {
    if (event === undefined) continue
    if (isRuleEvent(event)) evolveUserRules(book, event, record)
    else accounts.apply(event, record)
  }
  return { user: accounts.user(userId), rules: book }
}

/** A past book as a set of rules. */
export function toPastRuleSet(userId: number, book: UserRules): RuleSet {
  return { ...toRuleSet(userId, book), transient: true }
}

/** The events up to a moment; for a time that is up to the last one that is not later. */
export function eventsUpTo(events: readonly PastEvent[], moment: AsOf): readonly PastEvent[] {
  return events.slice(0, 1 + events.findLastIndex(({ record }) => isReached(record, moment)))
}

function isReached({ position, metadata }: RecordedEvent, moment: AsOf): boolean {
  return moment.type === 'position' ? position <= moment.position : metadata.time <= moment.time
}

async function readEvents(log: EventLog, userId: number): Promise<readonly PastEvent[]> {
  const events: PastEvent[] = []
  for (const stream of [userStream(userId), rulesStream(userId)]) {
    for await (const record of log.read(stream)) events.push({ record, event: decodeEvent(record) })
  }
  return events.sort((a, b) => a.record.position - b.record.position)
}

/**
 * What is in the log has come, even where this node's projections or its clock are behind. A clock of milliseconds is behind
 * by up to one.
 */
function refuseFuture(
  moment: AsOf,
  position: Position,
  milliseconds: number,
  events: readonly PastEvent[],
): void {
  if (moment.type === 'position') {
    if (moment.position <= Math.max(position, ...events.slice(-1).map(({ record }) => record.position)))
      return
  } else {
    if (moment.time <= new Date(milliseconds + 1).toISOString().replace('Z', '000Z')) return
    if (events.some(({ record }) => moment.time <= record.metadata.time)) return
  }
  const message = `${moment.param} has not come yet: give a position or a time of the past.`
  throw new GatewayError('invalid_value', message, { param: moment.param })
}

/**
 * The caller's account and rules as they are now, both of one moment: since the caller was recognised, a slow body may have
 * come in, and the plan may have changed meanwhile.
 */
export function createCallerSnapshots(accounts: Accounts, rules: Rules) {
  return (account: Account): { account: Account; rules: RuleSet } => {
    const user = accounts.user(account.userId)
    const present = user ? { ...account, plan: user.plan, position: user.position } : account
    return { account: present, rules: rules.of(account.userId) }
  }
}

import type { RuleOwner } from '../../projections/events/rules.ts'
import type { Groups } from '../../projections/groups.ts'
import type { Subscription } from '../../projections/runtime/subscribe.ts'
import type { RuleHistory } from '../rules/index.ts'
import type { HistoryCall, HistoryResult, Present } from './history-methods.ts'
import type { HistoryThread } from './history-thread.ts'

interface RuleHistoryOptions {
  readonly subscription: Pick<Subscription, 'position' | 'checkAvailable'>
  readonly groups: Pick<Groups, 'withoutEffect'>
  /** Answers in this thread. */
  readonly readHere: (call: HistoryCall, present: Present) => Promise<HistoryResult>
  /** Undefined if no thread can open the event log. */
  readonly thread: HistoryThread | undefined
  /** The number of events about an owner. */
  readonly countEvents: (owner: RuleOwner) => number
  readonly now?: () => number
}

/**
 * Shorter histories are read in this thread, because that takes a few milliseconds, in slices: less than the
 * start of a thread, and than the memory that it needs is worth.
 */
const MIN_EVENTS_FOR_THREAD = 500

/** See docs/decisions/event-log.md, "Long histories are read in a thread of their own". */
export function createRuleHistory(options: RuleHistoryOptions): RuleHistory {
  const { subscription, groups, readHere, thread, countEvents, now = Date.now } = options

  async function read(call: HistoryCall, signal: AbortSignal): Promise<HistoryResult> {
    subscription.checkAvailable()
    const present = { position: subscription.position(), time: now(), lostRaces: groups.withoutEffect() }
    const isLong = countEvents(call.query.owner) >= MIN_EVENTS_FOR_THREAD
    return isLong && thread ? thread.read(call, present, signal) : readHere(call, present)
  }

  const createMethod = (method: keyof RuleHistory) => (query: object, signal: AbortSignal) =>
    read({ method, query } as HistoryCall, signal)
  // The cast is safe: each call has the result of its method.
  return {
    list: createMethod('list'),
    find: createMethod('find'),
    diff: createMethod('diff'),
    changes: createMethod('changes'),
    page: createMethod('page'),
  } as RuleHistory
}

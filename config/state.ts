import { join } from 'node:path'
import type { Logger } from 'pino'
import type { EventLog } from '../core/contract/index.ts'
import { openSqliteLog } from '../core/event-log/sqlite/sqlite-log.ts'
import { EXPIRING_STREAMS, FOLLOWED_STREAMS } from '../core/events/streams.ts'
import { retryWhileUnavailable } from '../core/process/retry.ts'
import { untilAborted } from '../core/process/timeout.ts'
import { createClock } from '../core/util/clock.ts'
import { type AccountCommands, createAccountCommands } from '../plugins/auth/account-commands.ts'
import type { Accounts } from '../projections/accounts.ts'
import { createIdSource, type IdSource } from '../projections/ids.ts'
import { listProjections } from '../projections/projections.ts'
import type { Rules } from '../projections/rules.ts'
import { type Subscription, subscribeProjections } from '../projections/runtime/subscribe.ts'
import { createEventWriter, type EventWriter, type EventWriterOptions } from '../projections/runtime/write.ts'
import { restoreProjections } from '../projections/snapshots/restore.ts'
import { scheduleSnapshots } from '../projections/snapshots/schedule.ts'
import type { Settings } from './settings/settings.ts'

/** The event log and everything that is rebuilt from it: what the gateway and the command line both work on. */
export interface State {
  readonly log: EventLog
  readonly subscription: Subscription
  readonly accounts: Accounts
  readonly rules: Rules
  readonly ids: IdSource
  readonly writer: EventWriter
  readonly accountCommands: AccountCommands
  close(): Promise<void>
}

export type StateSettings = LogSettings & Pick<Settings, 'snapshots'>

/** Opens the log and resolves when the projections have caught up with it. Rejects when the log is away. */
export function openState(settings: StateSettings, logger: Logger): Promise<State> {
  return open(settings, logger)
}

/** What a process that stays does more. */
export interface LongRunningOptions extends Pick<EventWriterOptions, 'broadcastPosition'> {
  readonly signal: AbortSignal
  /** Makes of the log the one that is worked with. */
  readonly decorateLog: (log: EventLog) => EventLog
  readonly takesSnapshots: boolean
}

/** As `openState`, for a process that stays: waits for a log that is away until the signal aborts. */
export function openLongRunningState(
  settings: StateSettings,
  logger: Logger,
  lasting: LongRunningOptions,
): Promise<State> {
  return retryWhileUnavailable(() => open(settings, logger, lasting), logger, lasting.signal)
}

async function open(settings: StateSettings, logger: Logger, lasting?: LongRunningOptions): Promise<State> {
  const folder = join(settings.data_dir, 'snapshots')
  const bare = await openLog(settings)
  const log = lasting ? lasting.decorateLog(bare) : bare
  const opened: { close(): Promise<void> }[] = [log]
  const close = async () => {
    for (const part of opened.splice(0).toReversed()) await part.close()
  }
  try {
    const { projections, position } = await restoreProjections(folder, log, logger)
    const list = listProjections(projections)
    const subscription = subscribeProjections(log, list, logger, position)
    opened.push(subscription)
    await untilAborted(subscription.caughtUp, lasting?.signal)
    if (lasting?.takesSnapshots) {
      const everyEvents = settings.snapshots.every_events
      const keeper = scheduleSnapshots(subscription, list, { folder, everyEvents, logger })
      // The last snapshot is taken when nothing is applied any more.
      opened.splice(1, 0, keeper)
    }
    const { accounts, rules } = projections
    const writer = createEventWriter(log, subscription, createClock(), {
      broadcastPosition: lasting?.broadcastPosition,
    })
    const ids = createIdSource(projections.ids, writer)
    const accountCommands = createAccountCommands(accounts, ids, writer)
    return { log, subscription, accounts, rules, ids, writer, accountCommands, close }
  } catch (error) {
    await close()
    throw error
  }
}

export type LogSettings = Pick<Settings, 'data_dir' | 'eventstore_url'>

/** Opens the log that the settings name. Rejects with `LogUnavailable`. */
export async function openLog({ data_dir, eventstore_url }: LogSettings): Promise<EventLog> {
  if (!eventstore_url) return openSqliteLog({ directory: data_dir, expiringStreams: EXPIRING_STREAMS })
  // Its client is a third of all that a start would load.
  const { openEventStoreLog } = await import('../core/event-log/eventstore/eventstore-log.ts')
  return openEventStoreLog({
    connectionString: eventstore_url,
    followedStreams: FOLLOWED_STREAMS,
    expiringStreams: EXPIRING_STREAMS,
  })
}

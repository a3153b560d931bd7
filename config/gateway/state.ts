import { join, resolve } from 'node:path'
import type { Logger } from 'pino'
import type { EventLog } from '../../core/contract/index.ts'
import { quickCheckHistory } from '../../core/event-log/sqlite/check-file.ts'
import {
  createDamagedFileError,
  HISTORY_FILE,
  lacksHistory,
  listLeftovers,
  readFolderIdentity,
  writeFolderIdentity,
} from '../../core/event-log/sqlite/check-folder.ts'
import { listSetAside } from '../../core/event-log/sqlite/damaged-files.ts'
import { openSqliteLog, type SqliteLogOptions } from '../../core/event-log/sqlite/sqlite-log.ts'
import { ensureLogId } from '../../core/events/log-events.ts'
import { retryWhileUnavailable } from '../../core/threads/retry.ts'
import { untilAborted } from '../../core/threads/timeout.ts'
import { type Clock, createClock } from '../../core/util/clock.ts'
import { makeFolderPrivate } from '../../core/util/files.ts'
import { FOLLOWED_STREAMS, RESERVED_TYPES, UNFOLLOWED_STREAMS } from '../../projections/events/streams.ts'
import { createStreamHistory } from '../../projections/history.ts'
import { createIdSource } from '../../projections/ids.ts'
import { listProjections, listSaved } from '../../projections/projections.ts'
import { guardLog } from '../../projections/runtime/guard-log.ts'
import { type Subscription, subscribeProjections } from '../../projections/runtime/subscribe.ts'
import { createEventWriter, type EventWriterOptions } from '../../projections/runtime/write.ts'
import { restoreProjections } from '../../projections/snapshots/restore.ts'
import { scheduleSnapshots } from '../../projections/snapshots/schedule.ts'
import type { GatewayState } from '../../projections/state.ts'
import { createEvidence } from '../../projections/transparency/evidence.ts'
import { scheduleCheckpoints } from '../../projections/transparency/schedule.ts'
import type { Settings } from '../settings/settings.ts'

/** The state of a process that has opened the event log. */
export interface OpenState extends GatewayState {
  close(): Promise<void>
}

type StateSettings = LogSettings & Pick<Settings, 'snapshots' | 'audit'>

/**
 * Opens the event log of a command and resolves when the projections have caught up with it. Rejects with an
 * `EventLogUnavailableError` if the log is unavailable, and if there is none.
 */
export async function openState(settings: StateSettings, logger: Logger): Promise<OpenState> {
  requireLog(settings)
  return openAndCatchUp(settings, logger)
}

/** Throws unless the data folder of an embedded event log has one. Commands work on what a start created. */
export function requireLog({ data_dir, eventstore_url }: LogSettings): void {
  // The log names what is missing in a folder that had one.
  if (eventstore_url || !lacksHistory(data_dir) || listLeftovers(data_dir).length > 0) return
  throw new Error(
    `There is no gateway in ${resolve(data_dir)}: the folder has no ${HISTORY_FILE}. Name the data folder ` +
      'of the gateway with DATA_DIR, or create one with "signalbox start". Nothing was changed.',
  )
}

/** Options of a process that keeps running, unlike a command. */
interface LongRunningOptions extends Pick<EventWriterOptions, 'broadcastPosition'> {
  readonly signal: AbortSignal
  /** Opens another event log than the one that the settings name. */
  readonly openLog?: (() => Promise<EventLog>) | undefined
  /** Wraps the event log, for example to record metrics. */
  readonly decorateLog: (log: EventLog) => EventLog
  readonly takesSnapshots: boolean
  /** The times of events. Default: the system's. */
  readonly clock?: Clock
}

/**
 * As `openState`, for a process that keeps running: retries while the log is unavailable, until the signal
 * aborts.
 */
export function openLongRunningState(
  settings: StateSettings,
  logger: Logger,
  options: LongRunningOptions,
): Promise<OpenState> {
  return retryWhileUnavailable(() => openAndCatchUp(settings, logger, options), logger, options.signal)
}

async function openAndCatchUp(
  settings: StateSettings,
  logger: Logger,
  options?: LongRunningOptions,
): Promise<OpenState> {
  const folder = join(settings.data_dir, 'snapshots')
  const rawLog = await (options?.openLog?.() ?? openLog(settings, { delivers: 'stored-events', logger }))
  const log = options ? options.decorateLog(rawLog) : rawLog
  const opened: { close(): Promise<void> }[] = [log]
  const close = async () => {
    for (const part of opened.splice(0).toReversed()) await part.close()
  }
  try {
    const clock = options?.clock ?? createClock()
    const logId = await ensureLogId(log, clock())
    if (!options?.openLog) await claimFolder(settings, logId, logger)
    const { projections, newest } = await restoreProjections(folder, log, logId, logger)
    const list = listProjections(projections)
    const subscription = subscribeProjections(log, list, logger, {
      logId,
      newest,
      health: projections.streams,
    })
    const evidencePlace = { dataDir: settings.data_dir, logId, clock, logger }
    opened.push(subscription)
    await untilAborted(subscription.caughtUp, options?.signal)
    if (options?.takesSnapshots) {
      const everyEvents = settings.snapshots.every_events
      const keeper = scheduleSnapshots(subscription, listSaved(projections), {
        folder,
        everyEvents,
        logId,
        logger,
      })
      const signer = scheduleCheckpoints(subscription, log, evidencePlace)
      // Closed after the subscription, so that the final snapshot is taken when no more events are applied.
      opened.splice(1, 0, signer, keeper)
    }
    // A start without a snapshot has read every event.
    if (options && !options.openLog && !settings.eventstore_url && newest)
      opened.push(watchForDamage(settings.data_dir, subscription, logger))
    const { accounts, rules, groups, policies, streams, idempotency, overallBudget } = projections
    const { approvals, grants, identities, operators, timeline, routers, toolServers } = projections
    const guarded = guardLog(log, subscription)
    const writer = createEventWriter(guarded, subscription, clock, {
      broadcastPosition: options?.broadcastPosition,
      findKnownRequest: idempotency.find,
      requiresReason: settings.audit.require_reason,
    })
    const ids = createIdSource(projections.ids, writer, idempotency.find)
    return {
      logId,
      log: guarded,
      streams,
      subscription,
      accounts,
      rules,
      groups,
      policies,
      ids,
      overallBudget,
      writer,
      approvals,
      grants,
      identities,
      operators,
      timeline,
      routers,
      toolServers,
      history: createStreamHistory(guarded, subscription),
      findKnownRequest: idempotency.find,
      evidence: createEvidence(guarded, evidencePlace),
      async damagedFiles() {
        const files = await listSetAside(settings.data_dir)
        return subscription.state() === 'damaged' ? [...files, HISTORY_FILE] : files
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** The check must not slow down the start. */
const CHECK_DELAY_MS = 1000

/**
 * Checks the file of the log once: events that a snapshot covers have not been read, so damage to them would
 * be found too late.
 */
function watchForDamage(
  directory: string,
  subscription: Subscription,
  logger: Logger,
): { close(): Promise<void> } {
  const closing = new AbortController()
  const check = async () => {
    const issue = await quickCheckHistory(directory, closing.signal)
    if (issue !== undefined)
      subscription.noteDamage(createDamagedFileError(join(directory, HISTORY_FILE), issue))
  }
  const timer = setTimeout(() => {
    check().catch((err) => logger.warn({ err }, 'event log could not be checked for damage'))
  }, CHECK_DELAY_MS).unref()
  return {
    async close() {
      clearTimeout(timer)
      closing.abort()
    },
  }
}

/** Notes in the data folder which log it belongs to. What is in it of another log is not used. */
async function claimFolder(
  { data_dir, eventstore_url }: LogSettings,
  id: string,
  logger: Logger,
): Promise<void> {
  const store = eventstore_url ? 'server' : 'embedded'
  const previous = readFolderIdentity(data_dir)
  if (previous?.id === id && previous.store === store) return
  if (previous)
    logger.warn(
      { folder: data_dir, previous: previous.id, current: id },
      'the data folder belonged to another event log; its snapshots are not used',
    )
  await writeFolderIdentity(data_dir, { id, store })
}

/** Events name users, and rules hold patterns: other users of the machine must not read them. */
async function protectFolder(folder: string, logger?: Logger): Promise<void> {
  // A folder that cannot be created or read is reported by whatever opens it.
  const unprotected = await makeFolderPrivate(folder).catch(() => [])
  if (unprotected.length > 0)
    logger?.warn({ paths: unprotected.slice(0, 10) }, 'other users of this machine can read the data folder')
}

export type LogSettings = Pick<Settings, 'data_dir' | 'eventstore_url'>

/**
 * Opens the event log that is configured. Rejects with an `EventLogUnavailableError`. `ordersAppends`
 * keeps the order of concurrent appends on a server, as on the embedded log.
 * `delivers`: see `SqliteLogOptions`.
 */
export async function openLog(
  { data_dir, eventstore_url }: LogSettings,
  {
    ordersAppends = false,
    delivers = 'events',
    logger,
  }: Pick<SqliteLogOptions, 'delivers'> & { ordersAppends?: boolean; logger?: Logger } = {},
): Promise<EventLog> {
  await protectFolder(data_dir, logger)
  if (!eventstore_url)
    return openSqliteLog({
      directory: data_dir,
      delivers,
      unfollowedStreams: UNFOLLOWED_STREAMS,
      reservedTypes: RESERVED_TYPES,
    })
  // Imported on demand: the client is a third of the code that a start would load.
  const { openEventStoreLog } = await import('../../core/event-log/eventstore/eventstore-log.ts')
  return openEventStoreLog({
    connectionString: eventstore_url,
    followedStreams: FOLLOWED_STREAMS,
    unfollowedStreams: UNFOLLOWED_STREAMS,
    ordersAppends,
  })
}

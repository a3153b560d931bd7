import { workerData } from 'node:worker_threads'
import { type EventLog, EventLogUnavailableError } from '../../core/contract/index.ts'
import { openStreamReader } from '../../core/event-log/sqlite/stream-reader.ts'
import { readLogId } from '../../core/events/log-events.ts'
import { createOperatorRegistry } from '../../core/pipeline/registries.ts'
import { serveThread } from '../../core/threads/thread.ts'
import { currentThreadId, lowerThreadPriority } from '../../core/threads/thread-cpu.ts'
import { createHistoryMethods } from '../../plugins/audit/history-methods.ts'
import { serveHistory } from '../../plugins/audit/history-protocol.ts'
import { createFirewallRuleKind } from '../../plugins/firewall/rule-kind.ts'
import { createRoutingRuleKind } from '../../plugins/routing/rule-kind.ts'
import { toolRules } from '../../plugins/tool-rules/rule-kind.ts'
import { FOLLOWED_STREAMS } from '../../projections/events/streams.ts'
import { createPastEventReader } from '../../projections/past-events.ts'
import type { RuleHistoryWorkerData } from './rule-history-thread.ts'

/**
 * Thread that reads long histories of rules, on a connection of its own. Live requests run first. See
 * docs/decisions/event-log.md, "Long histories are read in a thread of their own".
 */

const { log: settings, logId }: RuleHistoryWorkerData = workerData
/** A third of the time of threads that serve requests while the CPUs are busy: somebody waits for answers. */
const PRIORITY = 5
lowerThreadPriority(currentThreadId(), PRIORITY)

async function openLog(): Promise<Pick<EventLog, 'read'>> {
  const log = await openReader()
  if ((await readLogId(log)) === logId) return log
  throw new EventLogUnavailableError('the event log is not the one that the gateway serves')
}

async function openReader(): Promise<Pick<EventLog, 'read'>> {
  if (!settings.eventstore_url) return openStreamReader(settings.data_dir)
  const { openEventStoreLog } = await import('../../core/event-log/eventstore/eventstore-log.ts')
  return openEventStoreLog({
    connectionString: settings.eventstore_url,
    followedStreams: FOLLOWED_STREAMS,
  })
}

/** Rules are only shown, for which no operators are needed. */
const kinds = {
  routing: createRoutingRuleKind(createOperatorRegistry()),
  firewall: createFirewallRuleKind(false),
  tool: toolRules,
}

const reading = openLog().then((log) => createHistoryMethods(createPastEventReader(log), kinds))
// Each call reports it.
reading.catch(() => undefined)

serveThread(serveHistory(async (call, present) => (await reading)(call, present)))

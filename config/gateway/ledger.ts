import { join } from 'node:path'
import type { Logger } from 'pino'
import { parseEncryptionKeys } from '../../core/secrets/encryption-keys.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import type { Ledger, LedgerOptions } from '../../plugins/ledger/store/methods.ts'
import { createThreadLedger } from '../../plugins/ledger/store/thread.ts'
import type { Settings, SettingsData } from '../settings/settings.ts'
import type { ClusterPeer } from './cluster-peer.ts'

/** Opens the request ledger of an event log: in the primary of the cluster, or in this process. */
export function openLedger(
  settings: Settings,
  logId: string,
  peer: ClusterPeer | undefined,
  logger: Logger,
): Ledger | Promise<Ledger> {
  return peer?.openLedger(logId) ?? openOwnLedger(settings, logId, logger)
}

/** Opens the ledger in a thread of this process, when it is first used. */
export function openOwnLedger(settings: Settings, logId: string, logger: Logger): Ledger {
  const ledger = createThreadLedger(toLedgerOptions(settings, logId), logger)
  // A wrong address is reported at the start, not with the first request.
  if (settings.ledger_url)
    ledger
      .find('')
      .catch((error) => logger.error({ reason: errorMessage(error) }, 'request ledger unavailable'))
  return ledger
}

/** Where the ledger of an event log is, and how it is read. */
export function toLedgerOptions(
  { data_dir, ledger_url, record_key, ledger: limits }: SettingsData,
  logId: string,
): LedgerOptions {
  return {
    location: ledger_url
      ? { engine: 'postgres', url: ledger_url }
      : { engine: 'sqlite', file: join(data_dir, 'ledger.db') },
    logId,
    retention: {
      requestDays: limits.retention_days,
      promptDays: limits.prompt_retention_days,
      usageDays: limits.usage_retention_days,
    },
    keys: record_key ? parseEncryptionKeys(record_key) : [],
  }
}

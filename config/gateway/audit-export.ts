import { join } from 'node:path'
import type { Logger } from 'pino'
import { startAuditExport } from '../../plugins/audit/export/exporter.ts'
import { createPositionFile } from '../../plugins/audit/export/position-file.ts'
import { createFolderTarget, createWebhookTarget } from '../../plugins/audit/export/targets.ts'
import { createLostRaceFinder } from '../../plugins/audit/lost-races.ts'
import type { Settings } from '../settings/settings.ts'
import type { OpenState } from './state.ts'

/** Starts the configured export of the audit trail. Returns undefined if there is none. */
export function openAuditExport(settings: Settings, state: OpenState, logger: Logger) {
  const { log, logId } = state
  const { webhook_url, folder } = settings.audit.export ?? {}
  if (webhook_url === undefined && folder === undefined) return undefined
  const target =
    webhook_url === undefined
      ? createFolderTarget(folder ?? '')
      : createWebhookTarget(webhook_url, settings.audit_export_secret ?? '', logId)
  const file = join(settings.data_dir, 'audit-export.json')
  const positions = createPositionFile(file, logId, target.id)
  return startAuditExport({ log, findLostRace: createLostRaceFinder(state), target, positions, logger })
}

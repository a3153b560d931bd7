import { hash } from 'node:crypto'
import { mkdir, open } from 'node:fs/promises'
import path from 'node:path'
import { createSignedWebhook } from '../../../providers/shared/signed-webhook.ts'

/** An entry as it is exported. */
export interface ExportedEntry {
  readonly position: number
  readonly time: string
  /** The entry in JSON. */
  readonly text: string
}

/** Where entries of the audit trail go. */
export interface ExportTarget {
  /** Names the target in the log, without what may be secret. */
  readonly name: string
  /** Tells one target from another, without saying where it is. */
  readonly id: string
  /** Resolves when the target has the entries. They may be sent again, with the same positions. */
  send(entries: readonly ExportedEntry[], signal: AbortSignal): Promise<void>
}

/** Creates a target that posts `{log, entries}` with a signature. */
export function createWebhookTarget(url: string, secret: string, logId: string): ExportTarget {
  const webhook = createSignedWebhook(url, secret)
  return {
    name: webhook.origin,
    id: hash('sha256', url),
    send(entries, signal) {
      const body = `{"log":${JSON.stringify(logId)},"entries":[${entries.map(({ text }) => text).join()}]}`
      const id = `${logId}.${entries[0]?.position}-${entries.at(-1)?.position}`
      return webhook.post(id, body, signal)
    },
  }
}

/** Creates a target that appends JSON lines to a file per day (UTC) in a folder. */
export function createFolderTarget(folder: string): ExportTarget {
  return {
    name: path.resolve(folder),
    id: hash('sha256', path.resolve(folder)),
    async send(entries) {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      for (const [day, lines] of groupByDay(entries)) {
        const file = await open(path.join(folder, `audit-${day}.jsonl`), 'a', 0o600)
        try {
          await file.appendFile(lines)
          await file.sync()
        } finally {
          await file.close()
        }
      }
    },
  }
}

function groupByDay(entries: readonly ExportedEntry[]): ReadonlyMap<string, string> {
  const byDay = new Map<string, string>()
  for (const { time, text } of entries) {
    const day = time.slice(0, 10)
    byDay.set(day, `${byDay.get(day) ?? ''}${text}\n`)
  }
  return byDay
}

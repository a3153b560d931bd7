import { createHmac, hash } from 'node:crypto'
import { mkdir, open } from 'node:fs/promises'
import path from 'node:path'
import { createPool } from '../../../providers/shared/connection.ts'
import { fetchWhole, isErrorStatus } from '../../../providers/shared/http.ts'

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

const TIMEOUT_MS = 10_000

/** What a webhook answers is not used. */
const ANSWER_LIMIT = { maxBytes: 64 * 1024, isCutOff: true }

/**
 * Creates a target that posts `{log, entries}`, signed as in the specification Standard Webhooks: the header
 * `webhook-signature` is `v1,` and the HMAC-SHA256 of id, timestamp and body in Base64.
 */
export function createWebhookTarget(url: string, secret: string, logId: string): ExportTarget {
  const { origin, pathname, search } = new URL(url)
  const pool = createPool(origin, {})
  return {
    name: origin,
    id: hash('sha256', url),
    async send(entries, signal) {
      const body = `{"log":${JSON.stringify(logId)},"entries":[${entries.map(({ text }) => text).join()}]}`
      const id = `${logId}.${entries[0]?.position}-${entries.at(-1)?.position}`
      const timestamp = String(Math.floor(Date.now() / 1000))
      const hmac = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')
      const request = {
        method: 'POST',
        path: pathname + search,
        headers: {
          'content-type': 'application/json',
          'accept-encoding': 'identity',
          'webhook-id': id,
          'webhook-timestamp': timestamp,
          'webhook-signature': `v1,${hmac}`,
        },
        body,
      } as const
      const limits = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
      const { head } = await fetchWhole(pool, request, ANSWER_LIMIT, limits)
      if (isErrorStatus(head)) throw new Error(`the webhook responded with status ${head.status}`)
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

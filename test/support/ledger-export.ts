import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { chatBody } from './bodies.ts'
import { AS_ADMIN, type RunningGateway } from './gateway.ts'
import { scrapeUntil } from './metrics.ts'
import { UNLIMITED } from './settings.ts'

export const EXPORT_SECRET = 'a-secret-of-exports'

/** A record as targets get it. */
export interface ExportedLine {
  readonly kind: 'request' | 'tool_call'
  readonly number: number
  readonly x_request_id?: string
  readonly id?: string
  readonly [field: string]: unknown
}

/** What a webhook gets. */
export interface ExportedBody {
  readonly type: string
  readonly data: { export: string; first: number; last: number; records: ExportedLine[] }
}

/** Settings with these targets, of which another process takes over those of a killed one after a second. */
export function exportingTo(targets: readonly object[]): string {
  return `${UNLIMITED}ledger: { export: ${JSON.stringify(targets)} }
plugins:
  remove: [ledger]
  add: [{ use: ledger, before: dispatch, options: { export_lease_seconds: 1 } }]
`
}

/** Resolves once records are exported to all targets, from the next one on. */
export async function exportsBegan(gateway: RunningGateway, targets: number): Promise<void> {
  const lags = 'signalbox_ledger_export_lag_seconds'
  await scrapeUntil(gateway, ({ samples }) => samples.filter(({ name }) => name === lags).length === targets)
}

/** Sends a request and returns its id. */
export async function ask(gateway: RunningGateway, text = 'Hello'): Promise<string> {
  const { headers } = await gateway.call('POST', '/v1/chat/completions', chatBody(text))
  return headers.get('x-request-id') ?? ''
}

/** The ids of all requests in the ledger. */
export async function recordedIds(gateway: RunningGateway): Promise<readonly string[]> {
  const ids: string[] = []
  for (let cursor: string | null = null, isFirst = true; isFirst || cursor !== null; isFirst = false) {
    const query = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const { body } = await gateway.call('GET', `/admin/requests?limit=100${query}`, undefined, AS_ADMIN)
    ids.push(...body.data.map(({ x_request_id }: { x_request_id: string }) => x_request_id))
    cursor = body.next_cursor ?? null
  }
  return ids
}

/** The records in the files of a folder, in order. */
export async function readLines(folder: string): Promise<readonly ExportedLine[]> {
  const files = await readdir(folder).catch(() => [])
  const texts = await Promise.all(files.sort().map((file) => readFile(path.join(folder, file), 'utf8')))
  return parseLines(texts.join(''))
}

export function parseLines(text: string): readonly ExportedLine[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

export const idOf = ({ x_request_id, id }: ExportedLine) => x_request_id ?? id

import type { JsonObject } from '../../../core/contract/index.ts'

/** A record as targets get it. */
export interface ExportedRecord {
  /** In the order in which records were written. */
  readonly number: number
  /** When it was written to the ledger: Unix time in milliseconds. */
  readonly writtenAt: number
  readonly kind: 'request' | 'tool_call'
  /** As the endpoints show it. */
  readonly fields: JsonObject
}

/** Records that are sent together. After a failure or a restart, the same page is sent again. */
export interface ExportedPage {
  /** Numbers of the first and the last record. */
  readonly first: number
  readonly last: number
  /** Reads its records from the ledger, in order, some at a time. */
  read(): AsyncIterable<readonly ExportedRecord[]>
}

/** An open target. */
export interface ExportTarget {
  /**
   * Resolves when the target has all records of a page, with how many of them it has refused for good. It may
   * have got some of them before.
   */
  send(page: ExportedPage, signal: AbortSignal): Promise<number>
  close(): Promise<void>
}

/** What a kind of targets declares. */
export interface ExportTargetKind<Row> {
  /** A page is sent when it has about so many records, or when its first one has waited for so long. */
  readonly pageRecords: number
  readonly pageSeconds: number
  open(row: Row & { readonly name: string }, services: TargetServices): ExportTarget
}

export interface TargetServices {
  /** Signs what is posted to webhooks. */
  readonly secret: string | undefined
}

/** The line of a record in NDJSON. */
export function formatRecord({ number, kind, fields }: ExportedRecord): string {
  return JSON.stringify({ kind, number, ...fields })
}

/** Divides records into lists of lines that have at most so many characters, but at least one line each. */
export function* divideLines(
  records: readonly ExportedRecord[],
  maxChars: number,
): Generator<{ readonly records: readonly ExportedRecord[]; readonly lines: readonly string[] }> {
  let start = 0
  let lines: string[] = []
  let chars = 0
  for (const [index, record] of records.entries()) {
    const line = formatRecord(record)
    if (lines.length > 0 && chars + line.length > maxChars) {
      yield { records: records.slice(start, index), lines }
      start = index
      lines = []
      chars = 0
    }
    lines.push(line)
    chars += line.length
  }
  if (lines.length > 0) yield { records: records.slice(start), lines }
}

/** Divides records, which are in order, where a new day or hour begins. */
export function divideByTime(
  records: readonly ExportedRecord[],
  toPeriod: (time: string) => string,
): readonly { readonly period: string; readonly records: readonly ExportedRecord[] }[] {
  const parts: { period: string; records: ExportedRecord[] }[] = []
  for (const record of records) {
    const period = toPeriod(new Date(record.writtenAt).toISOString())
    const current = parts.at(-1)
    if (current?.period === period) current.records.push(record)
    else parts.push({ period, records: [record] })
  }
  return parts
}

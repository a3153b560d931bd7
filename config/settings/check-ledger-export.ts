import { resolve } from 'node:path'
import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'

interface TargetFields {
  readonly needs: readonly string[]
  readonly allows: readonly string[]
}

/** The kinds of targets of `ledger.export`, with their fields beside the common ones. */
export const EXPORT_TARGETS: Readonly<Record<string, TargetFields>> = {
  file: { needs: ['folder'], allows: [] },
  webhook: { needs: ['url'], allows: [] },
  s3: { needs: ['bucket'], allows: ['prefix', 'region', 'endpoint', 'path_style'] },
  kafka: { needs: ['brokers', 'topic'], allows: ['tls', 'sasl'] },
  langfuse: { needs: ['public_key', 'secret_key'], allows: ['url'] },
}

const COMMON_FIELDS = ['to', 'name', 'batch_records', 'batch_seconds']

/** Finds what is wrong with targets beyond their schema: fields that are missing or do nothing. */
export function findLedgerExportIssues({ ledger, ledger_export_secret }: JsonObject): readonly string[] {
  const listed = isJsonObject(ledger) && Array.isArray(ledger.export) ? ledger.export : []
  const rows = listed.filter(isJsonObject)
  const names = rows.map(({ name, to }) => name ?? to)
  const folders = rows.map(({ folder }) => (typeof folder === 'string' ? resolve(folder) : undefined))
  return rows.flatMap((row, index) => {
    const setting = `ledger.export[${index}]`
    const issues: string[] = []
    if (names.indexOf(names[index]) < index)
      issues.push(
        `${setting}: "${names[index]}" is the name of another target, too; give it a name of its own`,
      )
    // A target leaves out what is older than the last line, which the other one may have written.
    if (folders[index] !== undefined && folders.indexOf(folders[index]) < index)
      issues.push(`${setting}.folder is that of another target, too; give it a folder of its own`)
    const fields = typeof row.to === 'string' ? EXPORT_TARGETS[row.to] : undefined
    if (fields === undefined) return issues
    for (const field of fields.needs)
      if (row[field] === undefined) issues.push(`${setting}.${field} is needed with to: ${row.to}`)
    const known = [...COMMON_FIELDS, ...fields.needs, ...fields.allows]
    for (const field of Object.keys(row))
      if (!known.includes(field)) issues.push(`${setting}.${field} has no effect on ${row.to}; remove it`)
    if (row.to === 'langfuse' && typeof row.url === 'string' && !/^https?:/.test(row.url))
      issues.push(`${setting}.url must be a URL; only secret_key is a secret`)
    if (row.to === 'webhook' && !ledger_export_secret)
      issues.push(`${setting} needs a secret of at least 16 characters: set LEDGER_EXPORT_SECRET`)
    return issues
  })
}

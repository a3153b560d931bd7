import { endpointUrl, send } from './api.ts'
import { isOperator } from './session.ts'
import type { AuditEntry, Page } from './types.ts'

/** A part of the changes of rules, oldest first. */
export interface LoadedChanges {
  readonly entries: readonly AuditEntry[]
  /** Where the earlier ones begin; null if there are none. */
  readonly cursor: string | null
}

const RULE_KINDS = new Set(['firewall', 'routing', 'policy', 'group', 'user'])

const PAGE_SIZE = 200

interface ChangeQuery {
  readonly cursor?: string | null
  /** A position or a time; the changes until then. */
  readonly until?: string | undefined
  /** Fewer than a page are enough. */
  readonly limit?: number
}

/** Reads changes until there are some of rules among them, or until there are no more. */
export async function readChanges({
  cursor = null,
  until,
  limit = PAGE_SIZE,
}: ChangeQuery): Promise<LoadedChanges> {
  const path = isOperator() ? '/admin/audit' : '/v1/audit'
  let entries: readonly AuditEntry[] = []
  let next = cursor
  do {
    const url = endpointUrl(path, { until, limit: Math.max(limit, 50), cursor: next })
    const page: Page<AuditEntry> = await send<Page<AuditEntry>>('GET', url)
    entries = [...page.data.filter(({ kind }) => RULE_KINDS.has(kind)).toReversed(), ...entries]
    next = page.next_cursor
  } while (entries.length === 0 && next !== null)
  return { entries, cursor: next }
}

/** Reads the newest changes; those until a position, if it is further back. */
export async function loadChanges(position: string | undefined): Promise<LoadedChanges> {
  const newest = await readChanges({})
  const oldest = newest.entries[0]?.position ?? 0
  if (position === undefined || newest.cursor === null || Number(position) >= oldest) return newest
  return readChanges({ until: position })
}

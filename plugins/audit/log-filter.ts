import type { Static, TObject } from '../../core/contract/index.ts'
import { type AsOf, parseAsOf } from '../../core/util/as-of.ts'
import { compareToAsOf, type LogEntry } from './audit-entries.ts'
import { type IndexTerm, toIndexTerms } from './part-index.ts'
import type { adminAuditQuery } from './schemas.ts'

type AdminAuditQuery = Static<TObject<typeof adminAuditQuery>>

/** A condition on entries, and where in the log those that fulfil it are. */
export interface LogFilter {
  /** The user in whose streams all that fulfils it is. */
  readonly user: number | undefined
  readonly since: AsOf | undefined
  readonly until: AsOf | undefined
  /** What the index of the log knows of the condition. */
  readonly terms: readonly IndexTerm[]
  /** Whether entries can be left out, so that a page may be far away. */
  readonly isSelective: boolean
  matches(entry: LogEntry): boolean
}

/** Throws 400 that names an invalid parameter. `isInScope`: tells what else is left out. */
export function parseLogFilter(query: AdminAuditQuery, isInScope?: (entry: LogEntry) => boolean): LogFilter {
  const { user, group, policy, actor, kind, rule } = query
  const since = query.since === undefined ? undefined : parseAsOf(query.since, 'since')
  const until = query.until === undefined ? undefined : parseAsOf(query.until, 'until')
  const text = query.q?.toLowerCase()
  const terms = toIndexTerms({ user, group, policy, actor, kind, rule })
  return {
    // Each approval has a stream of its own, so the index of the log finds those of a user.
    user: kind === 'approval' ? undefined : user,
    since,
    until,
    terms,
    isSelective:
      isInScope !== undefined ||
      terms.length > 0 ||
      text !== undefined ||
      since !== undefined ||
      until !== undefined,
    matches(entry) {
      const { record } = entry
      const { data, metadata } = record
      return (
        (kind === undefined || entry.kind === kind) &&
        (user === undefined || data.userId === user) &&
        (group === undefined || data.groupId === group) &&
        (policy === undefined || data.policyId === policy) &&
        (rule === undefined || data.ruleId === rule) &&
        (actor === undefined || metadata.actor.id === actor) &&
        (since === undefined || compareToAsOf(record, since) >= 0) &&
        (until === undefined || compareToAsOf(record, until) <= 0) &&
        (text === undefined || containsText(entry, text)) &&
        isInScope?.(entry) !== false
      )
    },
  }
}

/** Whether the content, the actor or the reason contains a text, whatever its case. */
function containsText({ record: { data, metadata } }: LogEntry, lowerText: string): boolean {
  const { hash: _, ...content } = data
  const { id, name } = metadata.actor
  const texts = [JSON.stringify(content), id, name, metadata.reason ?? '', metadata.requestId ?? '']
  return texts.some((text) => text.toLowerCase().includes(lowerText))
}

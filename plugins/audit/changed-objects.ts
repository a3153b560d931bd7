import type { EventLog, JsonObject, Position, RecordedEvent } from '../../core/contract/index.ts'
import { showFields } from '../../core/resources/names.ts'
import type { Budget } from '../../projections/events/budgets.ts'
import type { History } from '../../projections/history.ts'
import { type PastEvent, readStreams } from '../../projections/past-events.ts'
import type { RuleKinds } from '../rules/index.ts'
import { type AuditEntry, toAuditEntries } from './audit-entries.ts'
import type { LogEntry } from './log-entries.ts'

/** An object before and after a change, as the API shows it; null if it did not exist. */
export interface ChangedObject {
  readonly before: JsonObject | null
  readonly after: JsonObject | null
}

/** Finds what the entries have changed, by their position. Entries that changed no object are left out. */
export type ReadChangedObjects = (
  entries: readonly LogEntry[],
) => Promise<ReadonlyMap<Position, ChangedObject>>

/** Formats the object only if it is shown. */
type Change = Pick<AuditEntry, 'record' | 'before' | 'after'>

export function createChangedObjectReader(
  log: Pick<EventLog, 'read'>,
  history: Pick<History, 'eventsOf'>,
  kinds: RuleKinds,
): ReadChangedObjects {
  /** The changes of the user or the stream that the entry is about. */
  async function readChanges({ record, kind }: LogEntry): Promise<readonly Change[]> {
    const { userId } = record.data
    const events = await (typeof userId === 'number'
      ? history.eventsOf(userId)
      : readStreams(log, [record.stream]))
    return kind === 'operator' || kind === 'budget' ? foldFields(events) : toAuditEntries(events, kinds)
  }

  return async (entries) => {
    const found = new Map<Position, ChangedObject>()
    const wanted = new Set(
      entries.filter(({ kind }) => !UNCHANGING.has(kind)).map(({ record }) => record.position),
    )
    for (const entry of entries) {
      if (!wanted.has(entry.record.position) || found.has(entry.record.position)) continue
      for (const { record, before, after } of await readChanges(entry))
        if (wanted.has(record.position)) found.set(record.position, { before: before(), after: after() })
    }
    return found
  }
}

/** Kinds of entries about what happened, in place of what was changed. */
const UNCHANGING: ReadonlySet<LogEntry['kind']> = new Set(['access', 'router', 'log', 'unknown'])

/** Operators and the budgets of everything: events name the fields that they set. */
function foldFields(events: readonly PastEvent[]): readonly Change[] {
  const objects = new Map<unknown, JsonObject>()
  return events.map(({ record }) => {
    const { type, data } = record
    const id = data.operatorId ?? type.replace(/(?:Set|Removed)$/, '')
    const before = objects.get(id) ?? null
    const isRemoved = type.endsWith('Removed')
    const after = isRemoved ? null : { ...before, ...showSetFields(record) }
    if (after === null) objects.delete(id)
    else objects.set(id, after)
    return { record, before: () => before, after: () => after }
  })
}

function showSetFields({ data }: RecordedEvent): JsonObject {
  const { operatorId: id, hash: _, budget, changes, ...fields } = data
  // The cast is safe: events of budgets have one.
  return budget === undefined ? { id, ...fields, ...Object(changes) } : showFields(budget as Budget)
}

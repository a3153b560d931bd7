import { createHash } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { RuleTraceEntry } from '../../../core/contract/index.ts'
import { insertAll } from './insert-rows.ts'
import type { LedgerRecord } from './record.ts'
import type { LedgerTables, TraceRuleRow } from './tables.ts'

/** Traces and warnings, which are stored once for all records that have them. */
export interface ListDictionary {
  /** Stores what is new in the records of a batch. The functions below then know their lists. */
  add(records: readonly LedgerRecord[], label: LabelOf, day: number): Promise<void>
  /** The next batch stores its lists again, which notes that they are in use. */
  forget(): void
  trace(rules: LedgerRecord['rules']): number
  warningList(warnings: LedgerRecord['warnings']): number | undefined
}

type LabelOf = (value: string) => number

/** Lists above which what is known is dropped. It is stored again when it is needed. */
const MAX_KNOWN = 20_000

export function createListDictionary(db: Kysely<LedgerTables>): ListDictionary {
  /** Ids by digest. */
  const known = new Map<string, number>()
  /** Ids of the lists of the current batch. */
  let ids = new Map<readonly unknown[], number>()

  return {
    async add(records, label, day) {
      ids = new Map()
      const traces = new Set(records.map(({ rules }) => rules).filter((rules) => rules.length > 0))
      const digests = new Map<readonly unknown[], string>()
      const missing = new Map<string, StoredList>()
      for (const list of [...traces, ...findShared(records)]) {
        const value = JSON.stringify(list)
        const digest = digestOfText(value)
        digests.set(list, digest)
        if (!known.has(digest)) missing.set(digest, { value, rules: traces.has(list as never) ? list : [] })
      }
      for (const [digest, id] of await storeLists(db, missing, label, day)) known.set(digest, id)
      for (const [list, digest] of digests) ids.set(list, known.get(digest) ?? 0)
      if (known.size > MAX_KNOWN) known.clear()
    },
    forget: () => known.clear(),
    trace(rules) {
      const id = ids.get(rules)
      if (id === undefined) throw new RangeError('the trace was not added to the dictionary')
      return id
    },
    warningList: (warnings) => ids.get(warnings),
  }
}

/** Warnings may contain figures of their request. Those of one record only are stored with it. */
function findShared(records: readonly LedgerRecord[]): ReadonlySet<LedgerRecord['warnings']> {
  const [seen, shared] = [new Set<LedgerRecord['warnings']>(), new Set<LedgerRecord['warnings']>()]
  for (const { warnings } of records) {
    if (warnings.length === 0) continue
    if (seen.has(warnings)) shared.add(warnings)
    seen.add(warnings)
  }
  return shared
}

interface StoredList {
  /** JSON. */
  readonly value: string
  /** Of a trace. */
  readonly rules: readonly unknown[]
}

/** Stores lists by digest, with the rules of traces. Returns their ids by digest. */
async function storeLists(
  db: Kysely<LedgerTables>,
  lists: ReadonlyMap<string, StoredList>,
  label: LabelOf,
  day: number,
): Promise<ReadonlyMap<string, number>> {
  if (lists.size === 0) return new Map()
  // In order, so that gateways that write at the same time lock rows in the same order.
  const rows = [...lists].map(([digest, { value }]) => ({ digest, value, day })).sort(byDigest)
  const stored = await db
    .insertInto('lists')
    .values(rows)
    .onConflict((conflict) => conflict.column('digest').doUpdateSet({ day }))
    .returning(['id', 'digest'])
    .execute()
  const members = stored.flatMap(({ id, digest }) =>
    // The cast is safe: `rules` of a list are those of a record.
    toTraceRules(id, (lists.get(digest)?.rules ?? []) as readonly RuleTraceEntry[], label),
  )
  await insertAll(db, 'trace_rules', members, 'skip')
  return new Map(stored.map(({ id, digest }) => [digest, id]))
}

function byDigest(a: { readonly digest: string }, b: { readonly digest: string }): number {
  return a.digest < b.digest ? -1 : 1
}

function toTraceRules(
  trace: number,
  rules: readonly RuleTraceEntry[],
  label: LabelOf,
): readonly TraceRuleRow[] {
  return rules
    .filter(({ outcome }) => outcome === 'applied')
    .map(({ kind, rule_id, action }) => ({ trace, kind: label(kind), rule_id, action: label(action) }))
}

export function digestOfText(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}

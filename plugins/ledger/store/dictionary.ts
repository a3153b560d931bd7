import { createHash } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { RuleTraceEntry } from '../../../core/contract/index.ts'
import { insertAll } from './insert-rows.ts'
import type { LedgerRecord, RecordedError } from './record.ts'
import type { RecordBatch, SharedFields } from './record-batch.ts'
import { DAY_MS } from './record-id.ts'
import type { LedgerTables, TraceRuleRow } from './tables.ts'

/** Texts that recur are stored once, and rows refer to them by number. */
export interface Dictionary {
  /** Stores what is new in the records. The functions below then know it. */
  add(batch: RecordBatch, now: number): Promise<void>
  /** Stores what is new in the labels and sets of groups of calls of tools. */
  addCalls(calls: readonly DictionaryCall[]): Promise<void>
  /** These throw if `add` has not been called with a record that contains the text. */
  label(value: string): number
  groupSet(groups: readonly number[]): number
  target(provider: string, model: string): number
  error(error: RecordedError): number
  trace(rules: LedgerRecord['rules']): number
  /** Undefined if no other record that was added has these warnings. */
  warningList(warnings: LedgerRecord['warnings']): number | undefined
}

/** A call of a tool, as far as usage tells calls apart. */
interface DictionaryCall {
  readonly keyId: string
  readonly groups: readonly number[]
  readonly rules: readonly { readonly kind: string }[]
}

/** Entries, or lists, above which what is known is dropped. It is read or stored again when it is needed. */
const MAX_KNOWN = 20_000

/** Errors and lists are stored again after this time, so that those in use are not deleted. */
const REFRESH_MS = 3_600_000

const MAX_MESSAGE_LENGTH = 500
const MAX_NAME_LENGTH = 200

/** Stores new texts in order, so that gateways that write at the same time lock rows in the same order. */
export function createDictionary(db: Kysely<LedgerTables>): Dictionary {
  const labels = new Map<string, number>()
  const groupSets = new Map<string, number>()
  const targets = new Map<string, number>()
  const errors = new Map<string, number>()
  const lists = createListDictionary(db)
  let knownSince = 0

  async function addLabels(values: ReadonlySet<string>): Promise<void> {
    const missing = [...values].filter((value) => !labels.has(value)).sort()
    if (missing.length === 0) return
    const rows = missing.map((value) => ({ value }))
    await db
      .insertInto('labels')
      .values(rows)
      .onConflict((conflict) => conflict.column('value').doNothing())
      .execute()
    const found = await db.selectFrom('labels').selectAll().where('value', 'in', missing).execute()
    for (const { id, value } of found) labels.set(value, id)
  }

  async function addGroupSets(sets: ReadonlyMap<string, readonly number[]>): Promise<void> {
    const missing = [...sets.keys()].filter((value) => !groupSets.has(value)).sort()
    if (missing.length === 0) return
    await db
      .insertInto('group_sets')
      .values(missing.map((value) => ({ value })))
      .onConflict((conflict) => conflict.column('value').doNothing())
      .execute()
    const found = await db.selectFrom('group_sets').selectAll().where('value', 'in', missing).execute()
    const members = found.flatMap(({ id: group_set, value }) =>
      (sets.get(value) ?? []).map((group_id) => ({ group_id, group_set })),
    )
    members.sort((a, b) => a.group_set - b.group_set || a.group_id - b.group_id)
    await db
      .insertInto('group_members')
      .values(members)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    for (const { id, value } of found) groupSets.set(value, id)
  }

  async function addTargets(records: readonly SharedFields[]): Promise<void> {
    const missing = new Map<string, { provider: string; model: string }>()
    for (const { provider, model } of records) {
      if (provider === null || model === null || targets.has(`${provider}/${model}`)) continue
      const key = targetKey(provider, model)
      if (!targets.has(key)) missing.set(key, { provider: shorten(provider), model: shorten(model) })
    }
    if (missing.size === 0) return
    const rows = [...missing].sort(byKey).map(([, row]) => row)
    await db
      .insertInto('targets')
      .values(rows)
      .onConflict((conflict) => conflict.columns(['provider', 'model']).doNothing())
      .execute()
    const models = rows.map(({ model }) => model)
    const found = await db.selectFrom('targets').selectAll().where('model', 'in', models).execute()
    for (const { id, provider, model } of found) targets.set(targetKey(provider, model), id)
  }

  async function addErrors(records: readonly SharedFields[], now: number): Promise<void> {
    const missing = new Map<string, RecordedError>()
    for (const { error } of records) {
      if (error === null) continue
      const digest = digestOf(error)
      if (!errors.has(digest)) missing.set(digest, error)
    }
    if (missing.size === 0) return
    const day = Math.floor(now / DAY_MS)
    const rows = [...missing].sort(byKey).map(([digest, { code, status, message, param, ruleId }]) => ({
      digest,
      code,
      status,
      message: message === undefined ? null : withoutNul(message).slice(0, MAX_MESSAGE_LENGTH),
      param: param === undefined ? null : shorten(param),
      rule_id: ruleId ?? null,
      day,
    }))
    const stored = await db
      .insertInto('errors')
      .values(rows)
      .onConflict((conflict) => conflict.column('digest').doUpdateSet({ day }))
      .returning(['id', 'digest'])
      .execute()
    for (const { id, digest } of stored) errors.set(digest, id)
  }

  // Whatever is known is short.
  const labelOf = (value: string) => labels.get(value) ?? known(labels, shorten(value))

  return {
    async add(batch, now) {
      const uses = batch.countUses()
      const used = batch.shared.filter((_, number) => uses[number] !== 0)
      for (const known of [labels, groupSets, targets, errors]) if (known.size > MAX_KNOWN) known.clear()
      if (now - knownSince > REFRESH_MS) {
        errors.clear()
        lists.forget()
        knownSince = now
      }
      await addLabels(labelsOf(used, batch.extras))
      await addGroupSets(groupSetsOf(used))
      await addTargets(used)
      await addErrors(used, now)
      await lists.add(used, findShared(batch, uses), labelOf, Math.floor(now / DAY_MS))
    },
    async addCalls(calls) {
      const values = calls.flatMap(({ keyId, rules }) => [keyId, ...rules.map(({ kind }) => kind)])
      await addLabels(new Set(values.map(shorten)))
      await addGroupSets(groupSetsOf(calls))
    },
    label: labelOf,
    groupSet: (groups) => known(groupSets, groups.join()),
    target: (provider, model) =>
      targets.get(`${provider}/${model}`) ?? known(targets, targetKey(provider, model)),
    error: (error) => known(errors, digestOf(error)),
    trace: lists.trace,
    warningList: lists.warningList,
  }
}

function groupSetsOf(
  records: readonly Pick<LedgerRecord, 'groups'>[],
): ReadonlyMap<string, readonly number[]> {
  const withGroups = records.filter(({ groups }) => groups.length > 0)
  return new Map(withGroups.map(({ groups }) => [groups.join(), groups]))
}

function labelsOf(records: readonly SharedFields[], extras: RecordBatch['extras']): ReadonlySet<string> {
  const values = new Set<string>()
  for (const { arm } of extras.values()) if (arm !== undefined) values.add(arm)
  for (const { keyId, endpoint, mode, reason, deployment } of records) {
    values.add(keyId).add(endpoint)
    if (mode !== null) values.add(mode)
    if (reason !== null) values.add(reason)
    if (deployment !== undefined) values.add(deployment)
  }
  // Most records share their list.
  for (const rules of new Set(records.map((record) => record.rules)))
    for (const { kind, action } of rules) values.add(kind).add(action)
  return new Set([...values].map(shorten))
}

/** Names come from rules and from providers, so their length is not bounded. */
export function shorten(text: string): string {
  // The databases replace half of a surrogate pair, and would not find the text again.
  return withoutNul(text).slice(0, MAX_NAME_LENGTH).toWellFormed()
}

/** PostgreSQL does not store this character. */
function withoutNul(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '') : text
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}

function targetKey(provider: string, model: string): string {
  return `${shorten(provider)}/${shorten(model)}`
}

function digestOf({ code, status, message, param, ruleId }: RecordedError): string {
  return digestOfText(JSON.stringify([code, status, message?.slice(0, MAX_MESSAGE_LENGTH), param, ruleId]))
}

function known(ids: ReadonlyMap<string, number>, key: string): number {
  const id = ids.get(key)
  if (id === undefined) throw new RangeError(`"${key}" was not added to the dictionary`)
  return id
}

/** Traces and warnings, which are stored once for all records that have them. */
interface ListDictionary {
  /** Stores what is new in the records of a batch. The functions below then know their lists. */
  add(
    records: readonly SharedFields[],
    warnings: ReadonlySet<LedgerRecord['warnings']>,
    label: LabelOf,
    day: number,
  ): Promise<void>
  /** The next batch stores its lists again, which notes that they are in use. */
  forget(): void
  trace(rules: LedgerRecord['rules']): number
  warningList(warnings: LedgerRecord['warnings']): number | undefined
}

type LabelOf = (value: string) => number

function createListDictionary(db: Kysely<LedgerTables>): ListDictionary {
  /** Ids by digest. */
  const known = new Map<string, number>()
  /** Ids of the lists of the current batch. */
  let ids = new Map<readonly unknown[], number>()

  return {
    async add(records, warnings, label, day) {
      ids = new Map()
      const traces = new Set(records.map(({ rules }) => rules).filter((rules) => rules.length > 0))
      const digests = new Map<readonly unknown[], string>()
      const missing = new Map<string, StoredList>()
      for (const list of [...traces, ...warnings]) {
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
function findShared({ shared }: RecordBatch, uses: Int32Array): ReadonlySet<LedgerRecord['warnings']> {
  const usesOf = new Map<LedgerRecord['warnings'], number>()
  for (const [number, { warnings }] of shared.entries())
    if (warnings.length > 0) usesOf.set(warnings, (usesOf.get(warnings) ?? 0) + (uses[number] ?? 0))
  return new Set([...usesOf].filter(([, count]) => count > 1).map(([warnings]) => warnings))
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

function digestOfText(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}

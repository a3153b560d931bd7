import type { Kysely } from 'kysely'
import { createListDictionary, digestOfText } from './list-dictionary.ts'
import type { LedgerRecord, RecordedError } from './record.ts'
import type { LedgerTables } from './tables.ts'
import { DAY_MS } from './units.ts'

/** Texts that recur are stored once, and rows refer to them by number. */
export interface Dictionary {
  /** Stores what is new in the records. The functions below then know it. */
  add(records: readonly LedgerRecord[], now: number): Promise<void>
  /** These throw if `add` has not been called with a record that contains the text. */
  label(value: string): number
  groupSet(groups: readonly number[]): number
  target(provider: string, model: string): number
  error(error: RecordedError): number
  trace(rules: LedgerRecord['rules']): number
  /** Undefined if no other record that was added has these warnings. */
  warningList(warnings: LedgerRecord['warnings']): number | undefined
}

/** Entries above which what is known is dropped. It is read again when it is needed. */
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

  async function addTargets(records: readonly LedgerRecord[]): Promise<void> {
    const missing = new Map<string, { provider: string; model: string }>()
    for (const { provider, model } of records) {
      if (provider === null || model === null) continue
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

  async function addErrors(records: readonly LedgerRecord[], now: number): Promise<void> {
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

  const labelOf = (value: string) => known(labels, shorten(value))

  return {
    async add(records, now) {
      for (const known of [labels, groupSets, targets, errors]) if (known.size > MAX_KNOWN) known.clear()
      if (now - knownSince > REFRESH_MS) {
        errors.clear()
        lists.forget()
        knownSince = now
      }
      await addLabels(labelsOf(records))
      const withGroups = records.filter(({ groups }) => groups.length > 0)
      await addGroupSets(new Map(withGroups.map(({ groups }) => [groups.join(), groups])))
      await addTargets(records)
      await addErrors(records, now)
      await lists.add(records, labelOf, Math.floor(now / DAY_MS))
    },
    label: labelOf,
    groupSet: (groups) => known(groupSets, groups.join()),
    target: (provider, model) => known(targets, targetKey(provider, model)),
    error: (error) => known(errors, digestOf(error)),
    trace: lists.trace,
    warningList: lists.warningList,
  }
}

function labelsOf(records: readonly LedgerRecord[]): ReadonlySet<string> {
  const values = new Set<string>()
  for (const { keyId, endpoint, mode, reason, arm } of records) {
    values.add(keyId).add(endpoint)
    for (const value of [mode, reason, arm]) if (value != null) values.add(value)
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

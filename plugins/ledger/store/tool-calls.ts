import type { ExpressionBuilder, Kysely, SelectQueryBuilder } from 'kysely'
import type { RuleOrigin, Warning } from '../../../core/contract/index.ts'
import { addRuleHits, type RuleHits } from './add-to-usage.ts'
import type { Dictionary } from './dictionary.ts'
import { insertAll } from './insert-rows.ts'
import { numberRecords } from './number-records.ts'
import { type PromptCipher, PromptKeyError } from './prompt-cipher.ts'
import { HOUR_MS } from './record-id.ts'
import { noteSessions } from './sessions.ts'
import type { LedgerTables, ToolCallRow } from './tables.ts'
import type { RecordStorage } from './write-records.ts'

export const TOOL_CALL_VERDICTS = [
  'allowed',
  'denied',
  'hidden',
  'pending_approval',
  'approved',
  'blocked',
  'not_served',
  'failed',
] as const

export type ToolCallVerdict = (typeof TOOL_CALL_VERDICTS)[number]

/** A rule that said something about a call. */
export interface ToolCallRule {
  readonly kind: string
  readonly id: number
  readonly name: string
  readonly action: string
  readonly origin?: RuleOrigin
}

/** A call of a tool that was made through the gateway, or that it refused. */
export interface ToolCallRecord {
  /** `req_…` */
  readonly id: string
  /** ISO 8601, UTC. */
  readonly time: string
  readonly userId: number
  readonly keyId: string
  readonly sessionId?: string
  readonly server: string
  readonly tool: string
  /** Of the definition of the tool. */
  readonly revision?: number
  /** SHA-256 of the arguments as canonical JSON, in hexadecimal digits. */
  readonly argumentsDigest: string
  readonly verdict: ToolCallVerdict
  readonly errorCode?: string
  readonly rules: readonly ToolCallRule[]
  readonly warnings: readonly Warning[]
  readonly requestBytes: number
  readonly resultBytes: number
  readonly durationMs: number
  readonly upstreamMs: number
  readonly rulesPosition: number
  /** Servers whose results the session had read before. */
  readonly read: readonly string[]
}

/** A call as it is written. */
export interface NewToolCall extends ToolCallRecord {
  /** The groups of the user when the tool was called. */
  readonly groups: readonly number[]
  /** The arguments in JSON, if they are recorded. */
  readonly argumentsText?: string
}

export interface StoredToolCall extends NewToolCall {
  /** Why the arguments cannot be decrypted; completes "the arguments cannot be decrypted: …". */
  readonly unreadable?: string
  /** Increases with each recorded call. */
  readonly number: number
}

export interface ToolCallFilter {
  readonly id?: string
  readonly userId?: number
  /** The user was in one of these groups. */
  readonly anyGroup?: readonly number[]
  readonly sessionId?: string
  readonly server?: string
  readonly tool?: string
  readonly verdict?: string
  /** A rule that said something. */
  readonly rule?: { readonly kind: string; readonly id: number }
  /** Unix times in milliseconds: inclusive, exclusive. */
  readonly since?: number
  readonly until?: number
}

export interface ToolCallQuery {
  readonly filter: ToolCallFilter
  readonly limit: number
  /** Only calls with a lower number, or, in the order in which they came, with a higher one. */
  readonly before?: number
  readonly after?: number
  /** Oldest first. */
  readonly isAscending?: true
  /** Adds the arguments of calls for which they are recorded. */
  readonly withArguments?: true
}

/** Rows per DELETE statement. Bounds how long writes wait for it. */
const DELETED_ROWS = 500

/**
 * Writes calls and adds them to the usage of rules. Those that are there are skipped, so that a batch can be
 * written again.
 */
export async function writeToolCalls(
  db: Kysely<LedgerTables>,
  { dictionary, cipher }: Pick<RecordStorage, 'dictionary' | 'cipher'>,
  calls: readonly NewToolCall[],
): Promise<void> {
  const ruled = calls.filter(({ rules }) => rules.length > 0)
  await dictionary.addCalls(ruled)
  await db.transaction().execute(async (transaction) => {
    const found = transaction.selectFrom('tool_calls').select('request_id')
    const ids = calls.map(({ id }) => id)
    const stored = new Set(
      (await found.where('request_id', 'in', ids).execute()).map(({ request_id }) => request_id),
    )
    const isNew = ({ id }: NewToolCall) => !stored.has(id)
    const rows = calls.filter(isNew).map((call) => toRow(call, cipher))
    await insertAll(transaction, 'tool_calls', rows, 'skip')
    // In the order in which requests are written, so that gateways that write at the same time do not block
    // each other.
    await noteSessions(
      transaction,
      rows.flatMap(({ session, user_id, time }) => (session === null ? [] : [{ session, user_id, time }])),
    )
    await addRuleHits(
      transaction,
      ruled.filter(isNew).map((call) => toRuleHits(call, dictionary)),
    )
    await numberRecords(transaction, 'tool_call', await findCallIds(transaction, calls.filter(isNew)))
  })
}

/** Returns the numbers of calls, in the order in which they were inserted. */
async function findCallIds(
  db: Kysely<LedgerTables>,
  calls: readonly NewToolCall[],
): Promise<readonly number[]> {
  if (calls.length === 0) return []
  const ids = calls.map(({ id }) => id)
  const found = db.selectFrom('tool_calls').select('id').where('request_id', 'in', ids)
  return (await found.orderBy('id').execute()).map(({ id }) => id)
}

function toRuleHits(
  { time, userId, keyId, groups, rules, errorCode }: NewToolCall,
  { label, groupSet }: Dictionary,
): RuleHits {
  const hour = Math.floor(Date.parse(time) / HOUR_MS)
  const group_set = groups.length === 0 ? 0 : groupSet(groups)
  return {
    caller: { hour, user_id: userId, key: label(keyId), group_set },
    rules: rules.map(({ kind, id }) => ({ kind: label(kind), rule_id: id })),
    isError: errorCode !== undefined,
  }
}

function toRow(call: NewToolCall, cipher: PromptCipher | undefined): Omit<ToolCallRow, 'id'> {
  const { id, time, userId, groups, sessionId, server, tool, verdict, argumentsText, ...rest } = call
  const encrypted =
    argumentsText === undefined ? undefined : cipher?.encrypt(argumentsText, { requestId: id, userId })
  return {
    request_id: id,
    time: Date.parse(time),
    user_id: userId,
    group_ids: groups.length === 0 ? null : `,${groups.join()},`,
    session: sessionId ?? null,
    server,
    tool,
    verdict,
    data: JSON.stringify(rest),
    key_id: encrypted?.keyId ?? null,
    arguments: encrypted?.data ?? null,
  }
}

export async function listToolCalls(
  db: Kysely<LedgerTables>,
  cipher: PromptCipher | undefined,
  { filter, limit, before, after, isAscending, withArguments }: ToolCallQuery,
): Promise<readonly StoredToolCall[]> {
  let query = applyFilter(db.selectFrom('tool_calls').selectAll(), filter)
  if (before !== undefined) query = query.where('id', '<', before)
  if (after !== undefined) query = query.where('id', '>', after)
  const rows = await query
    .orderBy('id', isAscending ? 'asc' : 'desc')
    .limit(limit)
    .execute()
  return rows.map((row) => toStoredToolCall(row, withArguments ? (cipher ?? 'none') : undefined))
}

type Selection = SelectQueryBuilder<LedgerTables, 'tool_calls', ToolCallRow>

function applyFilter(query: Selection, filter: ToolCallFilter): Selection {
  const { id, userId, anyGroup, sessionId, server, tool, verdict, rule, since, until } = filter
  let found = query
  if (id !== undefined) found = found.where('request_id', '=', id)
  if (userId !== undefined) found = found.where('user_id', '=', userId)
  if (sessionId !== undefined) found = found.where('session', '=', sessionId)
  if (server !== undefined) found = found.where('server', '=', server)
  if (tool !== undefined) found = found.where('tool', '=', tool)
  if (verdict !== undefined) found = found.where('verdict', '=', verdict)
  // Quotes in names are escaped, so no other text looks like this.
  if (rule !== undefined)
    found = found.where('data', 'like', `%{"kind":"${rule.kind}","id":${rule.id},"name":%`)
  if (since !== undefined) found = found.where('time', '>=', since)
  if (until !== undefined) found = found.where('time', '<', until)
  if (anyGroup !== undefined) found = found.where(isOfGroup(anyGroup))
  return found
}

/** A condition for calls of users who were in one of the groups. */
export function isOfGroup(groups: readonly number[]) {
  return ({ eb, or }: ExpressionBuilder<LedgerTables, 'tool_calls'>) =>
    or(groups.map((groupId) => eb('tool_calls.group_ids', 'like', `%,${groupId},%`)))
}

/** Without `cipher`, the arguments are left out. */
export function toStoredToolCall(row: ToolCallRow, cipher?: ArgumentCipher): StoredToolCall {
  const { id: number, request_id: id, user_id: userId, session, server, tool, verdict, data } = row
  return {
    ...JSON.parse(data),
    ...{ number, id, userId, server, tool, verdict },
    time: new Date(row.time).toISOString(),
    groups: row.group_ids === null ? [] : row.group_ids.slice(1, -1).split(',').map(Number),
    ...(session !== null && { sessionId: session }),
    ...(cipher !== undefined && decryptArguments(row, cipher)),
  }
}

/** `none`: the process has no key. */
type ArgumentCipher = PromptCipher | 'none'

function decryptArguments(
  { request_id: requestId, user_id: userId, key_id: keyId, arguments: encrypted }: ToolCallRow,
  cipher: ArgumentCipher,
): Pick<StoredToolCall, 'argumentsText' | 'unreadable'> {
  if (keyId === null || encrypted === null) return {}
  if (cipher === 'none') return { unreadable: 'RECORD_KEY is not set' }
  try {
    return { argumentsText: cipher.decrypt({ keyId, data: encrypted }, { requestId, userId }) }
  } catch (error) {
    if (!(error instanceof PromptKeyError)) throw error
    return { unreadable: error.message }
  }
}

/** Deletes the arguments of the calls of a user. */
export async function deleteArgumentsOf(db: Kysely<LedgerTables>, userId: number): Promise<void> {
  const none = { key_id: null, arguments: null }
  await db
    .updateTable('tool_calls')
    .set(none)
    .where('user_id', '=', userId)
    .where('arguments', 'is not', null)
    .execute()
}

/**
 * Deletes some of the calls before a time, and the arguments of those before another one. Returns true if
 * there may be more.
 */
export async function sweepToolCalls(
  db: Kysely<LedgerTables>,
  oldest: number,
  oldestArguments: number,
): Promise<boolean> {
  const old = db.selectFrom('tool_calls').select('id').where('time', '<', oldest).limit(DELETED_ROWS)
  const deleted = await db.deleteFrom('tool_calls').where('id', 'in', old).executeTakeFirstOrThrow()
  if (Number(deleted.numDeletedRows) === DELETED_ROWS) return true
  await db
    .updateTable('tool_calls')
    .set({ key_id: null, arguments: null })
    .where('time', '<', oldestArguments)
    .where('arguments', 'is not', null)
    .execute()
  return false
}

import type { Kysely } from 'kysely'
import { cannotBeStored, containsText, findGroupSets, findLabel } from './find-records.ts'
import type { RequestFilter } from './queries.ts'
import type { LedgerTables } from './tables.ts'

/** A filter in the numbers that rows have. Lists are never empty. */
export interface Conditions {
  readonly user_id?: readonly number[]
  readonly key?: readonly number[]
  readonly group_set?: readonly number[]
  readonly target?: readonly number[]
  readonly endpoint?: readonly number[]
  readonly status?: readonly number[]
  /** The errors with a text; `many` if there are too many to list. */
  readonly error?: readonly number[] | 'many'
  readonly text?: string
  readonly copies?: RequestFilter['copies']
  readonly rule?: { readonly kind?: number; readonly rule_id?: number; readonly action?: number }
  /** Of the quality. */
  readonly score?: { readonly min: number; readonly max: number }
}

const MAX_LISTED_ERRORS = 50

/** Returns undefined if nothing can pass the filter. */
export async function resolveFilter(
  db: Kysely<LedgerTables>,
  filter: RequestFilter,
): Promise<Conditions | undefined> {
  const { userId, keyId, groupId, rule, action, status, model, provider, endpoint, text } = filter
  const { minScore, maxScore } = filter
  const label = async (value: string | undefined) =>
    value === undefined ? undefined : ((await findLabel(db, value)) ?? UNKNOWN)
  const [key, path, kind, actionLabel] = await Promise.all([keyId, endpoint, rule?.kind, action].map(label))
  const target = (model ?? provider) ? await findTargets(db, provider, model) : undefined
  const errors = text === undefined ? undefined : await findErrors(db, text)
  const groupSets = groupId === undefined ? undefined : await findGroupSets(db, groupId)
  const isEmpty = target?.length === 0 || groupSets?.length === 0 || errors?.length === 0
  if (isEmpty || [key, path, kind, actionLabel].includes(UNKNOWN)) return undefined
  return {
    ...(userId !== undefined && { user_id: [userId] }),
    ...(key !== undefined && { key: [key] }),
    ...(groupSets && { group_set: groupSets }),
    ...(target && { target }),
    ...(path !== undefined && { endpoint: [path] }),
    ...(status !== undefined && { status: [status] }),
    ...(filter.copies && { copies: filter.copies }),
    ...(errors && {
      error: errors.length > MAX_LISTED_ERRORS ? ('many' as const) : errors,
      text: text ?? '',
    }),
    ...((rule || action) && {
      rule: {
        ...(rule && { rule_id: rule.id }),
        ...(kind !== undefined && { kind }),
        ...(actionLabel !== undefined && { action: actionLabel }),
      },
    }),
    ...((minScore !== undefined || maxScore !== undefined) && {
      score: { min: minScore ?? 0, max: maxScore ?? 1 },
    }),
  }
}

/** No label has this id. */
const UNKNOWN = 0

async function findTargets(
  db: Kysely<LedgerTables>,
  provider: string | undefined,
  model: string | undefined,
): Promise<readonly number[]> {
  if (cannotBeStored(`${provider}${model}`)) return []
  let query = db.selectFrom('targets').select('id')
  if (provider !== undefined) query = query.where('provider', '=', provider)
  if (model !== undefined) query = query.where('model', '=', model)
  return (await query.execute()).map(({ id }) => id)
}

async function findErrors(db: Kysely<LedgerTables>, text: string): Promise<readonly number[]> {
  if (cannotBeStored(text)) return []
  const found = await selectErrors(db, text)
    .limit(MAX_LISTED_ERRORS + 1)
    .execute()
  return found.map(({ id }) => id)
}

export function selectErrors(db: Kysely<LedgerTables>, text: string) {
  return db
    .selectFrom('errors')
    .select('id')
    .where((is) => is.or([containsText('errors.code', text), containsText('errors.message', text)]))
}

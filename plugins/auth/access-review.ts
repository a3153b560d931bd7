import {
  type Endpoint,
  endpoint,
  Nullable,
  OPERATOR_ROLES,
  operator,
  PLANS,
  type Static,
  StringEnum,
  Type,
} from '../../core/contract/index.ts'
import { decodeCursor, encodeCursor, PAGE } from '../../core/http/pages.ts'
import { Count, NextCursor, pageQuery, Timestamp, WarningSchema } from '../../core/http/schemas.ts'
import { toCsvLine } from '../../core/util/csv.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { OperatorAccount } from '../../projections/events/operators.ts'
import type { User } from '../../projections/events/users.ts'
import type { Groups } from '../../projections/groups.ts'
import type { Identities } from '../../projections/identities.ts'
import type { OperatorAccounts } from '../../projections/operator-accounts.ts'
import type { Policies } from '../../projections/policies.ts'
import { stateOfKey } from './key-list.ts'
import { creationRank, LAST_USE_UNAVAILABLE, type LastUses } from './keys.ts'
import { lastUseOf } from './operator-keys.ts'

const FINDINGS = ['never_used', 'unused', 'unused_key', 'expired', 'no_expiry', 'no_access'] as const

type AccessFinding = (typeof FINDINGS)[number]

/** What makes an entry stale: somebody should ask whether the access is still needed. */
const STALE: readonly AccessFinding[] = ['never_used', 'unused', 'unused_key', 'expired']

const KINDS = ['root', 'operator', 'user'] as const

const named = ($id: string, description: string) =>
  Type.Object({ id: Count('The id.'), name: Type.String({ description: 'The name.' }) }, { $id, description })

const lastUsed = (description: string) =>
  Type.Optional(Nullable(Timestamp(`${description}; null if there was none, missing if it is not known.`)))

const AccessKey = Type.Object(
  {
    id: Type.String({ description: 'Id of the key.' }),
    name: Type.Optional(Type.String({ description: 'Name of the key.' })),
    models: Type.Optional(Type.Array(Type.String(), { description: 'The models it may use. Missing: all.' })),
    endpoints: Type.Optional(
      Type.Array(Type.String(), { description: 'The paths it may call. Missing: all.' }),
    ),
    expires_at: Nullable(Timestamp('When it expires; null if it does not.')),
    last_used_at: lastUsed('The hour of its last request'),
  },
  { $id: 'AccessKey', description: 'A valid key.' },
)

const AccessEntry = Type.Object(
  {
    kind: StringEnum(KINDS, { description: 'The ADMIN_KEY, an operator or a user.' }),
    id: Type.String({ description: 'Id of the operator or the user; root for the ADMIN_KEY.' }),
    name: Type.String({ description: 'The name.' }),
    role: Nullable(StringEnum(OPERATOR_ROLES), { description: 'Role of an operator; null for users.' }),
    plan: Nullable(StringEnum(PLANS), { description: 'Plan of a user; null for operators.' }),
    groups: Nullable(Type.Array(named('AccessGroup', 'A group.')), {
      description: 'The groups of a user, or those that an operator is confined to; null for everything.',
    }),
    policies: Type.Array(named('AccessPolicy', 'A policy.'), {
      description: 'The enabled policies that apply to a user, in evaluation order.',
    }),
    identity: Nullable(Type.String(), {
      description: 'Who it is at an identity provider, such as "ada at https://id.example.com"; or null.',
    }),
    keys: Type.Array(AccessKey, { description: 'The valid keys of a user.' }),
    expires_at: Nullable(Timestamp('When the key of an operator expires; null if it does not.')),
    created_at: Nullable(Timestamp('When it was created; null for the ADMIN_KEY.')),
    last_used_at: lastUsed('The hour of the last request'),
    findings: Type.Array(StringEnum(FINDINGS), {
      description:
        'never_used and unused: for stale_days; unused_key: one key of several; expired: the key of an ' +
        'operator; no_expiry: a key that does not expire; no_access: a user without key and identity.',
    }),
    is_stale: Type.Boolean({ description: 'Whether somebody should ask if the access is still needed.' }),
  },
  { $id: 'AccessEntry', description: 'Who can do what, and when it was last done.' },
)

type AccessEntry = Static<typeof AccessEntry>

const AccessReviewPage = Type.Object(
  {
    data: Type.Array(AccessEntry, { description: 'The ADMIN_KEY, operators and users, oldest first.' }),
    next_cursor: NextCursor,
    warnings: Type.Optional(Type.Array(WarningSchema, { description: 'What could not be read.' })),
  },
  { $id: 'AccessReviewPage', description: 'A page of an access review.' },
)

const query = {
  ...pageQuery(PAGE, encodeCursor('after', 7)),
  kind: Type.Optional(StringEnum(KINDS, { description: 'Only these.' })),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 128,
      description: 'A part of the name, whose case is ignored, or the id.',
      examples: ['ada'],
    }),
  ),
  stale: Type.Optional(Type.Boolean({ description: 'Whether only stale ones are listed.' })),
  stale_days: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 3650,
      default: 90,
      description: 'Days without a request after which access is stale.',
    }),
  ),
  format: Type.Optional(
    StringEnum(['json', 'csv'], { description: 'A page, or all of them as CSV.', default: 'json' }),
  ),
}

interface ReviewFilter {
  readonly kind?: (typeof KINDS)[number]
  readonly q?: string
  readonly stale?: boolean
  readonly stale_days?: number
}

interface ReviewServices {
  readonly accounts: Pick<Accounts, 'users'>
  readonly operators: Pick<OperatorAccounts, 'list' | 'lastSignIn'>
  readonly groups: Pick<Groups, 'group' | 'groupsOf'>
  readonly policies: Pick<Policies, 'ruleSetsFor'>
  readonly identities: Pick<Identities, 'identityOf'>
  readonly lastUse: LastUses | undefined
  /** Whether there is an ADMIN_KEY. */
  readonly hasRoot: boolean
}

/** Somebody with access. */
type Holder =
  | { readonly kind: 'root'; readonly id: 'root'; readonly name: 'ADMIN_KEY' }
  | {
      readonly kind: 'operator'
      readonly id: string
      readonly name: string
      readonly operator: OperatorAccount
    }
  | { readonly kind: 'user'; readonly id: string; readonly name: string; readonly user: User }

const DAY_MS = 86_400_000

/** Users come after operators, whose ranks are microseconds. */
const FIRST_USER = 4e15

function rankOf(holder: Holder): number {
  if (holder.kind === 'root') return 0
  return holder.kind === 'operator' ? creationRank(holder.operator) : FIRST_USER + holder.user.id
}

/** `GET /admin/access-review`: who can do what, what is stale, and all of it as CSV. */
export function createAccessReviewEndpoint(services: ReviewServices): Endpoint {
  return endpoint({
    method: 'GET',
    path: '/admin/access-review',
    access: operator('auditor'),
    operationId: 'reviewAccess',
    summary: 'Lists who can do what: operators and users with keys and policies, and what is stale.',
    description: 'An export has all entries, and is in the audit trail.',
    tags: ['admin'],
    query,
    responses: {
      200: {
        description: 'A page of the review, or all of it as CSV.',
        body: AccessReviewPage,
        text: 'text/csv',
      },
    },
    audited: ({ format = 'json' }) => (format === 'json' ? undefined : 'export'),
    async handle({ query: { format = 'json', limit = PAGE.default, cursor, ...filter } }) {
      const after = cursor === undefined ? -1 : decodeCursor('after', cursor)
      const review = reviewAccess(services, filter, after)
      if (format === 'csv') return exportReview(review)
      const found: ReviewedEntry[] = []
      for await (const reviewed of review) if (found.push(reviewed) > limit) break
      const page = found.slice(0, limit)
      const next_cursor = found.length > limit ? encodeCursor('after', page.at(-1)?.rank ?? 0) : null
      const isKnown = page.every(({ entry }) => entry.last_used_at !== undefined)
      const data = page.map(({ entry }) => entry)
      return {
        status: 200,
        body: { data, next_cursor, ...(!isKnown && { warnings: [LAST_USE_UNAVAILABLE] }) },
      }
    },
  })
}

interface ReviewedEntry {
  readonly entry: AccessEntry
  readonly rank: number
}

/** Users whose last use is read together. */
const CHUNK = 500

async function* reviewAccess(
  services: ReviewServices,
  { kind, q = '', stale, stale_days: days = 90 }: ReviewFilter,
  after: number,
): AsyncGenerator<ReviewedEntry> {
  const text = q.toLowerCase()
  const holders = listHolders(services).filter(
    (holder) =>
      (kind === undefined || holder.kind === kind) &&
      (text === '' || holder.name.toLowerCase().includes(text) || holder.id === q) &&
      rankOf(holder) > after,
  )
  const staleBefore = Date.now() - days * DAY_MS
  for (let start = 0; start < holders.length; start += CHUNK) {
    const chunk = holders.slice(start, start + CHUNK)
    const uses = await readUses(chunk, services)
    for (const holder of chunk) {
      const entry = showHolder(holder, services, uses, staleBefore)
      if (stale === undefined || entry.is_stale === stale) yield { entry, rank: rankOf(holder) }
    }
  }
}

function listHolders({ accounts, operators, hasRoot }: ReviewServices): readonly Holder[] {
  const holders: Holder[] = [
    ...(hasRoot ? [{ kind: 'root' as const, id: 'root' as const, name: 'ADMIN_KEY' as const }] : []),
    ...operators.list().map((operator) => ({
      ...{ kind: 'operator' as const, id: operator.id, name: operator.name },
      operator,
    })),
    ...accounts
      .users()
      .map((user) => ({ kind: 'user' as const, id: String(user.id), name: user.name, user })),
  ]
  return holders.sort((a, b) => rankOf(a) - rankOf(b))
}

interface Uses {
  readonly ofKeys: ReadonlyMap<string, number>
  readonly ofUsers: ReadonlyMap<number, number>
}

/** Undefined if the ledger is away, or there is none. */
async function readUses(holders: readonly Holder[], { lastUse }: ReviewServices): Promise<Uses | undefined> {
  const users = holders.flatMap((holder) => (holder.kind === 'user' ? holder.user : []))
  const keyIds = users.flatMap(({ keys }) =>
    keys.filter((key) => stateOfKey(key) === 'active').map(({ id }) => id),
  )
  try {
    const [ofKeys, ofUsers] = await Promise.all([
      lastUse?.ofKeys(keyIds),
      lastUse?.ofUsers(users.map(({ id }) => id)),
    ])
    return ofKeys && ofUsers && { ofKeys, ofUsers }
  } catch {
    return undefined
  }
}

function showHolder(
  holder: Holder,
  services: ReviewServices,
  uses: Uses | undefined,
  staleBefore: number,
): AccessEntry {
  const { kind, id, name } = holder
  const none = { plan: null, groups: null, policies: [], identity: null, keys: [], expires_at: null }
  const lastSignIn = () => lastUseOf(id, services.operators)
  const shown =
    holder.kind === 'root'
      ? { role: 'admin' as const, created_at: null, last_used_at: lastSignIn(), findings: [] }
      : holder.kind === 'operator'
        ? showOperator(holder.operator, lastSignIn(), services, staleBefore)
        : showUser(holder.user, services, uses, staleBefore)
  const is_stale = shown.findings.some((finding) => STALE.includes(finding))
  return { ...{ kind, id, name, role: null }, ...none, ...shown, is_stale }
}

function showOperator(
  { role, scope, external, expiresAt, createdAt }: OperatorAccount,
  lastUsedAt: string | null,
  services: ReviewServices,
  staleBefore: number,
) {
  const isExpired = expiresAt !== null && Date.parse(expiresAt) <= Date.now()
  return {
    role,
    groups: scope === null ? null : nameGroups(scope.groups, services),
    identity: external ? describeIdentity(external) : null,
    expires_at: expiresAt,
    created_at: createdAt,
    last_used_at: lastUsedAt,
    findings: [
      ...findUnused(lastUsedAt, createdAt, staleBefore),
      ...(isExpired ? ['expired' as const] : []),
      ...(expiresAt === null && !external ? ['no_expiry' as const] : []),
    ],
  }
}

function showUser(
  { id, plan, keys: all, createdAt }: User,
  services: ReviewServices,
  uses: Uses | undefined,
  staleBefore: number,
) {
  const groupIds = services.groups.groupsOf(id)
  const identity = services.identities.identityOf(id)
  const lastUsedAt = uses && toTime(uses.ofUsers.get(id))
  const valid = all.filter((key) => stateOfKey(key) === 'active')
  const keys = valid.map(({ id, name, models, endpoints, expiresAt = null }) => ({
    ...{ id, expires_at: expiresAt },
    ...(name !== undefined && { name }),
    ...(models && { models: [...models] }),
    ...(endpoints && { endpoints: [...endpoints] }),
    ...(uses && { last_used_at: toTime(uses.ofKeys.get(id)) }),
  }))
  const unused = lastUsedAt === undefined ? [] : findUnused(lastUsedAt, createdAt, staleBefore)
  const hasUnusedKey =
    uses !== undefined &&
    valid.some((key) => findUnused(toTime(uses.ofKeys.get(key.id)), key.createdAt, staleBefore).length > 0)
  const hasAccess = valid.length > 0 || identity !== undefined
  const findings: AccessFinding[] = [
    // Nobody can use what gives no access.
    ...(hasAccess ? unused : ['no_access' as const]),
    ...(unused.length === 0 && hasUnusedKey ? ['unused_key' as const] : []),
    ...(keys.some((key) => key.expires_at === null) ? ['no_expiry' as const] : []),
  ]
  return {
    plan,
    groups: nameGroups(groupIds, services),
    policies: services.policies
      .ruleSetsFor(id, groupIds)
      .flatMap(({ origin }) => (origin ? [{ id: origin.id, name: origin.name }] : [])),
    identity: identity ? describeIdentity(identity) : null,
    keys,
    created_at: createdAt,
    ...(lastUsedAt !== undefined && { last_used_at: lastUsedAt }),
    findings,
  }
}

function findUnused(
  lastUsedAt: string | null,
  createdAt: string,
  staleBefore: number,
): readonly ('never_used' | 'unused')[] {
  if (lastUsedAt === null) return Date.parse(createdAt) < staleBefore ? ['never_used'] : []
  return Date.parse(lastUsedAt) < staleBefore ? ['unused'] : []
}

function toTime(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString()
}

const describeIdentity = ({ subject, issuer }: { readonly subject: string; readonly issuer: string }) =>
  `${subject} at ${issuer}`

function nameGroups(ids: readonly number[], { groups }: ReviewServices) {
  return ids.flatMap((id) => {
    const group = groups.group(id)
    return group ? [{ id, name: group.name }] : []
  })
}

const CSV_COLUMNS: Readonly<Record<string, (entry: AccessEntry) => unknown>> = {
  kind: ({ kind }) => kind,
  id: ({ id }) => id,
  name: ({ name }) => name,
  role: ({ role }) => role,
  plan: ({ plan }) => plan,
  groups: ({ groups, kind }) => (groups === null && kind !== 'user' ? 'everything' : listNames(groups ?? [])),
  policies: ({ policies }) => listNames(policies),
  identity: ({ identity }) => identity,
  keys: ({ keys }) => keys.map(describeKey).join('; '),
  expires_at: ({ expires_at }) => expires_at,
  created_at: ({ created_at }) => created_at,
  last_used_at: ({ last_used_at: time }) => (time === undefined ? 'unknown' : (time ?? 'never')),
  findings: ({ findings }) => findings.join('; '),
  is_stale: ({ is_stale }) => is_stale,
}

const listNames = (items: readonly { readonly name: string }[]) => items.map(({ name }) => name).join('; ')

function describeKey({ id, name, models = [], endpoints = [] }: AccessEntry['keys'][number]): string {
  const only = [...models, ...endpoints]
  return `${id}${name ? ` ${name}` : ''}${only.length > 0 ? ` (only ${only.join(', ')})` : ''}`
}

async function exportReview(review: AsyncGenerator<ReviewedEntry>) {
  async function* toLines(): AsyncGenerator<string> {
    yield toCsvLine(Object.keys(CSV_COLUMNS))
    for await (const { entry } of review)
      yield toCsvLine(Object.values(CSV_COLUMNS).map((cell) => cell(entry)))
  }
  const headers = {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': 'attachment; filename="access-review.csv"',
  }
  return { status: 200, headers, stream: toLines() }
}

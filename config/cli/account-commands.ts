import { isPlan, type JsonObject, OPERATOR_ROLES, type Plan } from '../../core/contract/index.ts'
import type { AdminApi } from './admin-api.ts'
import { withAdminApi } from './admin-target.ts'
import { type CommandArgs, UsageError } from './command.ts'
import { type Columns, printList, showTime } from './output.ts'

/** What the commands need of a user, a key and an operator as the API shows them. */
interface ShownUser {
  readonly id: number
  readonly name: string
  readonly plan: Plan
  readonly groups: readonly number[]
  readonly keys: readonly ShownKey[]
  readonly created_at: string
}

interface ShownKey {
  readonly id: string
  readonly name?: string
  readonly models?: readonly string[]
  readonly endpoints?: readonly string[]
  readonly created_at: string
  readonly expires_at?: string
  readonly revoked_at: string | null
}

interface ShownOperator {
  readonly id: string
  readonly name: string
  readonly role: string
  readonly scope: { readonly groups: readonly number[] } | null
  readonly expires_at: string | null
  readonly last_used_at?: string | null
}

interface IssuedKey {
  readonly id: string
  readonly key: string
}

const listUsers = (api: AdminApi) => api.list<ShownUser>('/admin/users?limit=1000')

/** `users add`: prints the user with the key as JSON. */
export function addUser(args: CommandArgs): Promise<void> {
  const name = args.options.get('name') ?? ''
  const plan = parsePlan(args.options.get('plan'))
  return withAdminApi(args, async (api) => {
    const user = await api.call<ShownUser>('/admin/users', { name, plan })
    const key = await api.call<IssuedKey>(`/admin/users/${user.id}/keys`, {})
    args.print(JSON.stringify({ id: user.id, name, plan, key_id: key.id, key: key.key }))
  })
}

const USER_COLUMNS: Columns<ShownUser> = {
  ID: ({ id }) => id,
  NAME: ({ name }) => name,
  PLAN: ({ plan }) => plan,
  GROUPS: ({ groups }) => groups.join(' '),
  KEYS: ({ keys }) => keys.filter((key) => stateOf(key) === 'active').length,
  CREATED: ({ created_at }) => showTime(created_at),
}

export function printUsers(args: CommandArgs): Promise<void> {
  return withAdminApi(args, async (api) => {
    printList(args, await listUsers(api), USER_COLUMNS, 'There is no user yet: see "signalbox users add".')
  })
}

export function changePlan(args: CommandArgs): Promise<void> {
  const userId = parseUserId(args.operands[0])
  const plan = parsePlan(args.operands[1])
  return withAdminApi(args, async (api) => {
    const { data, warnings } = await api.send<ShownUser>('PATCH', `/admin/users/${userId}`, { plan })
    args.print(
      JSON.stringify({ id: userId, name: data.name, plan: data.plan, ...(warnings && { warnings }) }),
    )
  })
}

interface OwnedKey extends ShownKey {
  readonly user_id: number
  readonly user_name: string
  readonly state: string
  /** Missing if it is not known. */
  readonly last_used_at?: string | null
}

const KEY_COLUMNS: Columns<OwnedKey> = {
  ID: ({ id }) => id,
  USER: ({ user_id, user_name }) => `${user_name} (${user_id})`,
  NAME: ({ name }) => name,
  STATE: ({ state }) => state,
  'LAST USED': ({ last_used_at }) => showTime(last_used_at),
  EXPIRES: ({ expires_at }) => showTime(expires_at),
  'ONLY FOR': ({ models = [], endpoints = [] }) => [...models, ...endpoints].join(' '),
  CREATED: ({ created_at }) => showTime(created_at),
}

/** `keys list [USER]`. Keys that are not valid any more are shown with `--all`. */
export function printKeys(args: CommandArgs): Promise<void> {
  const id = args.operands[0] === undefined ? undefined : parseUserId(args.operands[0])
  const filters = { ...(id && { user: String(id) }), ...(!args.options.has('all') && { state: 'active' }) }
  return withAdminApi(args, async (api) => {
    // A user that does not exist is an error, and not an empty list.
    if (id !== undefined) await api.call(`/admin/users/${id}`)
    const keys = await api.list<OwnedKey>(`/admin/keys?${new URLSearchParams({ limit: '1000', ...filters })}`)
    printList(args, keys, KEY_COLUMNS, 'There is no valid key.')
  })
}

/** `keys add USER`: prints the key as JSON. */
export function addKey(args: CommandArgs): Promise<void> {
  const userId = parseUserId(args.operands[0])
  const { name, expires } = Object.fromEntries(args.options)
  const content = { ...(name && { name }), ...(expires && { expires_at: expires }) }
  return withAdminApi(args, async (api) => {
    const { id, key } = await api.call<IssuedKey>(`/admin/users/${userId}/keys`, content)
    args.print(JSON.stringify({ id, key }))
  })
}

/** `keys rotate KEY`: prints the new key as JSON. */
export const rotateKey = (args: CommandArgs) => rotate(args, '/admin/keys')

export function revokeKey(args: CommandArgs): Promise<void> {
  const [keyId = ''] = args.operands
  return withAdminApi(args, async (api) => {
    await api.send('DELETE', `/admin/keys/${encodeURIComponent(keyId)}`)
    args.print(JSON.stringify({ id: keyId, revoked: true }))
  })
}

const OPERATOR_COLUMNS: Columns<ShownOperator> = {
  ID: ({ id }) => id,
  NAME: ({ name }) => name,
  ROLE: ({ role }) => role,
  SCOPE: ({ scope }) => (scope === null ? 'everything' : `groups ${scope.groups.join(' ')}`),
  EXPIRES: ({ expires_at }) => showTime(expires_at),
  'LAST USED': ({ last_used_at }) => showTime(last_used_at),
}

export function printOperators(args: CommandArgs): Promise<void> {
  return withAdminApi(args, async (api) => {
    const operators = await api.list<ShownOperator>('/admin/operators?limit=1000')
    const none = 'There is no operator, only whoever has the ADMIN_KEY: see "signalbox operators add".'
    printList(args, operators, OPERATOR_COLUMNS, none)
  })
}

/** `operators add`: prints the operator with the key as JSON. */
export function addOperator(args: CommandArgs): Promise<void> {
  const { name = '', role = '', groups, expires } = Object.fromEntries(args.options)
  if (!(OPERATOR_ROLES as readonly string[]).includes(role))
    throw new UsageError(`ROLE must be one of ${OPERATOR_ROLES.join(', ')}.`)
  const scope = groups === undefined ? {} : { scope: { groups: groups.split(',').map(parseGroupId) } }
  const content: JsonObject = { name, role, ...scope, ...(expires && { expires_at: expires }) }
  return withAdminApi(args, async (api) => {
    const { id, key } = await api.call<IssuedKey>('/admin/operators', content)
    args.print(JSON.stringify({ id, name, role, key }))
  })
}

/** `operators rotate OPERATOR`: prints the new key as JSON. */
export const rotateOperatorKey = (args: CommandArgs) => rotate(args, '/admin/operators')

export function removeOperator(args: CommandArgs): Promise<void> {
  const [id = ''] = args.operands
  return withAdminApi(args, async (api) => {
    await api.send('DELETE', `/admin/operators/${encodeURIComponent(id)}`)
    args.print(JSON.stringify({ id, removed: true }))
  })
}

function rotate(args: CommandArgs, path: string): Promise<void> {
  const [holder = ''] = args.operands
  const overlap = args.options.get('overlap') ?? '0'
  if (!/^\d{1,7}$/.test(overlap)) throw new UsageError('SECONDS must be an integer.')
  return withAdminApi(args, async (api) => {
    const terms = { overlap_seconds: Number(overlap) }
    const issued = await api.call<IssuedKey>(`${path}/${encodeURIComponent(holder)}/rotate`, terms)
    args.print(JSON.stringify({ id: issued.id, key: issued.key }))
  })
}

function stateOf({ revoked_at, expires_at }: ShownKey): 'active' | 'revoked' | 'expired' {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== undefined && Date.parse(expires_at) <= Date.now() ? 'expired' : 'active'
}

function parseUserId(text = ''): number {
  if (!/^\d{1,15}$/.test(text)) throw new UsageError('USER must be the id of a user, an integer.')
  return Number(text)
}

function parseGroupId(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new UsageError('GROUPS must be ids of groups, such as 3,8.')
  return Number(text)
}

function parsePlan(text = ''): Plan {
  if (!isPlan(text)) throw new UsageError('PLAN must be free or paid.')
  return text
}

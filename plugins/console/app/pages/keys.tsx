import { useState } from 'preact/hooks'
import { ApiError, get, post } from '../lib/api.ts'
import { useResource } from '../lib/data.ts'
import { formatUsd } from '../lib/format.ts'
import { href, type PageProps, route } from '../lib/router.ts'
import type { ApiKey, OwnedApiKey } from '../lib/schemas.ts'
import { UserPicker } from '../ui/combobox.tsx'
import { ChangeButton, KeyDialog } from '../ui/dialogs.tsx'
import { type FieldSpec, type FieldSpecs, fieldsOf } from '../ui/fields.tsx'
import type { Column } from '../ui/list.tsx'
import { Links, PageLayout, Panel, ResourcePage, useAddress } from '../ui/page.tsx'
import { Badge, Stat, Time, type Tone, UserLink } from '../ui/values.tsx'
import { BudgetPanel } from './budgets.tsx'
import { Actions, type ItemProps, List, type ResourceSpec } from './resource.tsx'

const ROTATION: FieldSpecs = [
  {
    name: 'hours',
    label: 'Hours until the old key expires',
    type: 'number',
    hint: 'Both keys are valid until then.',
  },
]

/** The API keys of a user. */
export const KEYS: ResourceSpec<ApiKey> = {
  path: 'keys',
  title: 'API keys',
  noun: 'key',
  writer: 'admin',
  created: fieldsOf('ApiKeyInput', {
    name: { hint: 'Such as the program that uses it.' },
    expires_at: { label: 'Expires', type: 'datetime-local', hint: 'Empty: never.' },
  }),
  initial: {},
  empty: 'No keys.',
  item: KeyItem,
  buttons: ({ id }, onDone) => <RotateButton path={`/admin/keys/${id}`} onDone={onDone} />,
  removeLabel: 'Revoke',
  warning: 'Requests with the key are refused immediately.',
  isFinal: ({ revoked_at }) => revoked_at !== null,
}

/** Replaces the key at a path, and hands the new one over. */
export function RotateButton({ path, onDone }: { path: string; onDone: (key: string) => void }) {
  return (
    <ChangeButton
      label="Rotate"
      kind="quiet"
      title="Rotate the key"
      fields={ROTATION}
      value={{ hours: 24 }}
      onSave={async ({ hours = 0 }, reason) => {
        const body = { overlap_seconds: Math.round(Number(hours) * 3600) }
        const { key } = await post<{ readonly key: string }>(`${path}/rotate`, body, { reason })
        onDone(key)
      }}
    >
      <p>A new key with the same name and restrictions is created.</p>
    </ChangeButton>
  )
}

function KeyItem({ item, actions }: ItemProps<ApiKey>) {
  const { id, name, models, expires_at, revoked_at, last_used_at } = item
  const address = useAddress<HTMLLIElement>('key', id)
  const isExpired = expires_at !== undefined && Date.parse(expires_at) <= Date.now()
  return (
    <li {...address} class={`spread ${revoked_at || isExpired ? 'off' : ''}`}>
      <span>
        <b>
          <a href={href(`/keys/${id}`)}>{name ?? 'unnamed'}</a>
        </b>{' '}
        <a href={href(`/${route.value.path.join('/')}`, { key: id })}>{id}</a>{' '}
        {revoked_at && <Badge>revoked</Badge>} {isExpired && !revoked_at && <Badge>expired</Badge>}
        <small class="muted block">
          <a href={href('/requests', { key: id })}>Requests</a> ·{' '}
          {models && `models: ${models.join(', ')} · `}
          <LastUse time={last_used_at} />
          {expires_at && ' · expires '}
          {expires_at && <Time value={expires_at} />}
        </small>
      </span>
      {actions}
    </li>
  )
}

/** The last use is missing if it is not known. */
function LastUse({ time }: { readonly time: string | null | undefined }) {
  if (time === undefined) return <>last use unknown</>
  if (time === null) return <>never used</>
  return (
    <>
      used <Time value={time} relative />
    </>
  )
}

/** Who something is for. */
export const USER_FIELD: FieldSpec = {
  name: 'user',
  label: 'User',
  render: (value, set) => <UserPicker value={String(value ?? '')} onChange={set} required />,
}

const STATE_TONES: Readonly<Record<OwnedApiKey['state'], Tone>> = {
  active: 'good',
  expired: 'warn',
  revoked: 'plain',
}

const StateBadge = ({ state }: Pick<OwnedApiKey, 'state'>) => <Badge tone={STATE_TONES[state]}>{state}</Badge>

/** What is shown of a key beside its name and user. */
export const KEY_COLUMNS: readonly Column<OwnedApiKey>[] = [
  { title: 'State', value: ({ state }) => state, cell: ({ state }) => <StateBadge state={state} /> },
  { title: 'Restricted to', class: 'clip', value: describeRestrictions },
  {
    title: 'Budget',
    kind: 'number',
    value: ({ budget }) => budget?.limit_usd,
    cell: ({ budget }) => describeBudget(budget),
  },
  {
    title: 'Last used',
    value: ({ last_used_at }) => last_used_at,
    cell: ({ last_used_at: time }) => (time ? <Time value={time} relative /> : time === null ? 'never' : '–'),
  },
  {
    title: 'Expires',
    value: ({ expires_at }) => expires_at,
    cell: ({ expires_at }) => (expires_at ? <Time value={expires_at} /> : 'never'),
  },
  {
    title: 'Created',
    value: ({ created_at }) => created_at,
    cell: ({ created_at }) => <Time value={created_at} />,
  },
]

/** The keys of all users. */
const ALL_KEYS: ResourceSpec<OwnedApiKey> = {
  path: 'keys',
  title: 'Keys',
  noun: 'key',
  writer: 'admin',
  created: [USER_FIELD, ...KEYS.created],
  initial: {},
  add: {
    label: 'New key',
    action: 'Create',
    async send(_, { user, ...body }, reason) {
      const path = `/admin/users/${user}/keys`
      return (await post<{ readonly key: string }>(path, body, { reason })).key
    },
  },
  filters: [
    { name: 'q', label: 'Key or user', type: 'text' },
    { name: 'user', type: 'user' },
    { name: 'state', label: 'State', options: [['', 'all'], 'active', 'expired', 'revoked'] },
  ],
  empty: 'There are no keys yet. Create a user, who gets a key.',
  rowClass: ({ state }) => (state === 'active' ? '' : 'off'),
  columns: [
    {
      title: 'Key',
      value: ({ name }) => name ?? 'unnamed',
      cell: ({ id, name }) => (
        <>
          <a href={href(`/keys/${id}`)}>{name ?? 'unnamed'}</a> <small class="muted block">{id}</small>
        </>
      ),
    },
    { title: 'Id', isOptional: true, value: ({ id }) => id, cell: ({ id }) => <code>{id}</code> },
    {
      title: 'User',
      value: ({ user_name }) => user_name,
      cell: ({ user_id, user_name }) => <UserLink id={user_id} name={user_name} />,
    },
    ...KEY_COLUMNS,
  ],
}

function describeRestrictions({ models = [], endpoints = [] }: ApiKey): string {
  return [...models, ...endpoints].join(', ') || '–'
}

function describeBudget(budget: ApiKey['budget']): string {
  if (!budget) return '–'
  const { limit_usd, period } = budget
  return `${formatUsd(limit_usd)} ${period === 'total' ? 'in total' : `per ${period}`}`
}

/** The keys of all users, or one of them. */
export function KeyPages({ path: [id] }: PageProps) {
  return id === undefined ? <List spec={ALL_KEYS} /> : <KeyPage id={id} />
}

function KeyPage({ id }: { readonly id: string }) {
  const [secret, setSecret] = useState<string>()
  const resource = useResource(id, async () => {
    const [key] = await get<readonly OwnedApiKey[]>('/admin/keys', { q: id, limit: 1 })
    if (key?.id === id) return key
    throw new ApiError(404, 'There is no such key, or not any more.')
  })
  const onDone = (secret?: string) => {
    resource.reload()
    setSecret(secret)
  }
  return (
    <ResourcePage title={`key ${id}`} resource={resource}>
      {(key) => (
        <PageLayout
          title={key.name ?? 'Unnamed key'}
          actions={
            <Actions spec={KEYS} item={key} list="/admin/keys" onDone={onDone} onRemoved={() => onDone()} />
          }
        >
          <Links>
            <a href={href('/keys')}>Keys</a>
            <code>{id}</code>
            <a href={href('/requests', { key: id })}>Requests</a>
            <a href={href('/audit', { kind: 'key', user: key.user_id, q: id })}>Changes</a>
          </Links>
          <dl class="stats">
            <Stat label="State" value={<StateBadge state={key.state} />} />
            <Stat label="User" value={<UserLink id={key.user_id} name={key.user_name} />} />
            <Stat label="Last use" value={<LastUse time={key.last_used_at} />} />
            <Stat label="Created" value={<Time value={key.created_at} />} />
            <Stat label="Expires" value={key.expires_at ? <Time value={key.expires_at} /> : 'never'} />
          </dl>
          <Panel title="Restrictions">
            <Restriction label="Models" values={key.models} />
            <Restriction label="Endpoints" values={key.endpoints} />
          </Panel>
          {key.revoked_at === null && <BudgetPanel path={`/admin/keys/${id}/budget`} />}
          {secret && <KeyDialog secret={secret} onClose={() => setSecret(undefined)} />}
        </PageLayout>
      )}
    </ResourcePage>
  )
}

interface RestrictionProps {
  readonly label: string
  /** Missing: all. */
  readonly values: readonly string[] | undefined
}

function Restriction({ label, values }: RestrictionProps) {
  return (
    <p>
      {label}: {values === undefined ? <span class="muted">all</span> : null}
      {values?.map((value) => (
        <span key={value}>
          <Badge>{value}</Badge>{' '}
        </span>
      ))}
    </p>
  )
}

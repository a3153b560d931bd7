import { post } from '../lib/api.ts'
import { href, route } from '../lib/router.ts'
import type { ApiKey } from '../lib/schemas.ts'
import { ChangeButton } from '../ui/dialogs.tsx'
import { type FieldSpecs, fieldsOf } from '../ui/fields.tsx'
import { useAddress } from '../ui/page.tsx'
import { Badge, Time } from '../ui/values.tsx'
import type { ItemProps, ResourceSpec } from './resource.tsx'

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
        <b>{name ?? 'unnamed'}</b> <a href={href(`/${route.value.path.join('/')}`, { key: id })}>{id}</a>{' '}
        {revoked_at && <Badge>revoked</Badge>} {isExpired && !revoked_at && <Badge>expired</Badge>}
        <small class="muted block">
          <a href={href('/requests', { key: id })}>Requests</a> ·{' '}
          {models && `models: ${models.join(', ')} · `}
          {last_used_at ? 'used ' : 'never used'}
          {last_used_at && <Time value={last_used_at} relative />}
          {expires_at && ' · expires '}
          {expires_at && <Time value={expires_at} />}
        </small>
      </span>
      {actions}
    </li>
  )
}

import { useState } from 'preact/hooks'
import { post } from '../lib/api.ts'
import { useData } from '../lib/data.ts'
import { href } from '../lib/router.ts'
import type { ApiKey, IssuedApiKey } from '../lib/schemas.ts'
import { hasRole } from '../lib/session.ts'
import { ChangeButton, KeyDialog, RemoveButton } from '../ui/dialogs.tsx'
import type { FieldSpecs } from '../ui/fields.tsx'
import { Empty, Panel, ResourceView, useAddress } from '../ui/page.tsx'
import { Badge, Time } from '../ui/values.tsx'

const NEW: FieldSpecs = [
  { name: 'name', label: 'Name', hint: 'Such as the program that uses it.' },
  { name: 'expires_at', label: 'Expires', type: 'datetime-local', hint: 'Empty: never.' },
]

const ROTATION: FieldSpecs = [
  {
    name: 'hours',
    label: 'Hours until the old key expires',
    type: 'number',
    hint: 'Both keys are valid until then.',
  },
]

/** The API keys of a user. A new key is shown once. */
export function KeyPanel({ userId }: { readonly userId: number }) {
  const path = `/admin/users/${userId}/keys`
  const keys = useData<readonly ApiKey[]>(path)
  const [secret, setSecret] = useState<string>()

  async function issue(url: string, body: object, reason: string) {
    const { key } = await post<IssuedApiKey>(url, body, { reason })
    keys.reload()
    setSecret(key)
  }

  const actionsOf = (id: string) => (
    <span class="actions">
      <ChangeButton
        label="Rotate"
        kind="quiet"
        title="Rotate the key"
        fields={ROTATION}
        value={{ hours: 24 }}
        onSave={({ hours = 0 }, reason) =>
          issue(`/admin/keys/${id}/rotate`, { overlap_seconds: Math.round(Number(hours) * 3600) }, reason)
        }
      >
        <p>A new key with the same name and restrictions is created.</p>
      </ChangeButton>
      <RemoveButton
        label="Revoke"
        kind="quiet"
        title="Revoke the key?"
        path={`/admin/keys/${id}`}
        onRemoved={keys.reload}
      >
        <p>Requests with the key are refused immediately.</p>
      </RemoveButton>
    </span>
  )
  const isAdmin = hasRole('admin')
  const create = isAdmin && (
    <ChangeButton
      label="New key"
      action="Create"
      fields={NEW}
      onSave={(body, reason) => issue(path, body, reason)}
    />
  )
  return (
    <Panel title="API keys" actions={create}>
      <ResourceView resource={keys}>
        {(list) => (
          <>
            {list.length === 0 && <Empty>No keys.</Empty>}
            <ul class="list">
              {list.map((key) => (
                <KeyRow key={key.id} apiKey={key} userId={userId} actions={isAdmin && actionsOf(key.id)} />
              ))}
            </ul>
          </>
        )}
      </ResourceView>
      {secret && <KeyDialog secret={secret} onClose={() => setSecret(undefined)} />}
    </Panel>
  )
}

interface KeyRowProps {
  readonly apiKey: ApiKey
  readonly userId: number
  /** What can be done with the key while it is not revoked. */
  readonly actions: preact.ComponentChildren
}

function KeyRow({ apiKey, userId, actions }: KeyRowProps) {
  const { id, name, models, expires_at, revoked_at, last_used_at } = apiKey
  const address = useAddress<HTMLLIElement>('key', id)
  const isExpired = expires_at !== undefined && Date.parse(expires_at) <= Date.now()
  return (
    <li {...address} class={`spread ${revoked_at || isExpired ? 'off' : ''}`}>
      <span>
        <b>{name ?? 'unnamed'}</b> <a href={href(`/users/${userId}`, { key: id })}>{id}</a>{' '}
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
      {!revoked_at && actions}
    </li>
  )
}

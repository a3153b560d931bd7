import { useState } from 'preact/hooks'
import { get, send } from '../lib/api.ts'
import { useResource } from '../lib/resource.ts'
import { href } from '../lib/router.ts'
import { hasRole } from '../lib/session.ts'
import type { ApiKey } from '../lib/types.ts'
import { ChangeDialog, KeyDialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/fields.tsx'
import { Empty, Panel, ResourceView } from '../ui/page.tsx'
import { Badge, Time } from '../ui/values.tsx'

interface IssuedKey {
  readonly id: string
  readonly key: string
}

type OpenDialog = { readonly type: 'create' } | { readonly type: 'rotate' | 'revoke'; readonly key: ApiKey }

/** The API keys of a user. A new key is shown once. */
export function KeyPanel({ userId }: { readonly userId: number }) {
  const path = `/admin/users/${userId}/keys`
  const keys = useResource(path, () => get<readonly ApiKey[]>(path))
  const [dialog, setDialog] = useState<OpenDialog>()
  const [secret, setSecret] = useState<string>()
  const close = () => setDialog(undefined)
  const isAdmin = hasRole('admin')

  async function issue(url: string, body: object, reason: string) {
    const { data } = await send<{ data: IssuedKey }>('POST', url, body, { reason })
    keys.reload()
    setSecret(data.key)
  }

  const create = isAdmin && (
    <button type="button" onClick={() => setDialog({ type: 'create' })}>
      New key
    </button>
  )
  return (
    <Panel title="API keys" actions={create}>
      <ResourceView resource={keys}>
        {(list) =>
          list.length === 0 ? (
            <Empty>No keys.</Empty>
          ) : (
            <ul class="list">
              {list.map((key) => (
                <KeyRow key={key.id} apiKey={key} onOpen={isAdmin ? setDialog : undefined} />
              ))}
            </ul>
          )
        }
      </ResourceView>
      {dialog?.type === 'create' && (
        <NewKey onClose={close} onCreate={(body, reason) => issue(path, body, reason)} />
      )}
      {dialog?.type === 'rotate' && (
        <RotateKey
          onClose={close}
          onRotate={(body, reason) => issue(`/admin/keys/${dialog.key.id}/rotate`, body, reason)}
        />
      )}
      {dialog?.type === 'revoke' && (
        <ChangeDialog
          title="Revoke the key?"
          action="Revoke"
          isDangerous
          onClose={close}
          onSave={(reason) =>
            send('DELETE', `/admin/keys/${dialog.key.id}`, undefined, { reason }).then(keys.reload)
          }
        >
          <p>Requests with the key are refused immediately.</p>
        </ChangeDialog>
      )}
      {!dialog && secret && <KeyDialog secret={secret} onClose={() => setSecret(undefined)} />}
    </Panel>
  )
}

interface KeyRowProps {
  readonly apiKey: ApiKey
  readonly onOpen: ((dialog: OpenDialog) => void) | undefined
}

function KeyRow({ apiKey, onOpen }: KeyRowProps) {
  const { id, name, models, expires_at, revoked_at, last_used_at } = apiKey
  const isExpired = expires_at !== undefined && Date.parse(expires_at) <= Date.now()
  return (
    <li class={`spread ${revoked_at || isExpired ? 'off' : ''}`}>
      <span>
        <b>{name ?? 'unnamed'}</b> <a href={href('/requests', { key: id })}>{id}</a>{' '}
        {revoked_at && <Badge>revoked</Badge>} {isExpired && !revoked_at && <Badge>expired</Badge>}
        <small class="muted block">
          {models && `models: ${models.join(', ')} · `}
          {last_used_at ? (
            <>
              used <Time value={last_used_at} relative />
            </>
          ) : (
            'never used'
          )}
          {expires_at && (
            <>
              {' '}
              · expires <Time value={expires_at} />
            </>
          )}
        </small>
      </span>
      {onOpen && !revoked_at && (
        <span class="actions">
          <button type="button" class="quiet" onClick={() => onOpen({ type: 'rotate', key: apiKey })}>
            Rotate
          </button>
          <button type="button" class="quiet" onClick={() => onOpen({ type: 'revoke', key: apiKey })}>
            Revoke
          </button>
        </span>
      )}
    </li>
  )
}

interface NewKeyProps {
  readonly onCreate: (body: object, reason: string) => Promise<void>
  readonly onClose: () => void
}

function NewKey({ onCreate, onClose }: NewKeyProps) {
  const [name, setName] = useState('')
  const [expiry, setExpiry] = useState('')
  const body = {
    ...(name && { name }),
    ...(expiry && { expires_at: new Date(expiry).toISOString() }),
  }
  return (
    <ChangeDialog
      title="New key"
      action="Create"
      onSave={(reason) => onCreate(body, reason)}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onInput={setName} hint="Such as the program that uses it." />
      <TextField
        label="Expires"
        type="datetime-local"
        value={expiry}
        onInput={setExpiry}
        hint="Empty: never."
      />
    </ChangeDialog>
  )
}

interface RotateKeyProps {
  readonly onRotate: (body: object, reason: string) => Promise<void>
  readonly onClose: () => void
}

function RotateKey({ onRotate, onClose }: RotateKeyProps) {
  const [hours, setHours] = useState('24')
  const body = { overlap_seconds: Math.round(Number(hours) * 3600) }
  return (
    <ChangeDialog
      title="Rotate the key"
      action="Rotate"
      onSave={(reason) => onRotate(body, reason)}
      onClose={onClose}
    >
      <p>A new key with the same name and restrictions is created.</p>
      <TextField
        label="Hours until the old key expires"
        type="number"
        value={hours}
        onInput={setHours}
        hint="Both keys are valid until then."
      />
    </ChangeDialog>
  )
}

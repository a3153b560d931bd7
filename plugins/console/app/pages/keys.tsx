import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { get, send } from '../lib/api.ts'
import { useResource } from '../lib/resource.ts'
import { href } from '../lib/router.ts'
import { hasRole } from '../lib/session.ts'
import type { ApiKey } from '../lib/types.ts'
import { ChangeDialog, KeyDialog } from '../ui/dialog.tsx'
import { ConfirmButton, DialogButton } from '../ui/dialog-button.tsx'
import { TextField } from '../ui/fields.tsx'
import { Empty, Panel, ResourceView } from '../ui/page.tsx'
import { useAddress } from '../ui/use-address.ts'
import { Badge, Time } from '../ui/values.tsx'

interface IssuedKey {
  readonly id: string
  readonly key: string
}

/** The API keys of a user. A new key is shown once. */
export function KeyPanel({ userId }: { readonly userId: number }) {
  const path = `/admin/users/${userId}/keys`
  const keys = useResource(path, () => get<readonly ApiKey[]>(path))
  const [secret, setSecret] = useState<string>()
  const isAdmin = hasRole('admin')

  async function issue(url: string, body: object, reason: string) {
    const { data } = await send<{ data: IssuedKey }>('POST', url, body, { reason })
    keys.reload()
    setSecret(data.key)
  }

  const create = isAdmin && (
    <DialogButton label="New key">
      {(close) => <NewKey onClose={close} onIssue={(body, reason) => issue(path, body, reason)} />}
    </DialogButton>
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
                <KeyRow key={key.id} apiKey={key} userId={userId}>
                  {isAdmin && <KeyActions id={key.id} onIssue={issue} onRevoked={keys.reload} />}
                </KeyRow>
              ))}
            </ul>
          )
        }
      </ResourceView>
      {secret && <KeyDialog secret={secret} onClose={() => setSecret(undefined)} />}
    </Panel>
  )
}

interface KeyActionsProps {
  readonly id: string
  readonly onIssue: (url: string, body: object, reason: string) => Promise<void>
  readonly onRevoked: () => void
}

function KeyActions({ id, onIssue, onRevoked }: KeyActionsProps) {
  const path = `/admin/keys/${id}`
  return (
    <span class="actions">
      <DialogButton label="Rotate" kind="quiet">
        {(close) => (
          <RotateKey onClose={close} onIssue={(body, reason) => onIssue(`${path}/rotate`, body, reason)} />
        )}
      </DialogButton>
      <ConfirmButton
        label="Revoke"
        kind="quiet"
        title="Revoke the key?"
        onConfirm={(reason) => send('DELETE', path, undefined, { reason }).then(onRevoked)}
      >
        <p>Requests with the key are refused immediately.</p>
      </ConfirmButton>
    </span>
  )
}

interface KeyRowProps {
  readonly apiKey: ApiKey
  readonly userId: number
  /** What can be done with the key while it is not revoked. */
  readonly children: ComponentChildren
}

function KeyRow({ apiKey, userId, children }: KeyRowProps) {
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
      {!revoked_at && children}
    </li>
  )
}

interface IssueProps {
  readonly onIssue: (body: object, reason: string) => Promise<void>
  readonly onClose: () => void
}

function NewKey({ onIssue, onClose }: IssueProps) {
  const [name, setName] = useState('')
  const [expiry, setExpiry] = useState('')
  const body = {
    ...(name && { name }),
    ...(expiry && { expires_at: new Date(expiry).toISOString() }),
  }
  return (
    <IssueDialog title="New key" action="Create" body={body} onIssue={onIssue} onClose={onClose}>
      <TextField label="Name" value={name} onInput={setName} hint="Such as the program that uses it." />
      <TextField
        label="Expires"
        type="datetime-local"
        value={expiry}
        onInput={setExpiry}
        hint="Empty: never."
      />
    </IssueDialog>
  )
}

function RotateKey({ onIssue, onClose }: IssueProps) {
  const [hours, setHours] = useState('24')
  const body = { overlap_seconds: Math.round(Number(hours) * 3600) }
  return (
    <IssueDialog title="Rotate the key" action="Rotate" body={body} onIssue={onIssue} onClose={onClose}>
      <p>A new key with the same name and restrictions is created.</p>
      <TextField
        label="Hours until the old key expires"
        type="number"
        value={hours}
        onInput={setHours}
        hint="Both keys are valid until then."
      />
    </IssueDialog>
  )
}

interface IssueDialogProps extends IssueProps {
  readonly title: string
  readonly action: string
  readonly body: object
  readonly children: ComponentChildren
}

function IssueDialog({ body, onIssue, ...dialog }: IssueDialogProps) {
  return <ChangeDialog {...dialog} onSave={(reason) => onIssue(body, reason)} />
}

import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type ApiError, endpointUrl, send } from '../lib/api.ts'
import { loadNames } from '../lib/names.ts'
import { toError } from '../lib/resource.ts'
import { href } from '../lib/router.ts'
import type { Policy, UserAccount } from '../lib/types.ts'
import { CopyButton } from '../ui/copy-button.tsx'
import { ChangeDialog } from '../ui/dialog.tsx'
import { DialogButton } from '../ui/dialog-button.tsx'
import { TextField } from '../ui/fields.tsx'
import { ErrorMessage } from '../ui/page.tsx'

interface StepProps {
  readonly title: string
  readonly isDone: boolean
  readonly children: ComponentChildren
}

function Step({ title, isDone, children }: StepProps) {
  return (
    <li>
      <b class={isDone ? 'done' : ''}>
        {title} {isDone && <span>✓ done</span>}
      </b>
      <div>{children}</div>
    </li>
  )
}

export function ProviderKeys({ configured }: { readonly configured: readonly string[] }) {
  return (
    <Step title="Connect a provider" isDone={configured.length > 0}>
      {configured.length > 0 ? (
        <p>Configured: {configured.join(', ')}.</p>
      ) : (
        <p>
          No provider has a key, so the built-in sandbox answers, and nothing costs money. Keys are set where
          the gateway is started, not here: <code>OPENAI_API_KEY=… npx signalbox start</code>, or{' '}
          <code>OPENAI_API_KEY_FILE</code> with the name of a file.
        </p>
      )}
    </Step>
  )
}

/** The key that was created here, for the line below. It is in no storage, and gone with the page. */
const newKey = signal('')

interface FirstKeyProps {
  readonly users: readonly UserAccount[]
  readonly onCreated: () => void
}

export function FirstKey({ users, onCreated }: FirstKeyProps) {
  const isDone = users.some(({ keys }) => keys.length > 0)
  useEffect(
    () => () => {
      newKey.value = ''
    },
    [],
  )
  return (
    <Step title="Create a user with an API key" isDone={isDone}>
      {isDone && (
        <p>
          The user <a href={href(`/users/${users[0]?.id}`)}>{users[0]?.name}</a> has a key. A key is shown
          only when it is created.
        </p>
      )}
      <DialogButton label={isDone ? 'Create another user' : 'Create a user'}>
        {(close) => <FirstUserDialog onCreated={onCreated} onClose={close} />}
      </DialogButton>
      {newKey.value && (
        <p>
          The key, which is not shown again: <code class="secret">{newKey.value}</code>{' '}
          <CopyButton text={newKey.value} />
        </p>
      )}
    </Step>
  )
}

interface FirstUserProps {
  readonly onCreated: () => void
  readonly onClose: () => void
}

function FirstUserDialog({ onCreated, onClose }: FirstUserProps) {
  const [name, setName] = useState('')
  async function create(reason: string) {
    const user = await send<{ data: UserAccount }>('POST', '/admin/users', { name, plan: 'paid' }, { reason })
    const path = `/admin/users/${user.data.id}/keys`
    const key = await send<{ data: { key: string } }>('POST', path, {}, { reason })
    newKey.value = key.data.key
    onCreated()
    await loadNames()
  }
  return (
    <ChangeDialog title="Create a user" action="Create" onSave={create} onClose={onClose}>
      <TextField label="Name" value={name} onInput={setName} required maxLength={128} />
    </ChangeDialog>
  )
}

const EXAMPLE = { model: 'auto', messages: [{ role: 'user', content: 'Write to ada@example.com' }] }

export function FirstRequest({ isDone }: { readonly isDone: boolean }) {
  const key = newKey.value || '$SIGNALBOX_KEY'
  const line = `curl ${endpointUrl('/v1/chat/completions')} \\
  -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" \\
  -d '${JSON.stringify(EXAMPLE)}'`
  return (
    <Step title="Send a request" isDone={isDone}>
      <pre>
        <code>{line}</code>
      </pre>
      <CopyButton text={line} label="Copy the line" />
      {isDone ? (
        <p>
          It is among the <a href={href('/requests')}>requests</a>.
        </p>
      ) : (
        <p class="muted" role="status">
          Waiting for the first request…
        </p>
      )}
    </Step>
  )
}

interface FirstRuleProps {
  readonly user: UserAccount | undefined
  readonly onCreated: () => void
}

const FIRST_RULE = {
  name: 'E-mail addresses',
  is_enabled: true,
  priority: 0,
  scope: 'prompt',
  type: 'preset',
  pattern: 'email',
  action: 'mask',
}

/** Shows what a rule does to the request above, and makes it. */
export function FirstRule({ user, onCreated }: FirstRuleProps) {
  const [masked, setMasked] = useState<string>()
  const [error, setError] = useState<ApiError>()
  async function simulate() {
    const body = { user_id: user?.id, request: EXAMPLE, drafts: { firewall: [FIRST_RULE] } }
    setError(undefined)
    type Simulated = { data: { request: { messages: { content: string }[] } | null } }
    const { data } = await send<Simulated>('POST', '/admin/simulate', body)
    setMasked(data.request?.messages.at(-1)?.content ?? '')
  }
  async function create(reason: string) {
    const policy = { name: 'Personal data', is_enabled: true, priority: 0, applies_to: { everyone: true } }
    const { data } = await send<{ data: Policy }>('POST', '/admin/policies', policy, { reason })
    const operations = [{ kind: 'firewall', op: 'create', data: FIRST_RULE }]
    await send('POST', `/admin/policies/${data.id}/rules/batch`, { operations }, { reason })
    onCreated()
  }
  return (
    <Step title="Make a rule" isDone={false}>
      <p>For example, a policy that masks e-mail addresses in the requests of everyone.</p>
      <div class="actions">
        {user && (
          <button
            type="button"
            onClick={() => simulate().catch((thrown: unknown) => setError(toError(thrown)))}
          >
            Show its effect
          </button>
        )}
        <DialogButton label="Make the policy">
          {(close) => <ChangeDialog title="Make the policy" action="Make" onSave={create} onClose={close} />}
        </DialogButton>
        <a href={href('/policies')}>Make another one</a>
      </div>
      {error && <ErrorMessage error={error} />}
      {masked !== undefined && (
        <p role="status">
          The provider would get: <code>{masked}</code>
        </p>
      )}
    </Step>
  )
}

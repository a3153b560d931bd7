import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { endpointUrl, get, type Page, post, read } from '../lib/api.ts'
import { useAction, useInterval, useResource } from '../lib/data.ts'
import { users as userNames } from '../lib/names.ts'
import { href } from '../lib/router.ts'
import type { GatewayStatus, IssuedApiKey, Policy, RequestRecord, Simulation, User } from '../lib/schemas.ts'
import { hasRole } from '../lib/session.ts'
import { ChangeButton, CopyButton } from '../ui/dialogs.tsx'
import { ErrorMessage } from '../ui/page.tsx'

const REFRESH_MS = 3000

/** With so many requests, somebody knows how it works. */
const KNOWN_REQUESTS = 10

async function loadState() {
  const [users, requests, policies, { attention, providers }] = await Promise.all([
    read<Page<User>>('/admin/users', { limit: 2 }),
    read<Page<RequestRecord>>('/admin/requests', { limit: KNOWN_REQUESTS }),
    get<readonly Policy[]>('/admin/policies', { limit: 1 }),
    get<GatewayStatus>('/admin/status'),
  ])
  // The sandbox stands in for all providers.
  const usesSandbox = attention.some(({ code }) => code === 'sandbox')
  const configured = usesSandbox ? [] : providers.filter(({ is_configured }) => is_configured)
  return {
    configured: configured.map(({ provider }) => provider),
    users: users.data,
    requests: requests.data.length,
    policies,
  }
}

/** Leads through the first steps: a key of a provider, a user, a request, and a rule with its effect. */
export function FirstRun() {
  const { data, reload } = useResource('first-run', loadState)
  const isOver =
    data === undefined || data.requests >= KNOWN_REQUESTS || (data.requests > 0 && data.policies.length > 0)
  useInterval(isOver ? undefined : REFRESH_MS, reload)
  if (isOver || !hasRole('admin')) return null
  return (
    <section class="panel first-run" aria-label="First steps">
      <h2>First steps</h2>
      <ol>
        <ProviderKeys configured={data.configured} />
        <FirstKey users={data.users} onCreated={reload} />
        <FirstRequest isDone={data.requests > 0} />
        <FirstRule user={data.users[0]} onCreated={reload} />
      </ol>
    </section>
  )
}

function Step({ title, isDone, children }: { title: string; isDone: boolean; children: ComponentChildren }) {
  return (
    <li>
      <b class={isDone ? 'done' : ''}>
        {title} {isDone && <span>✓ done</span>}
      </b>
      <div>{children}</div>
    </li>
  )
}

function ProviderKeys({ configured }: { readonly configured: readonly string[] }) {
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
  readonly users: readonly User[]
  readonly onCreated: () => void
}

function FirstKey({ users: [first, ...others], onCreated }: FirstKeyProps) {
  const isDone = [first, ...others].some((user) => user && user.keys.length > 0)
  useEffect(
    () => () => {
      newKey.value = ''
    },
    [],
  )
  async function create({ name }: { readonly name?: unknown }, reason: string) {
    const user = await post<User>('/admin/users', { name, plan: 'paid' }, { reason })
    const { key } = await post<IssuedApiKey>(`/admin/users/${user.id}/keys`, {}, { reason })
    newKey.value = key
    userNames.add([user])
    onCreated()
  }
  return (
    <Step title="Create a user with an API key" isDone={isDone}>
      {isDone && (
        <p>
          The user <a href={href(`/users/${first?.id}`)}>{first?.name}</a> has a key. A key is shown only when
          it is created.
        </p>
      )}
      <ChangeButton
        label={isDone ? 'Create another user' : 'Create a user'}
        title="Create a user"
        action="Create"
        fields={[{ name: 'name', label: 'Name', required: true, maxLength: 128 }]}
        onSave={create}
      />
      {newKey.value && (
        <p>
          The key, which is not shown again: <code class="secret">{newKey.value}</code>{' '}
          <CopyButton text={newKey.value} />
        </p>
      )}
    </Step>
  )
}

const EXAMPLE = { model: 'auto', messages: [{ role: 'user', content: 'Write to ada@example.com' }] }

function FirstRequest({ isDone }: { readonly isDone: boolean }) {
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
function FirstRule({ user, onCreated }: { user: User | undefined; onCreated: () => void }) {
  const [masked, setMasked] = useState<string>()
  const simulation = useAction(async () => {
    const body = { user_id: user?.id, request: EXAMPLE, drafts: { firewall: [FIRST_RULE] } }
    const { request } = await post<Simulation>('/admin/simulate', body)
    const messages = (request?.messages ?? []) as readonly { readonly content: string }[]
    setMasked(messages.at(-1)?.content ?? '')
  })
  async function create(reason: string) {
    const policy = { name: 'Personal data', is_enabled: true, priority: 0, applies_to: { everyone: true } }
    const { id } = await post<Policy>('/admin/policies', policy, { reason })
    const operations = [{ kind: 'firewall', op: 'create', data: FIRST_RULE }]
    await post(`/admin/policies/${id}/rules/batch`, { operations }, { reason })
    onCreated()
  }
  return (
    <Step title="Make a rule" isDone={false}>
      <p>For example, a policy that masks e-mail addresses in the requests of everyone.</p>
      <div class="actions">
        {user && (
          <button type="button" onClick={simulation.start}>
            Show its effect
          </button>
        )}
        <ChangeButton label="Make the policy" action="Make" onSave={(_, reason) => create(reason)} />
        <a href={href('/policies')}>Make another one</a>
      </div>
      {simulation.error && <ErrorMessage error={simulation.error} />}
      {masked !== undefined && (
        <p role="status">
          The provider would get: <code>{masked}</code>
        </p>
      )}
    </Step>
  )
}

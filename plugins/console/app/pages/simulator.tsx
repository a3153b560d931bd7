import { useState } from 'preact/hooks'
import { type ApiError, send } from '../lib/api.ts'
import { userNames } from '../lib/names.ts'
import { toError } from '../lib/resource.ts'
import { route } from '../lib/router.ts'
import { isOperator } from '../lib/session.ts'
import type { TraceEntry } from '../lib/types.ts'
import { Form, SelectField, TextField } from '../ui/fields.tsx'
import { ErrorMessage, PageLayout, Panel } from '../ui/page.tsx'
import { Badge } from '../ui/values.tsx'
import { Trace } from './request.tsx'

interface Simulation {
  readonly outcome: 'allowed' | 'refused'
  readonly error?: { readonly code: string; readonly message?: string }
  readonly request: {
    readonly messages?: readonly { readonly role: string; readonly content: unknown }[]
  } | null
  readonly warnings: readonly { readonly message: string }[]
  readonly rule_trace: readonly TraceEntry[]
  readonly routing_reason: string | null
  readonly targets: readonly { readonly provider: string; readonly model: string }[]
  readonly rules_position: number
}

/** Decides about a request without sending it, with the rules of now or of then. */
export function SimulatorPage() {
  const { query } = route.value
  const users = [...userNames.value]
  const [user, setUser] = useState(query.get('user') ?? '')
  const [asOf, setAsOf] = useState(query.get('at') ?? '')
  const [model, setModel] = useState('auto')
  const [text, setText] = useState('')
  const [result, setResult] = useState<Simulation>()
  const [error, setError] = useState<ApiError>()
  const chosenUser = user || String(users[0]?.[0] ?? '')

  async function run() {
    const request = { model, messages: [{ role: 'user', content: text }] }
    const as_of = /^\d+$/.test(asOf) ? Number(asOf) : asOf
    const at = asOf === '' ? {} : { as_of }
    const body = isOperator() ? { user_id: Number(chosenUser), request, ...at } : { ...request, ...at }
    const path = isOperator() ? '/admin/simulate' : '/v1/simulate'
    setError(undefined)
    await send<{ data: Simulation }>('POST', path, body).then(
      ({ data }) => setResult(data),
      (thrown: unknown) => setError(toError(thrown)),
    )
  }

  return (
    <PageLayout title="Simulator">
      <p class="muted">The same code as for live requests. No provider is called, and nothing is recorded.</p>
      <Form onSubmit={run} class="panel" label="Simulated request">
        <div class="row">
          {isOperator() && (
            <SelectField
              label="User"
              value={chosenUser}
              options={users.map(([id, name]) => [String(id), name] as const)}
              onChange={setUser}
            />
          )}
          <TextField label="Model" value={model} onInput={setModel} required />
          <TextField
            label="Rules as of"
            value={asOf}
            onInput={setAsOf}
            placeholder="now"
            hint="A position of the log, or a time with a zone."
          />
        </div>
        <TextField label="Message of the user" rows={4} value={text} onInput={setText} required />
        <div class="actions end">
          <button type="submit" class="primary">
            Simulate
          </button>
        </div>
      </Form>
      {error && <ErrorMessage error={error} />}
      {result && <Outcome {...result} />}
    </PageLayout>
  )
}

function Outcome({
  outcome,
  error,
  request,
  warnings,
  rule_trace,
  routing_reason,
  targets,
  rules_position,
}: Simulation) {
  return (
    <output class="grid">
      <Panel title="Outcome">
        <p>
          <Badge tone={outcome === 'allowed' ? 'good' : 'bad'}>{outcome}</Badge> {error?.message}
        </p>
        {request?.messages?.map(({ role, content }) => (
          <pre key={role}>{typeof content === 'string' ? content : JSON.stringify(content, null, 2)}</pre>
        ))}
        {routing_reason && <p class="muted">{routing_reason}</p>}
        {targets.length > 0 && (
          <p>Tried in order: {targets.map(({ provider, model }) => `${provider}/${model}`).join(', ')}</p>
        )}
        {warnings.map(({ message }) => (
          <p key={message} class="muted">
            {message}
          </p>
        ))}
        <p class="muted">Rules at position {rules_position}</p>
      </Panel>
      <Trace entries={rule_trace} rules={[]} />
    </output>
  )
}

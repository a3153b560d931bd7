import { useState } from 'preact/hooks'
import { ApiError, get, orElse, post } from '../lib/api.ts'
import { useAction, useResource } from '../lib/data.ts'
import { href, route } from '../lib/router.ts'
import type { RecordedPrompt, Simulation } from '../lib/schemas.ts'
import { isOperator, root } from '../lib/session.ts'
import { UserPicker, useChosenUser } from '../ui/combobox.tsx'
import { Form, SelectField, TextField } from '../ui/fields.tsx'
import { ErrorMessage, PageLayout, ResourceView } from '../ui/page.tsx'
import { Badge } from '../ui/values.tsx'
import { SimulatedCall } from './simulated-call.tsx'
import { SimulationOutcome } from './simulation-outcome.tsx'

/** Decides about a request without sending it, with the rules of now or of then. */
export function SimulatorPage() {
  const id = isOperator() ? route.value.query.get('request') : null
  const prompt = useResource(`prompt ${id}`, () => loadPrompt(id))
  return (
    <PageLayout title="Simulator">
      <p class="muted">The same code as for live requests. No provider is called, and nothing is recorded.</p>
      <ResourceView resource={prompt}>
        {(recorded) => (
          <>
            {id && <RecordedNote id={id} prompt={recorded} />}
            <Simulator recorded={recorded?.request ?? undefined} />
          </>
        )}
      </ResourceView>
    </PageLayout>
  )
}

/** Reads what is recorded of a request. Null: nothing is. */
async function loadPrompt(id: string | null): Promise<RecordedPrompt | null> {
  if (id === null) return null
  return get<RecordedPrompt | null>(`/admin/requests/${encodeURIComponent(id)}/prompt`).catch(orElse(null))
}

function RecordedNote({ id, prompt }: { readonly id: string; readonly prompt: RecordedPrompt | null }) {
  const link = <a href={href(`/requests/${id}`)}>{id}</a>
  if (!prompt?.request) return <p class="notice">The prompt of {link} is not recorded. Enter it below.</p>
  const missing = prompt.left_out.length > 0 && ` Not recorded: ${prompt.left_out.join(', ')}.`
  return (
    <p class="notice">
      The recorded prompt of {link}, in the form of chat completions.{missing} That it was read is in the
      audit trail.
    </p>
  )
}

const SUBJECTS = [
  ['request', 'a request'],
  ['call', 'a call of a tool'],
] as const

/** The form. A recorded request is shown as JSON. */
function Simulator({ recorded }: { readonly recorded: RecordedPrompt['request'] | undefined }) {
  const { query } = route.value
  const { user, set: setUser, error: userError } = useChosenUser(query.get('user') ?? '')
  const [asOf, setAsOf] = useState(query.get('at') ?? '')
  const [subject, setSubject] = useState('request')
  const [model, setModel] = useState('auto')
  const [text, setText] = useState(recorded ? JSON.stringify(recorded, null, 2) : '')
  const [result, setResult] = useState<Simulation>()
  const at = asOf === '' ? {} : { as_of: /^\d+$/.test(asOf) ? Number(asOf) : asOf }
  const terms = { ...(isOperator() && { user_id: Number(user) }), ...at }
  const simulation = useAction(async () => {
    const request = recorded ? parseRequest(text) : { model, messages: [{ role: 'user', content: text }] }
    const body = isOperator() ? { request, ...terms } : { ...request, ...terms }
    setResult(await post<Simulation>(`${root()}/simulate`, body))
  })

  return (
    <>
      <div class="row">
        {!recorded && <SelectField label="What" value={subject} options={SUBJECTS} onChange={setSubject} />}
        {isOperator() && <UserPicker value={user} onChange={setUser} required />}
        <TextField
          label="Rules as of"
          value={asOf}
          onInput={setAsOf}
          placeholder="now"
          hint="A position of the log, or a time with a zone."
        />
      </div>
      {userError && <ErrorMessage error={userError} />}
      {subject === 'call' ? (
        <SimulatedCall terms={terms} />
      ) : (
        <>
          <Form onSubmit={simulation.start} class="panel" label="Simulated request">
            {!recorded && <TextField label="Model" value={model} onInput={setModel} required />}
            {recorded ? (
              <TextField label="Request" rows={12} value={text} onInput={setText} required mono />
            ) : (
              <TextField label="Message of the user" rows={4} value={text} onInput={setText} required />
            )}
            <div class="actions end">
              <button type="submit" class="primary">
                Simulate
              </button>
            </div>
          </Form>
          {simulation.error && <ErrorMessage error={simulation.error} />}
          {result && <Outcome {...result} />}
        </>
      )}
    </>
  )
}

function parseRequest(text: string): object {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ApiError(0, `The request is no valid JSON: ${(error as Error).message}`)
  }
}

/** What was decided about a request. */
export function Outcome(simulation: Simulation) {
  const { outcome, error, request, routing_reason, targets } = simulation
  const messages = (request?.messages ?? []) as readonly { readonly content: unknown }[]
  return (
    <SimulationOutcome simulation={simulation}>
      <p>
        <Badge tone={outcome === 'allowed' ? 'good' : 'bad'}>{outcome}</Badge> {error?.message}
      </p>
      {messages.map(({ content }, index) => (
        <pre key={index}>{typeof content === 'string' ? content : JSON.stringify(content, null, 2)}</pre>
      ))}
      {routing_reason && <p class="muted">{routing_reason}</p>}
      {targets.length > 0 && (
        <p>Tried in order: {targets.map(({ provider, model }) => `${provider}/${model}`).join(', ')}</p>
      )}
    </SimulationOutcome>
  )
}

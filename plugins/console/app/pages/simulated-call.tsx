import { useState } from 'preact/hooks'
import { ApiError, get, post } from '../lib/api.ts'
import { useAction, useResource } from '../lib/data.ts'
import type { PinnedTool, ToolServer, ToolSimulation } from '../lib/schemas.ts'
import { isOperator, root } from '../lib/session.ts'
import {
  CheckField,
  type FieldSpecs,
  Fields,
  Form,
  toBody,
  toDraftValues,
  type Values,
} from '../ui/fields.tsx'
import { JsonText } from '../ui/json.tsx'
import { ErrorMessage, ResourceView } from '../ui/page.tsx'
import { SimulationOutcome } from './simulation-outcome.tsx'
import { VerdictBadge } from './tool-calls.tsx'

const MAX_OPTIONS = 100

/** Decides about a call of a tool without making it. */
export function SimulatedCall({ terms }: { readonly terms: Values }) {
  const servers = useResource('simulated servers', async () =>
    isOperator() ? get<readonly ToolServer[]>('/admin/tool-servers', { limit: MAX_OPTIONS }) : [],
  )
  return (
    <ResourceView resource={servers}>{(loaded) => <CallForm terms={terms} servers={loaded} />}</ResourceView>
  )
}

interface CallFormProps {
  /** Whose call it is, and by the rules of when: fields of the body. */
  readonly terms: Values
  readonly servers: readonly ToolServer[]
}

function CallForm({ terms, servers }: CallFormProps) {
  const [values, setValues] = useState<Values>(() => toDraftValues(toSpecs([], []), {}))
  const [read, setRead] = useState<readonly string[]>([])
  const [result, setResult] = useState<ToolSimulation>()
  const id = servers.find(({ name }) => name === values.server)?.id
  const tools = useResource(`simulated tools ${id}`, async () =>
    id === undefined
      ? []
      : get<readonly PinnedTool[]>(`/admin/tool-servers/${id}/tools`, { limit: MAX_OPTIONS }),
  )
  const specs = toSpecs(servers, tools.data ?? [])
  const simulation = useAction(async () => {
    const call = toBody(specs, values)
    if (call === undefined) throw new ApiError(0, 'The arguments are no JSON object.')
    setResult(await post<ToolSimulation>(`${root()}/simulate`, { tool_call: { ...call, read }, ...terms }))
  })
  const error = simulation.error ?? tools.error

  return (
    <>
      <Form onSubmit={simulation.start} class="panel" label="Simulated call of a tool">
        <Fields specs={specs} values={values} onChange={setValues} />
        {servers.length > 0 && (
          <fieldset class="choices">
            <legend>The session has read results of</legend>
            {servers.map(({ name }) => (
              <CheckField
                key={name}
                label={name}
                checked={read.includes(name)}
                onChange={(has) => setRead(has ? [...read, name] : read.filter((other) => other !== name))}
              />
            ))}
          </fieldset>
        )}
        <div class="actions end">
          <button type="submit" class="primary">
            Simulate
          </button>
        </div>
      </Form>
      {error && <ErrorMessage error={error} />}
      {result && <CallOutcome {...result} />}
    </>
  )
}

/** Users are not told which servers there are, and write the names. */
function toSpecs(servers: readonly ToolServer[], tools: readonly PinnedTool[]): FieldSpecs {
  const choose = (named: readonly { readonly name: string }[]) =>
    isOperator() ? { options: [['', '–'] as const, ...named.map(({ name }) => name)] } : { required: true }
  return [
    [
      { name: 'server', label: 'Server', ...choose(servers), also: () => ({ tool: '' }) },
      { name: 'tool', label: 'Tool', ...choose(tools) },
    ],
    { name: 'arguments', label: 'Arguments', type: 'json', rows: 5, mono: true },
  ]
}

function CallOutcome(simulation: ToolSimulation) {
  const { verdict, rule, error, tool_call } = simulation
  return (
    <SimulationOutcome simulation={simulation}>
      <p>
        <VerdictBadge verdict={verdict} /> {error?.message}
      </p>
      <p>{rule ? `The rule ${rule.name} decides.` : 'No tool rule decides.'}</p>
      {tool_call && <JsonText label="Arguments that would be sent" value={tool_call.arguments} />}
    </SimulationOutcome>
  )
}

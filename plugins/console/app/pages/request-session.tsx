import { useData } from '../lib/data.ts'
import { formatCount } from '../lib/format.ts'
import type { AgentSessionWithSteps, RequestRecord } from '../lib/schemas.ts'
import { isOperator, root } from '../lib/session.ts'
import { Table } from '../ui/list.tsx'
import { Panel, ResourceView } from '../ui/page.tsx'
import { SessionLink } from '../ui/values.tsx'
import { STEPS } from './sessions.tsx'

/** Steps that are read, and those of them that are shown before and after the request. */
const MAX_STEPS = 200
const BESIDE = 5

const [, ...COLUMNS] = STEPS

/** What the same agent did before and after a request. */
export function SessionOfRequest({ record, id }: { readonly record: RequestRecord; readonly id: string }) {
  const { x_request_id, user_id } = record
  const query = { user: isOperator() ? user_id : null, limit: MAX_STEPS }
  const session = useData<AgentSessionWithSteps>(`${root()}/sessions/${encodeURIComponent(id)}`, query)
  return (
    <Panel title="The session around it" actions={<SessionLink id={id} user={user_id} />}>
      <ResourceView resource={session}>
        {({ requests, tool_calls, steps }) => {
          const index = steps.findIndex((step) => step.id === x_request_id)
          const from = Math.max(0, index - BESIDE)
          const shown = steps.slice(from, index === -1 ? 2 * BESIDE : index + BESIDE + 1)
          return (
            <>
              <p class="muted">
                {formatCount(requests)} requests and {formatCount(tool_calls)} calls of tools in all.
                {index !== -1 && ` This one is step ${index + 1}.`}
              </p>
              <Table
                columns={COLUMNS}
                items={shown}
                keyOf={({ kind, id }) => kind + id}
                row={(step) => (step.id === x_request_id ? { 'aria-current': 'true' } : {})}
              />
            </>
          )
        }}
      </ResourceView>
    </Panel>
  )
}

import { endpointUrl } from '../lib/api.ts'
import { useData } from '../lib/data.ts'
import { formatBytes, formatMs, humanize } from '../lib/format.ts'
import { users } from '../lib/names.ts'
import { useOptionalRange } from '../lib/range.ts'
import { href, type PageProps } from '../lib/router.ts'
import type { ToolCall } from '../lib/schemas.ts'
import { isOperator, root } from '../lib/session.ts'
import { chosenFilters, type Filter, Filters } from '../ui/filters.tsx'
import { type Column, PagedList, VirtualTable } from '../ui/list.tsx'
import { Empty, Links, PageLayout, Panel, ResourceView } from '../ui/page.tsx'
import { RangePicker } from '../ui/range-picker.tsx'
import {
  ActionBadge,
  Badge,
  PolicyLink,
  pastRulesLink,
  SessionLink,
  Stat,
  Time,
  type Tone,
  UserLink,
} from '../ui/values.tsx'

/** Calls of tools: the list, or one of them. */
export function ToolCallPages({ path: [id] }: PageProps) {
  return id === undefined ? <ToolCallList /> : <ToolCallPage id={id} />
}

const VERDICT_TONES: Readonly<Record<ToolCall['verdict'], Tone>> = {
  ...{ allowed: 'good', approved: 'good', pending_approval: 'warn', denied: 'bad', hidden: 'bad' },
  ...{ blocked: 'bad', not_served: 'warn', failed: 'warn' },
}

const VERDICTS = Object.keys(VERDICT_TONES).map((verdict) => [verdict, humanize(verdict)] as const)

const CALLERS: readonly Filter[] = [
  { name: 'user', type: 'user' },
  { name: 'group', type: 'group' },
]

const FILTERS: readonly Filter[] = [
  { name: 'verdict', label: 'Verdict', options: [['', 'all'], ...VERDICTS] },
  { name: 'server', type: 'text' },
  { name: 'tool', type: 'text' },
  { name: 'rule' },
]

const SESSION: Filter = { name: 'session_id', label: 'Session', type: 'text' }

function ToolCallList() {
  const path = `${root()}/tool-calls`
  const filters = [...FILTERS, ...(isOperator() ? CALLERS : []), SESSION]
  const chosen = { ...chosenFilters(filters), ...useOptionalRange() }
  return (
    <PageLayout title="Tool calls" actions={<RangePicker hasAll />}>
      <Filters filters={filters} />
      <PagedList<ToolCall>
        path={path}
        query={{ ...chosen, limit: 50 }}
        empty="No tool calls match. Agents call tools of the tool servers at /mcp."
      >
        {(calls) => (
          <VirtualTable
            name="tool-calls"
            csv={endpointUrl(path, { ...chosen, format: 'csv' })}
            columns={COLUMNS}
            items={calls}
            keyOf={({ id }) => id}
          />
        )}
      </PagedList>
    </PageLayout>
  )
}

const nameOf = ({ server, tool }: ToolCall) => `${tool} at ${server}`

export function VerdictBadge({ verdict }: Pick<ToolCall, 'verdict'>) {
  return <Badge tone={VERDICT_TONES[verdict]}>{humanize(verdict)}</Badge>
}

const COLUMNS: readonly Column<ToolCall>[] = [
  {
    title: 'Time',
    value: ({ time }) => time,
    cell: ({ id, time }) => (
      <a href={href(`/tool-calls/${id}`)}>
        <Time value={time} />
      </a>
    ),
  },
  {
    title: 'Verdict',
    value: ({ verdict }) => humanize(verdict),
    cell: ({ verdict, error_code }) => (
      <>
        <VerdictBadge verdict={verdict} /> {error_code && <small class="muted">{error_code}</small>}
      </>
    ),
  },
  { title: 'Tool', value: nameOf },
  {
    title: 'User',
    value: ({ user_id }) => users.of(user_id),
    cell: ({ user_id }) => <UserLink id={user_id} />,
  },
  { title: 'Session', isOptional: true, class: 'clip', value: ({ session_id }) => session_id },
  {
    title: 'Rules',
    cell: ({ rules }) =>
      rules.map(({ kind, id, action }) => <ActionBadge key={`${kind}${id}`} action={action} />),
  },
  {
    title: 'Arguments',
    kind: 'number',
    isOptional: true,
    value: ({ request_bytes }) => request_bytes,
    format: formatBytes,
  },
  { title: 'Result', kind: 'number', value: ({ result_bytes }) => result_bytes, format: formatBytes },
  { title: 'Latency', kind: 'number', value: ({ duration_ms }) => duration_ms, format: formatMs },
]

/** What happened to a call, and why. */
function ToolCallPage({ id }: { readonly id: string }) {
  const call = useData<ToolCall>(`${root()}/tool-calls/${encodeURIComponent(id)}`)
  return (
    <PageLayout title={call.data ? nameOf(call.data) : `Tool call ${id}`}>
      <ResourceView resource={call}>{(loaded) => <ToolCallContent call={loaded} />}</ResourceView>
    </PageLayout>
  )
}

function ToolCallContent({ call }: { readonly call: ToolCall }) {
  const { user_id, session_id, revision, read: serversRead, warnings, error_code } = call
  return (
    <>
      <Links>
        <a href={href('/tool-calls')}>Tool calls</a>
        <a href={href('/tool-calls', { server: call.server, tool: call.tool })}>Calls of this tool</a>
        {pastRulesLink(call)}
      </Links>
      <dl class="stats">
        <Stat label="Verdict" value={<VerdictBadge verdict={call.verdict} />} note={error_code} />
        <Stat label="Time" value={<Time value={call.time} />} />
        <Stat label="User" value={<UserLink id={user_id} />} />
        <Stat label="Definition" value={revision === null ? 'none served' : `revision ${revision}`} />
        <Stat label="Arguments" value={formatBytes(call.request_bytes)} />
        <Stat label="Result" value={formatBytes(call.result_bytes)} />
        <Stat
          label="Latency"
          value={formatMs(call.duration_ms)}
          note={`server ${formatMs(call.upstream_ms)}`}
        />
        {session_id && <Stat label="Session" value={<SessionLink id={session_id} user={user_id} />} />}
      </dl>
      <div class="grid">
        <Panel title="Rules">
          {call.rules.length === 0 && <Empty>No rule matched: the default of the server applied.</Empty>}
          <ol class="list">
            {call.rules.map(({ kind, id, name, action, origin }) => (
              <li key={`${kind}${id}`}>
                <ActionBadge action={action} /> <b>{name}</b> <small class="muted">{kind} rule</small>
                {origin && (
                  <>
                    {' '}
                    of <PolicyLink origin={origin} rule={`${kind}:${id}`} />
                  </>
                )}
              </li>
            ))}
          </ol>
        </Panel>
        <Panel title="Call">
          <p>
            Digest of the arguments <code class="secret">{call.arguments_digest}</code>
          </p>
          <p>
            Read before in this session:{' '}
            {serversRead.length === 0 ? <span class="muted">nothing</span> : serversRead.join(', ')}
          </p>
          <p class="muted">
            Request <code>{call.id}</code>
          </p>
          {warnings.length > 0 && (
            <ul class="list">
              {warnings.map(({ code, message }) => (
                <li key={code + message}>{message}</li>
              ))}
            </ul>
          )}
        </Panel>
      </div>
    </>
  )
}

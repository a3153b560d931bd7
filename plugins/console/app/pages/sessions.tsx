import { useData } from '../lib/data.ts'
import { formatBytes, formatCount, formatMs, formatUsd } from '../lib/format.ts'
import { users } from '../lib/names.ts'
import { useOptionalRange } from '../lib/range.ts'
import { href, type PageProps, route } from '../lib/router.ts'
import type { AgentSession, AgentSessionWithSteps, SessionStep } from '../lib/schemas.ts'
import { isOperator, root } from '../lib/session.ts'
import { chosenFilters, type Filter, Filters } from '../ui/filters.tsx'
import { type Column, PagedList, VirtualTable } from '../ui/list.tsx'
import { PageLayout, ResourceView } from '../ui/page.tsx'
import { RangePicker } from '../ui/range-picker.tsx'
import { Badge, SessionLink, Stat, StatusBadge, Time, UserLink } from '../ui/values.tsx'
import { VerdictBadge } from './tool-calls.tsx'

/** Sessions of agents: the list, or what happened in one. */
export function SessionPages({ path: [id] }: PageProps) {
  return id === undefined ? <SessionList /> : <SessionPage id={id} user={route.value.query.get('user')} />
}

const CALLERS: readonly Filter[] = [{ name: 'user', type: 'user' }]

function SessionList() {
  const filters = isOperator() ? CALLERS : []
  return (
    <PageLayout title="Sessions" actions={<RangePicker hasAll />}>
      <Filters filters={filters} />
      <PagedList<AgentSession>
        path={`${root()}/sessions`}
        query={{ ...chosenFilters(filters), ...useOptionalRange(), limit: 40 }}
        empty="No session of an agent matches. Agents name theirs in a header, such as x-session-id."
      >
        {(sessions) => (
          <VirtualTable
            name="sessions"
            columns={COLUMNS}
            items={sessions}
            keyOf={({ user_id, session_id }) => `${user_id} ${session_id}`}
          />
        )}
      </PagedList>
    </PageLayout>
  )
}

/** How many of them went wrong, if any did. */
const share = (count: number, what: string) =>
  count > 0 && (
    <small class="muted">
      {formatCount(count)} {what}
    </small>
  )

const durationMsOf = ({ started_at, last_active_at }: AgentSession) =>
  Date.parse(last_active_at) - Date.parse(started_at)

const COLUMNS: readonly Column<AgentSession>[] = [
  {
    title: 'Session',
    class: 'clip',
    value: ({ session_id }) => session_id,
    cell: ({ session_id, user_id }) => <SessionLink id={session_id} user={user_id} />,
  },
  {
    title: 'Last active',
    value: ({ last_active_at }) => last_active_at,
    cell: ({ last_active_at }) => <Time value={last_active_at} />,
  },
  {
    title: 'Started',
    isOptional: true,
    value: ({ started_at }) => started_at,
    cell: ({ started_at }) => <Time value={started_at} />,
  },
  {
    title: 'User',
    value: ({ user_id }) => users.of(user_id),
    cell: ({ user_id }) => <UserLink id={user_id} />,
  },
  {
    title: 'Requests',
    kind: 'number',
    value: ({ requests }) => requests,
    format: formatCount,
    total: 'sum',
    cell: ({ requests, failed_requests }) => (
      <>
        {share(failed_requests, 'failed')} {formatCount(requests)}
      </>
    ),
  },
  {
    title: 'Tool calls',
    kind: 'number',
    value: ({ tool_calls }) => tool_calls,
    format: formatCount,
    total: 'sum',
    cell: ({ tool_calls, refused_tool_calls }) => (
      <>
        {share(refused_tool_calls, 'refused')} {formatCount(tool_calls)}
      </>
    ),
  },
  {
    title: 'Tokens',
    kind: 'number',
    value: ({ tokens }) => (tokens.input ?? 0) + (tokens.output ?? 0),
    format: formatCount,
    total: 'sum',
  },
  { title: 'Cost', kind: 'number', value: ({ cost_usd }) => cost_usd, format: formatUsd, total: 'sum' },
  { title: 'Duration', kind: 'number', value: durationMsOf, format: formatMs },
]

/** What one agent did, in order, and what it cost. */
function SessionPage({ id, user }: { readonly id: string; readonly user: string | null }) {
  const path = `${root()}/sessions/${encodeURIComponent(id)}`
  const sums = useData<AgentSessionWithSteps>(path, { user, limit: 1 })
  return (
    <PageLayout title={`Session ${id}`}>
      <ResourceView resource={sums}>
        {(session) => (
          <>
            <p>
              <a href={href('/sessions')}>Sessions</a> ·{' '}
              <a href={href('/requests', { session_id: id, user: user ?? undefined })}>Its requests</a> ·{' '}
              <a href={href('/tool-calls', { session_id: id, user: user ?? undefined })}>Its tool calls</a>
            </p>
            <SessionStats session={session} />
            <PagedList<SessionStep>
              path={path}
              query={{ user: session.user_id && isOperator() ? session.user_id : null, limit: 100 }}
              itemsOf={(data) => (data as AgentSessionWithSteps).steps}
              empty="Nothing of this session is recorded any more."
            >
              {(steps) => <VirtualTable columns={STEPS} items={steps} keyOf={({ kind, id }) => kind + id} />}
            </PagedList>
          </>
        )}
      </ResourceView>
    </PageLayout>
  )
}

function SessionStats({ session }: { readonly session: AgentSession }) {
  const { tokens, failed_requests, blocked_requests, refused_tool_calls, unknown_costs } = session
  const blocked = blocked_requests > 0 ? `, ${formatCount(blocked_requests)} by rules` : ''
  return (
    <dl class="stats">
      <Stat label="User" value={<UserLink id={session.user_id} />} />
      <Stat label="Started" value={<Time value={session.started_at} />} />
      <Stat
        label="Last active"
        value={<Time value={session.last_active_at} />}
        note={`after ${formatMs(durationMsOf(session))}`}
      />
      <Stat
        label="Requests"
        value={formatCount(session.requests)}
        note={failed_requests > 0 && `${formatCount(failed_requests)} failed${blocked}`}
      />
      <Stat
        label="Tool calls"
        value={formatCount(session.tool_calls)}
        note={refused_tool_calls > 0 && `${formatCount(refused_tool_calls)} refused`}
      />
      <Stat
        label="Tokens"
        value={`${formatCount(tokens.input ?? 0)} in, ${formatCount(tokens.output ?? 0)} out`}
      />
      <Stat
        label="Cost"
        value={formatUsd(session.cost_usd)}
        note={unknown_costs > 0 && `and ${formatCount(unknown_costs)} of unknown cost`}
      />
    </dl>
  )
}

export const STEPS: readonly Column<SessionStep>[] = [
  { title: 'No.', kind: 'number', cell: (_, index) => index + 1 },
  {
    title: 'Step',
    cell: (step) =>
      step.kind === 'request' ? (
        <>
          <Badge>model</Badge>{' '}
          <a href={href(`/requests/${step.id}`)}>{step.model ?? step.requested_model ?? 'any model'}</a>
        </>
      ) : (
        <>
          <Badge>tool</Badge>{' '}
          <a href={href(`/tool-calls/${step.id}`)}>
            {step.tool} at {step.server}
          </a>
        </>
      ),
  },
  {
    title: 'Outcome',
    cell: (step) => (
      <>
        {step.kind === 'request' ? (
          <StatusBadge status={step.status} />
        ) : (
          <VerdictBadge verdict={step.verdict} />
        )}{' '}
        {step.error_code && <small class="muted">{step.error_code}</small>}
      </>
    ),
  },
  { title: 'Time', cell: ({ time }) => <Time value={time} /> },
  {
    title: 'Size',
    kind: 'number',
    cell: (step) =>
      step.kind === 'tool_call'
        ? formatBytes(step.result_bytes)
        : step.tokens && `${formatCount((step.tokens.input ?? 0) + (step.tokens.output ?? 0))} tokens`,
  },
  {
    title: 'Cost',
    kind: 'number',
    cell: (step) => (step.kind === 'request' ? formatUsd(step.cost_usd) : ''),
  },
  {
    title: 'Latency',
    kind: 'number',
    cell: (step) => formatMs(step.kind === 'request' ? step.latency_ms : step.duration_ms),
  },
]

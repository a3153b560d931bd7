import { useEffect, useRef, useState } from 'preact/hooks'
import { endpointUrl } from '../lib/api.ts'
import { useData, useLiveRequests } from '../lib/data.ts'
import { formatCount, formatMs, formatUsd } from '../lib/format.ts'
import { users } from '../lib/names.ts'
import { rememberRequests } from '../lib/neighbours.ts'
import { useRange } from '../lib/range.ts'
import { href, type PageProps } from '../lib/router.ts'
import type { Percentiles, RequestFigures, RequestRecord } from '../lib/schemas.ts'
import { isOperator, root } from '../lib/session.ts'
import { CheckField } from '../ui/fields.tsx'
import { chosenFilters, type Filter, Filters } from '../ui/filters.tsx'
import { type Column, PagedList, VirtualTable } from '../ui/list.tsx'
import { PageLayout } from '../ui/page.tsx'
import { RangePicker } from '../ui/range-picker.tsx'
import { ActionBadge, LiveBadge, Stat, StatusBadge, Time, UserLink } from '../ui/values.tsx'
import { RequestPage, ScoreBadge } from './request.tsx'

export function RequestsPage({ path: [id] }: PageProps) {
  return id === undefined ? <RequestList /> : <RequestPage id={id} />
}

const ACTIONS = ['block', 'mask', 'warn', 'set_model', 'set_mode', 'set_provider']

const CALLERS: readonly Filter[] = [
  { name: 'user', type: 'user' },
  { name: 'group', type: 'group' },
]

const OUTCOME: readonly Filter[] = [
  { name: 'status', type: 'text' },
  { name: 'q', label: 'Error', type: 'text' },
]

const OTHERS: readonly Filter[] = [
  { name: 'model', type: 'text' },
  { name: 'provider', type: 'text' },
  { name: 'action', label: 'Action', options: [['', 'all'], ...ACTIONS] },
  { name: 'rule', type: 'text', placeholder: 'firewall:12' },
  { name: 'session_id', label: 'Session', type: 'text' },
  { name: 'max_score', label: 'Score up to', type: 'text', placeholder: '0.4' },
  { name: 'key' },
  { name: 'endpoint' },
]

/** The request explorer. Its filters are in the address. */
function RequestList() {
  const path = `${root()}/requests`
  const [isLive, setLive] = useState(false)
  const filters = [...OUTCOME, ...(isOperator() ? CALLERS : []), ...OTHERS]
  const chosen = { ...chosenFilters(filters), ...useRange() }
  return (
    <PageLayout
      title="Requests"
      actions={
        <>
          {isOperator() && <CheckField label="Live" checked={isLive} onChange={setLive} />}
          <RangePicker />
        </>
      }
    >
      <Filters filters={filters} />
      {isLive && <LiveRequests filters={chosen} />}
      <Figures filters={chosen} />
      <PagedList<RequestRecord>
        path={path}
        query={{ ...chosen, limit: 50 }}
        maxPage={1000}
        empty="No requests match. Choose a longer range, or fewer filters."
      >
        {(requests) => (
          <RequestTable requests={requests} csv={endpointUrl(path, { ...chosen, format: 'csv' })} />
        )}
      </PagedList>
    </PageLayout>
  )
}

/** Of all requests that pass the filters, not of those that are loaded. Those of before stay meanwhile. */
function Figures({ filters }: { readonly filters: Readonly<Record<string, string>> }) {
  const { data, error } = useData<RequestFigures>(`${root()}/request-figures`, filters)
  const last = useRef<RequestFigures | undefined>(undefined)
  if (data) last.current = data
  // The list has the cause.
  if (error) return <p class="muted">The figures of the requests cannot be read at the moment.</p>
  if (!last.current) return null
  const { requests, is_truncated, errors, cost_usd, unknown_costs, latency_ms, first_token_ms } = last.current
  return (
    <dl class="stats">
      <Stat label="Requests" value={formatCount(requests)} note={is_truncated && 'the newest of more'} />
      <Stat
        label="Failed"
        value={formatCount(errors)}
        note={errors > 0 && `${Math.round((errors / requests) * 1000) / 10} %`}
      />
      <Stat
        label="Cost"
        value={formatUsd(cost_usd)}
        note={unknown_costs > 0 && `and ${formatCount(unknown_costs)} of unknown cost`}
      />
      <LatencyStat label="Latency" of={latency_ms} />
      <LatencyStat label="First token" of={first_token_ms} />
    </dl>
  )
}

function LatencyStat({ label, of }: { readonly label: string; readonly of: Percentiles | null }) {
  const note = of && `p90 ${formatMs(of.p90)}, p99 ${formatMs(of.p99)}`
  return <Stat label={`${label}, median`} value={formatMs(of?.p50)} note={note} />
}

interface RequestTableProps {
  readonly requests: readonly RequestRecord[]
  readonly csv: string
}

function RequestTable({ requests, csv }: RequestTableProps) {
  useEffect(() => rememberRequests(requests.map(keyOf)), [requests])
  return <VirtualTable name="requests" csv={csv} columns={COLUMNS} items={requests} keyOf={keyOf} />
}

const MAX_LIVE = 100

const LIVE_FILTERS = ['user', 'key', 'status', 'provider', 'model', 'endpoint', 'action']

/** Requests as they end, newest first. */
function LiveRequests({ filters }: { readonly filters: Readonly<Record<string, string>> }) {
  const [requests, setRequests] = useState<readonly RequestRecord[]>([])
  const chosen = Object.fromEntries(LIVE_FILTERS.map((name) => [name, filters[name]]))
  const state = useLiveRequests(chosen, (record) => setRequests((old) => [record, ...old].slice(0, MAX_LIVE)))
  useEffect(() => setRequests([]), [JSON.stringify(chosen)])
  return (
    <section class="panel live" aria-label="Live requests">
      <p>
        <LiveBadge state={state} />{' '}
        {requests.length === 0 && <span class="muted">Requests appear here as they end.</span>}
      </p>
      {requests.length > 0 && <VirtualTable columns={LIVE_COLUMNS} items={requests} keyOf={keyOf} />}
    </section>
  )
}

const keyOf = ({ x_request_id }: RequestRecord) => x_request_id

const COLUMNS: readonly Column<RequestRecord>[] = [
  {
    title: 'Time',
    value: ({ time }) => time,
    cell: ({ x_request_id, time }) => (
      <a href={href(`/requests/${x_request_id}`)}>
        <Time value={time} />
      </a>
    ),
  },
  {
    title: 'Status',
    value: ({ status }) => status,
    cell({ status, error, feedback }) {
      const quality = feedback.find(({ name }) => name === 'quality')
      return (
        <>
          <StatusBadge status={status} /> {error && <small class="muted">{error.code}</small>}
          {quality && <ScoreBadge score={quality.score} />}
        </>
      )
    },
  },
  {
    title: 'User',
    value: ({ user_id }) => users.of(user_id),
    cell: ({ user_id }) => <UserLink id={user_id} />,
  },
  {
    title: 'Model',
    value: ({ model, requested_model }) => model ?? requested_model,
    cell: ({ model, requested_model, deployment }) =>
      model === null ? (
        <span class="muted">{requested_model ?? '–'}</span>
      ) : (
        <>
          {model} {deployment && <small class="muted">{deployment}</small>}
        </>
      ),
  },
  {
    title: 'Rules',
    cell: ({ rule_trace }) =>
      rule_trace
        .filter(({ outcome }) => outcome === 'applied')
        .map(({ kind, rule_id, action }) => (
          <ActionBadge key={`${kind}${rule_id}${action}`} action={action} />
        )),
  },
  { title: 'Provider', isOptional: true, value: ({ provider }) => provider },
  { title: 'Endpoint', isOptional: true, value: ({ endpoint }) => endpoint },
  { title: 'Session', isOptional: true, class: 'clip', value: ({ session_id }) => session_id },
  {
    title: 'Tokens in',
    kind: 'number',
    isOptional: true,
    value: ({ tokens }) => tokens?.input,
    format: formatCount,
    total: 'sum',
  },
  {
    title: 'Tokens out',
    kind: 'number',
    isOptional: true,
    value: ({ tokens }) => tokens?.output,
    format: formatCount,
    total: 'sum',
  },
  {
    title: 'Cost',
    kind: 'number',
    value: ({ cost_usd }) => cost_usd,
    cell: ({ cost_usd }) => formatUsd(cost_usd),
    format: formatUsd,
    total: 'sum',
  },
  { title: 'Latency', kind: 'number', value: ({ latency_ms }) => latency_ms, format: formatMs },
]

const LIVE_COLUMNS = COLUMNS.filter(({ isOptional }) => !isOptional).map(({ total: _, ...column }) => column)

import { useEffect, useState } from 'preact/hooks'
import { endpointUrl } from '../lib/api.ts'
import { formatMs, formatUsd } from '../lib/format.ts'
import { useLiveRequests } from '../lib/live.ts'
import { href, type PageProps, route, setQuery } from '../lib/router.ts'
import { isOperator } from '../lib/session.ts'
import type { RequestRecord } from '../lib/types.ts'
import { DateFilter } from '../ui/date-filter.tsx'
import { CheckField, SelectField } from '../ui/fields.tsx'
import { FilterText } from '../ui/filter-text.tsx'
import { LiveBadge } from '../ui/live-badge.tsx'
import { Empty, PageLayout } from '../ui/page.tsx'
import { PagedList } from '../ui/paged-list.tsx'
import { CallerFilters } from '../ui/pickers.tsx'
import { ActionBadge, StatusBadge, Time, UserLink } from '../ui/values.tsx'
import { VirtualTable } from '../ui/virtual-list.tsx'
import { ScoreBadge } from './feedback-panel.tsx'
import { RequestPage } from './request.tsx'

export function RequestsPage({ path: [id] }: PageProps) {
  return id === undefined ? <RequestList /> : <RequestPage id={id} />
}

const FILTERS = [
  'user',
  'group',
  'key',
  'rule',
  'action',
  'status',
  'model',
  'provider',
  'endpoint',
  'q',
  'max_score',
  'since',
  'until',
]

const ACTIONS = ['block', 'mask', 'warn', 'set_model', 'set_mode', 'set_provider']

/** The request explorer. Its filters are in the address. */
function RequestList() {
  const { query } = route.value
  const path = isOperator() ? '/admin/requests' : '/v1/requests'
  const [isLive, setLive] = useState(false)
  const chosen: Record<string, string> = {}
  for (const name of FILTERS) chosen[name] = query.get(name) ?? ''
  const others = ['key', 'rule', 'endpoint'].filter((name) => chosen[name])
  return (
    <PageLayout
      title="Requests"
      actions={isOperator() && <CheckField label="Live" checked={isLive} onChange={setLive} />}
    >
      <search class="filters">
        <SelectField
          label="Action"
          value={chosen.action ?? ''}
          options={[['', 'all'], ...ACTIONS]}
          onChange={(action) => setQuery({ action })}
        />
        {isOperator() && <CallerFilters chosen={chosen} />}
        {['status', 'model', 'provider'].map((name) => (
          <FilterText key={name} name={name} value={chosen[name] ?? ''} />
        ))}
        <FilterText name="q" label="Error" value={chosen.q ?? ''} />
        <FilterText name="max_score" label="Score up to" value={chosen.max_score ?? ''} placeholder="0.4" />
        <DateFilter name="since" value={chosen.since ?? ''} />
        <DateFilter name="until" value={chosen.until ?? ''} isEnd />
        {others.map((name) => (
          <button key={name} type="button" onClick={() => setQuery({ [name]: undefined })}>
            {name} {chosen[name]} ✕
          </button>
        ))}
        <a class="button" href={endpointUrl(path, { ...chosen, format: 'csv' })} download="requests.csv">
          Export CSV
        </a>
      </search>
      {isLive && <LiveRequests filters={chosen} />}
      <PagedList<RequestRecord> path={path} query={{ ...chosen, limit: 50 }}>
        {(requests) =>
          requests.length === 0 ? <Empty>No requests match.</Empty> : <RequestTable requests={requests} />
        }
      </PagedList>
    </PageLayout>
  )
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
      {requests.length > 0 && <RequestTable requests={requests} />}
    </section>
  )
}

function RequestTable({ requests }: { readonly requests: readonly RequestRecord[] }) {
  return (
    <VirtualTable
      columns={['Time', 'Status', 'User', 'Model', 'Rules', { number: 'Cost' }, { number: 'Latency' }]}
      items={requests}
      row={(request) => (
        <tr key={request.x_request_id}>
          <td>
            <a href={href(`/requests/${request.x_request_id}`)}>
              <Time value={request.time} />
            </a>
          </td>
          <td>
            <StatusBadge status={request.status} />{' '}
            {request.error && <small class="muted">{request.error.code}</small>}
            <Score feedback={request.feedback} />
          </td>
          <td>
            <UserLink id={request.user_id} />
          </td>
          <td>{request.model ?? <span class="muted">{request.requested_model ?? '–'}</span>}</td>
          <td>
            {request.rule_trace
              .filter(({ outcome }) => outcome === 'applied')
              .map((entry) => (
                <ActionBadge key={`${entry.kind}${entry.rule_id}${entry.action}`} action={entry.action} />
              ))}
          </td>
          <td class="number">{formatUsd(request.cost_usd)}</td>
          <td class="number">{formatMs(request.latency_ms)}</td>
        </tr>
      )}
    />
  )
}

function Score({ feedback }: Pick<RequestRecord, 'feedback'>) {
  const quality = feedback.find(({ name }) => name === 'quality')
  return quality ? <ScoreBadge score={quality.score} /> : null
}

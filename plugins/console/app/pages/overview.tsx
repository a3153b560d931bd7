import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type Page, read } from '../lib/api.ts'
import { useData, useLiveRequests, useResource } from '../lib/data.ts'
import { toLiveFigures } from '../lib/figures.ts'
import { formatAge, formatCount, formatMs, formatUsd, humanize } from '../lib/format.ts'
import { toRangeQuery, useRangeData } from '../lib/range.ts'
import { href, route, setQuery } from '../lib/router.ts'
import type {
  Attention,
  GatewayStatus,
  Overview,
  OverviewPoint,
  RequestRecord,
  RuleChange,
} from '../lib/schemas.ts'
import { type ChartMark, TimeChart } from '../ui/charts.tsx'
import { CheckField } from '../ui/fields.tsx'
import { Empty, PageLayout, Panel, ResourceView } from '../ui/page.tsx'
import type { PlotContent } from '../ui/plot.ts'
import { RangePicker } from '../ui/range-picker.tsx'
import { ActorName, Badge, LiveBadge, Stat, Time, type Tone, UserLink } from '../ui/values.tsx'
import { FirstRun } from './first-run.tsx'

const REFRESH_MS = 10_000

/** What happens now and happened lately, and what needs attention. */
export function OverviewPage() {
  const isLive = route.value.query.get('live') === 'true'
  return (
    <PageLayout
      title="Overview"
      actions={
        <>
          <CheckField
            label="Live"
            checked={isLive}
            onChange={(live) => setQuery({ live: live ? 'true' : undefined })}
          />
          {!isLive && <RangePicker />}
        </>
      }
    >
      <FirstRun />
      {isLive ? <LiveOverview /> : <PastOverview />}
      <StatusPanels />
    </PageLayout>
  )
}

function PastOverview() {
  const overview = useRangeData<Overview>('/admin/overview', {}, REFRESH_MS)
  return <ResourceView resource={overview}>{(data) => <FigurePanels {...data} />}</ResourceView>
}

const STEP_MS = 5000
const STEPS = 60

/** The last five minutes, by the requests as they end. */
function LiveOverview() {
  const start = useResource('live', () => {
    const since = new Date(Date.now() - STEPS * STEP_MS).toISOString()
    return read<Page<RequestRecord>>('/admin/requests', { since, limit: 1000 })
  })
  return <ResourceView resource={start}>{({ data }) => <Live earlier={data} />}</ResourceView>
}

function Live({ earlier }: { readonly earlier: readonly RequestRecord[] }) {
  const records = useRef(new Map(earlier.map((record) => [record.x_request_id, record])))
  const [now, setNow] = useState(Date.now)
  const { data } = useData<Overview>('/admin/overview', { range: '1h' }, REFRESH_MS)
  const state = useLiveRequests({}, (record) => records.current.set(record.x_request_id, record))
  useEffect(() => {
    const timer = setInterval(() => {
      const oldest = Date.now() - (STEPS + 1) * STEP_MS
      for (const [id, { time }] of records.current) if (Date.parse(time) < oldest) records.current.delete(id)
      setNow(Date.now())
    }, 1000)
    return () => clearInterval(timer)
  }, [])
  const options = { now, stepMs: STEP_MS, steps: STEPS }
  const figures = useMemo(() => toLiveFigures([...records.current.values()], options), [now])
  return (
    <>
      <p>
        <LiveBadge state={state} /> <span class="muted">The last five minutes, by 5 seconds.</span>
      </p>
      <FigurePanels {...figures} changes={data?.changes ?? []} />
    </>
  )
}

type Figures = Pick<Overview, 'since' | 'until' | 'step_seconds' | 'totals' | 'series' | 'changes'>

/** What happened in a range, in total and over time, with marks where rules were changed. */
function FigurePanels(figures: Figures) {
  const { totals, changes } = figures
  const share = totals.requests === 0 ? '' : `${((totals.errors / totals.requests) * 100).toFixed(1)} %`
  const p95 = `p95 ${formatMs(totals.latency_p95_ms)}`
  return (
    <>
      <dl class="stats">
        <Stat label="Requests" value={formatCount(totals.requests)} />
        <Stat label="Errors" value={formatCount(totals.errors)} note={share} />
        <Stat label="Blocked" value={<RuleHits count={totals.blocks} />} />
        <Stat label="Masked" value={<RuleHits count={totals.masks} />} />
        <Stat label="Cost" value={formatUsd(totals.cost_usd)} />
        <Stat label="Latency" value={formatMs(totals.latency_p50_ms)} note={p95} />
      </dl>
      <FigureCharts {...figures} />
      <Panel title="Changes in this range">
        {changes.length === 0 && <Empty>Nobody changed a rule.</Empty>}
        <ul class="list">
          {changes.slice(0, 8).map(({ position, time, actor, summary, reason }) => (
            <li key={position}>
              <a href={href('/audit', { position })}>{summary}</a> by <ActorName actor={actor} />,{' '}
              <Time value={time} relative />
              {reason && <small class="muted"> “{reason}”</small>}
            </li>
          ))}
        </ul>
      </Panel>
    </>
  )
}

/** What rules did is known of requests that are recorded. */
function RuleHits({ count }: { readonly count: number | null }) {
  if (count !== null) return formatCount(count)
  return (
    <span class="muted" title={NOT_RECORDED}>
      –
    </span>
  )
}

const NOT_RECORDED =
  'Not known: some requests in this range are no longer recorded. Only sums of requests, errors and cost are.'

/** The requests of a step. */
export const requestsHref = (sinceMs: number, untilMs: number) =>
  href('/requests', toRangeQuery(sinceMs, untilMs))

function FigureCharts({ series: points, until, step_seconds, changes }: Figures) {
  const charts = useMemo(
    () =>
      CHARTS.map(({ lines, ...chart }) => ({
        ...chart,
        series: lines.map(([name, tone, read]) => ({ name, tone, values: points.map(read) })),
      })),
    [points],
  )
  const times = useMemo(() => points.map(({ time }) => Date.parse(time)), [points])
  const marks = useMemo(() => toMarks(changes), [changes])
  return (
    <div class="charts">
      {charts.map((chart) => (
        <TimeChart
          key={chart.title}
          {...chart}
          times={times}
          until={Date.parse(until)}
          stepMs={step_seconds * 1000}
          marks={marks}
          hrefOf={requestsHref}
        />
      ))}
    </div>
  )
}

export function toMarks(changes: readonly RuleChange[]): readonly ChartMark[] {
  return changes.map(({ time, actor, summary }) => ({ time, label: `${summary} (${actor.name})` }))
}

type ChartLine = readonly [name: string, tone: string, read: (point: OverviewPoint) => number | null]

interface FigureChart extends Pick<PlotContent, 'kind' | 'unit'> {
  readonly title: string
  readonly lines: readonly ChartLine[]
}

const CHARTS: readonly FigureChart[] = [
  {
    ...{ title: 'Requests', kind: 'bars', unit: 'count' },
    lines: [
      ['Answered', 'tone-1', ({ requests, errors }) => requests - errors],
      ['Errors', 'tone-2', ({ errors }) => errors],
    ],
  },
  {
    ...{ title: 'Latency', kind: 'lines', unit: 'ms' },
    lines: [
      ['p50', 'tone-1', ({ latency_p50_ms }) => latency_p50_ms],
      ['p95', 'tone-4', ({ latency_p95_ms }) => latency_p95_ms],
    ],
  },
  {
    ...{ title: 'Cost', kind: 'bars', unit: 'usd' },
    lines: [['US dollars', 'tone-3', ({ cost_usd }) => cost_usd]],
  },
  {
    ...{ title: 'Firewall', kind: 'bars', unit: 'count' },
    lines: [
      ['Blocked', 'tone-2', ({ blocks }) => blocks],
      ['Masked', 'tone-4', ({ masks }) => masks],
    ],
  },
]

const SEVERITIES: Readonly<Record<Attention['severity'], Tone>> = {
  info: 'info',
  warning: 'warn',
  error: 'bad',
}

const CIRCUITS: Readonly<Record<string, readonly [Tone, string]>> = {
  closed: ['good', 'available'],
  open: ['bad', 'circuit open'],
  half_open: ['warn', 'testing'],
}

/** What needs attention, and the health of what the gateway depends on. */
function StatusPanels() {
  const status = useData<GatewayStatus>('/admin/status', {}, REFRESH_MS)
  return (
    <ResourceView resource={status}>
      {(data) => (
        <div class="grid">
          <Panel title="Needs attention">
            {data.attention.length === 0 && <Empty>Nothing needs attention.</Empty>}
            <ul class="list">
              {data.attention.map(({ code, severity, message, rule, user_id }) => (
                <li key={code + message}>
                  <Badge tone={SEVERITIES[severity]}>{humanize(code)}</Badge> {message}{' '}
                  {rule?.origin && <a href={href(`/policies/${rule.origin.id}`)}>{rule.origin.name}</a>}
                  {user_id !== undefined && <UserLink id={user_id} />}
                </li>
              ))}
            </ul>
          </Panel>
          <Health {...data} />
        </div>
      )}
    </ResourceView>
  )
}

function Health({ providers, event_log, ledger, checkpoint }: GatewayStatus) {
  const covered = checkpoint && `${formatCount(checkpoint.size)} events, ${formatAge(checkpoint.time)}`
  return (
    <Panel title="Health">
      <ul class="list">
        {providers.map(({ provider, state, open_models, is_configured }) => {
          const [tone, text] = is_configured ? (CIRCUITS[state] ?? ['plain', state]) : ['plain', 'no key']
          return (
            <li key={provider} class="spread">
              <span>{provider}</span>
              <Badge tone={tone as Tone}>{text}</Badge>
              {open_models.length > 0 && <small class="muted">{open_models.join(', ')}</small>}
            </li>
          )
        })}
        <li class="spread">
          <span>Event log, position {formatCount(event_log.position)}</span>
          <Badge tone={event_log.state === 'following' ? 'good' : 'bad'}>{event_log.state}</Badge>
        </li>
        <li class="spread">
          <span>Request ledger</span>
          <Badge tone={ledger.is_available ? 'good' : 'bad'}>
            {ledger.is_available ? 'available' : 'unavailable'}
          </Badge>
        </li>
        <li class="spread">
          <span>Newest checkpoint</span>
          <a href={href('/audit')}>{covered ?? 'none yet'}</a>
        </li>
      </ul>
    </Panel>
  )
}

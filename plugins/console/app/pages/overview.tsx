import { useCallback } from 'preact/hooks'
import { get } from '../lib/api.ts'
import { formatCount, formatMs, formatUsd } from '../lib/format.ts'
import { useInterval, useResource } from '../lib/resource.ts'
import { href, route, setQuery } from '../lib/router.ts'
import type { Actor } from '../lib/types.ts'
import { LineChart } from '../ui/line-chart.tsx'
import { Empty, PageLayout, Panel, ResourceView } from '../ui/page.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { ActorName, Stat, Time } from '../ui/values.tsx'
import { FirstRun } from './first-run.tsx'
import { StatusPanels } from './status-panels.tsx'

interface Point {
  readonly requests: number
  readonly errors: number
  readonly blocks: number
  readonly masks: number
  readonly cost_usd: number
  readonly latency_p50_ms: number | null
  readonly latency_p95_ms: number | null
}

interface Overview {
  readonly totals: Point
  readonly series: readonly (Point & { readonly time: string })[]
  readonly changes: readonly OverviewChange[]
}

interface OverviewChange {
  readonly time: string
  readonly position: number
  readonly actor: Actor
  readonly summary: string
  readonly reason?: string
}

const RANGES = ['1h', '24h', '7d'] as const

const REFRESH_MS = 10_000

/** What happens now and happened lately, and what needs attention. */
export function OverviewPage() {
  const range = route.value.query.get('range') ?? '1h'
  const overview = useResource(range, () => get<Overview>('/admin/overview', { range }))
  useInterval(REFRESH_MS, useCallback(overview.reload, [range]))
  return (
    <PageLayout
      title="Overview"
      actions={
        <Tabs label="Period" tabs={RANGES} current={range} onSelect={(range) => setQuery({ range })} />
      }
    >
      <FirstRun />
      <ResourceView resource={overview}>{(data) => <Figures {...data} />}</ResourceView>
      <StatusPanels />
    </PageLayout>
  )
}

function Figures({ totals, series, changes }: Overview) {
  const times = series.map(({ time }) => time)
  const marks = changes.map(({ time, actor, summary }) => ({ time, label: `${summary} (${actor.name})` }))
  const share = totals.requests === 0 ? '' : `${((totals.errors / totals.requests) * 100).toFixed(1)} %`
  return (
    <>
      <dl class="stats">
        <Stat label="Requests" value={formatCount(totals.requests)} />
        <Stat label="Errors" value={formatCount(totals.errors)} note={share} />
        <Stat label="Blocked" value={formatCount(totals.blocks)} />
        <Stat label="Masked" value={formatCount(totals.masks)} />
        <Stat label="Cost" value={formatUsd(totals.cost_usd)} />
        <Stat
          label="Latency"
          value={formatMs(totals.latency_p50_ms)}
          note={`p95 ${formatMs(totals.latency_p95_ms)}`}
        />
      </dl>
      <div class="grid">
        {CHARTS.map(({ title, format, lines }) => (
          <LineChart
            key={title}
            title={title}
            times={times}
            marks={marks}
            format={format}
            series={lines.map(([name, tone, field]) => ({
              name,
              tone,
              values: series.map((point) => point[field]),
            }))}
          />
        ))}
      </div>
      <RecentChanges changes={changes} />
    </>
  )
}

interface Chart {
  readonly title: string
  readonly format: (value: number) => string
  readonly lines: readonly (readonly [name: string, tone: string, field: keyof Point])[]
}

const CHARTS: readonly Chart[] = [
  {
    title: 'Requests',
    format: formatCount,
    lines: [
      ['Requests', 'tone-1', 'requests'],
      ['Errors', 'tone-2', 'errors'],
    ],
  },
  {
    title: 'Firewall',
    format: formatCount,
    lines: [
      ['Blocked', 'tone-2', 'blocks'],
      ['Masked', 'tone-3', 'masks'],
    ],
  },
  {
    title: 'Latency',
    format: formatMs,
    lines: [
      ['p50', 'tone-1', 'latency_p50_ms'],
      ['p95', 'tone-4', 'latency_p95_ms'],
    ],
  },
  { title: 'Cost', format: formatUsd, lines: [['US dollars', 'tone-3', 'cost_usd']] },
]

function RecentChanges({ changes }: Pick<Overview, 'changes'>) {
  return (
    <Panel title="Changes in this period">
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
  )
}

import type { Figures, Overview } from '../lib/figures.ts'
import { formatCount, formatMs, formatUsd } from '../lib/format.ts'
import { href } from '../lib/router.ts'
import { LineChart } from '../ui/line-chart.tsx'
import { Empty, Panel } from '../ui/page.tsx'
import { ActorName, Stat, Time } from '../ui/values.tsx'

/** What happened in a period, in total and over time, with marks where rules were changed. */
export function OverviewFigures({ totals, series, changes }: Overview) {
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
  readonly lines: readonly (readonly [name: string, tone: string, field: keyof Figures])[]
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

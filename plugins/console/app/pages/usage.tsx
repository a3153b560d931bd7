import { useMemo } from 'preact/hooks'
import { get } from '../lib/api.ts'
import { useData, useResource } from '../lib/data.ts'
import { formatCount, formatTimes, formatUsd, humanize } from '../lib/format.ts'
import { groups } from '../lib/names.ts'
import { useRange, useRangeData } from '../lib/range.ts'
import { href, route, setQuery } from '../lib/router.ts'
import type { Overview, OwnBudgets, Usage } from '../lib/schemas.ts'
import { isOperator, root, seesEverything } from '../lib/session.ts'
import { type TimeRange, toWholeHours } from '../lib/time-range.ts'
import {
  measureUsage,
  toUsageSeries,
  toUsageSteps,
  USAGE_MEASURES,
  type UsageMeasure,
} from '../lib/usage-series.ts'
import { type ChartMark, Meter, TimeChart } from '../ui/charts.tsx'
import { type Column, VirtualTable } from '../ui/list.tsx'
import { Empty, PageLayout, Panel, ResourceView, Tabs } from '../ui/page.tsx'
import type { PlotContent } from '../ui/plot.ts'
import { RangePicker } from '../ui/range-picker.tsx'
import { ViewsButton } from '../ui/views.tsx'
import { BudgetLine, BudgetPanel } from './budgets.tsx'
import { requestsHref, toMarks } from './overview.tsx'

const DIMENSIONS = ['user', 'group', 'key', 'model', 'provider', 'rule', 'arm', 'day'] as const

type Dimension = (typeof DIMENSIONS)[number]

const OWN_DIMENSIONS = ['key', 'model', 'provider', 'rule', 'arm', 'day'] as const

/** Requests, tokens and cost by what the address names. */
export function UsagePage() {
  const { query } = route.value
  const dimensions = isOperator() ? DIMENSIONS : OWN_DIMENSIONS
  const by = (query.get('by') ?? 'model') as Dimension
  const names = isOperator() && ['user', 'key', 'rule'].includes(by) && { names: true }
  const usage = useRangeData<readonly Usage[]>(`${root()}/usage`, { group_by: by, ...names })
  return (
    <PageLayout
      title="Usage"
      actions={
        <>
          <Tabs label="By" tabs={dimensions} current={by} onSelect={(by) => setQuery({ by })} />
          <RangePicker />
          <ViewsButton />
        </>
      }
    >
      {!isOperator() && <OwnBudgetsPanel />}
      {seesEverything() && (
        <div class="grid">
          <BudgetPanel path="/admin/budget" title="Budget of everything together" />
          <BudgetPanel path="/admin/budget/shadow" title="Budget of copies for other models" />
        </div>
      )}
      <ResourceView resource={usage}>
        {(rows) => (
          <>
            <WholeHours />
            {rows.length > 0 && <UsageChart rows={rows} by={by} />}
            <UsageTable rows={rows} by={by} />
          </>
        )}
      </ResourceView>
    </PageLayout>
  )
}

/** The gateway sums up by hour, so usage of a range by minute is that of the hours around it. */
function WholeHours() {
  const hours = toWholeHours(useRange())
  if (hours === undefined) return null
  return <p class="muted">Usage is summed up by whole hours: {formatTimes(hours.since, hours.until)}.</p>
}

/** Groups that have a color. */
const MAX_SERIES = 6

/** The gateway returns no more groups. */
const MAX_ROWS = 10_000

const UNIT_OF: Readonly<Record<UsageMeasure, PlotContent['unit']>> = {
  requests: 'count',
  cost: 'usd',
  tokens: 'count',
}

const keyOf = (row: Usage, by: Dimension) => String(row[by])

/** Over time, by the groups with the most. Requests count for each of their rules and groups: lines. */
export function UsageChart({ rows, by }: { readonly rows: readonly Usage[]; readonly by: Dimension }) {
  const shown = route.value.query.get('show')
  const measure = USAGE_MEASURES.find((name) => name === shown) ?? 'requests'
  const range = useRange()
  const { since, until } = range
  const steps = useMemo(
    () => toUsageSteps(Date.parse(since), until === undefined ? Date.now() : Date.parse(until)),
    [since, until],
  )
  const isSplit = by !== 'day' && rows.length * steps.times.length <= MAX_ROWS
  const groupBy = isSplit ? [by, steps.dimension] : [steps.dimension]
  const query = { group_by: groupBy, ...range }
  const overTime = useData<readonly Usage[]>(`${root()}/usage`, query)
  const marks = useRuleMarks(range)
  const addsUp = by !== 'rule' && by !== 'group'
  const series = useMemo(() => {
    const most = rows.toSorted((a, b) => measureUsage(b, measure) - measureUsage(a, measure))
    const groups = isSplit
      ? most.slice(0, MAX_SERIES).map((row) => ({ key: keyOf(row, by), name: nameOf(row, by) }))
      : []
    const options = { groups, measure, addsUp: addsUp || !isSplit, keyOf: (row: Usage) => keyOf(row, by) }
    return toUsageSeries(overTime.data ?? [], steps, options)
  }, [rows, overTime.data, measure, steps])
  return (
    <div class="chart-choice">
      <Tabs label="Show" tabs={USAGE_MEASURES} current={measure} onSelect={(show) => setQuery({ show })} />
      <ResourceView resource={overTime}>
        {() => (
          <TimeChart
            title={humanize(measure).replace(/^./, (letter) => letter.toUpperCase())}
            kind={addsUp || !isSplit ? 'bars' : 'lines'}
            unit={UNIT_OF[measure]}
            times={steps.times}
            until={steps.until}
            stepMs={steps.stepMs}
            series={series}
            marks={marks}
            hrefOf={requestsHref}
          />
        )}
      </ResourceView>
    </div>
  )
}

const NO_MARKS: readonly ChartMark[] = []

/** Changes of rules in a range, for operators. */
function useRuleMarks(range: TimeRange): readonly ChartMark[] {
  const changes = useResource(`${range.since} ${range.until}`, async () =>
    isOperator() ? (await get<Overview>('/admin/overview', { ...range })).changes : [],
  )
  return useMemo(() => (changes.data ? toMarks(changes.data) : NO_MARKS), [changes.data])
}

const COUNT = { kind: 'number', format: formatCount } as const

function UsageTable({ rows, by }: { readonly rows: readonly Usage[]; readonly by: Dimension }) {
  // Requests count for each of their rules and groups.
  const total = by === 'rule' || by === 'group' ? {} : ({ total: 'sum' } as const)
  const max = Math.max(...rows.map(({ cost_usd }) => cost_usd))
  const sorted =
    by === 'day' ? rows : rows.toSorted((a, b) => b.cost_usd - a.cost_usd || b.requests - a.requests)
  const columns: readonly Column<Usage>[] = [
    {
      title: by.replace(/^./, (letter) => letter.toUpperCase()),
      value: (row) => nameOf(row, by),
      cell: (row) => <RowName by={by} row={row} />,
    },
    { title: 'Requests', ...COUNT, ...total, value: ({ requests }) => requests },
    { title: 'Errors', ...COUNT, ...total, value: ({ errors }) => errors },
    { title: 'Tokens in', ...COUNT, ...total, value: ({ tokens }) => tokens.input },
    { title: 'Tokens out', ...COUNT, ...total, value: ({ tokens }) => tokens.output },
    {
      title: 'Score',
      kind: 'number',
      value: ({ mean_score }) => mean_score,
      cell: ({ mean_score, ratings }) => (
        <>
          {mean_score === null ? '–' : mean_score.toFixed(2)}
          {ratings > 0 && <small class="muted block">{formatCount(ratings)} rated</small>}
        </>
      ),
    },
    {
      title: 'Cost',
      kind: 'number',
      ...total,
      value: (row) => row.cost_usd,
      format: formatUsd,
      cell: ({ cost_usd, unknown_costs }) => (
        <>
          {formatUsd(cost_usd)}
          {unknown_costs > 0 && <small class="muted block">{formatCount(unknown_costs)} unknown</small>}
        </>
      ),
    },
    {
      title: 'Share of the cost',
      kind: 'hidden',
      cell: (row) => <Meter value={row.cost_usd} max={max} label={`Cost of ${row[by]}`} />,
    },
  ]
  if (rows.length === 0) return <Empty>There were no requests in this range. Choose a longer one.</Empty>
  return <VirtualTable name="usage" columns={columns} items={sorted} keyOf={(row) => String(row[by])} />
}

function nameOf(row: Usage, by: Dimension): string {
  return by === 'group' ? groups.of(row.group) : (row.name ?? String(row[by] ?? 'none'))
}

/** Links to the requests that a row counts, if the explorer has such a filter. */
function RowName({ by, row }: { readonly by: Dimension; readonly row: Usage }) {
  const value = row[by]
  if (value == null) return <span class="muted">none</span>
  if (by === 'day' || by === 'arm') return <>{value}</>
  return (
    <a href={href('/requests', { [by]: value })} title={String(value)}>
      {nameOf(row, by)}
    </a>
  )
}

/** The budgets of the user who is signed in. */
export function OwnBudgetsPanel() {
  const budgets = useData<OwnBudgets>('/v1/budget')
  return (
    <Panel title="Budgets">
      <ResourceView resource={budgets}>
        {({ user, key }) => (
          <>
            {!user && !key && <Empty>No limit on what you spend.</Empty>}
            {user && <BudgetLine name="Yours" budget={user} />}
            {key && <BudgetLine name="This key" budget={key} />}
          </>
        )}
      </ResourceView>
    </Panel>
  )
}

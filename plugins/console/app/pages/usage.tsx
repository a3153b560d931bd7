import { useData } from '../lib/data.ts'
import { formatCount, formatUsd, sinceOf } from '../lib/format.ts'
import { groups } from '../lib/names.ts'
import { href, route, setQuery } from '../lib/router.ts'
import type { OwnBudgets, Usage } from '../lib/schemas.ts'
import { isOperator, root, seesEverything } from '../lib/session.ts'
import { Meter } from '../ui/charts.tsx'
import { type Column, Table } from '../ui/list.tsx'
import { Empty, PageLayout, Panel, ResourceView, Tabs } from '../ui/page.tsx'
import { BudgetLine, BudgetPanel } from './budgets.tsx'

const PERIODS = ['24h', '7d', '30d'] as const

const DIMENSIONS = ['user', 'group', 'key', 'model', 'provider', 'rule', 'arm', 'day'] as const

type Dimension = (typeof DIMENSIONS)[number]

const OWN_DIMENSIONS = ['key', 'model', 'provider', 'rule', 'arm', 'day'] as const

/** Requests, tokens and cost by what the address names. */
export function UsagePage() {
  const { query } = route.value
  const period = query.get('period') ?? '7d'
  const dimensions = isOperator() ? DIMENSIONS : OWN_DIMENSIONS
  const by = (query.get('by') ?? 'model') as Dimension
  const names = isOperator() && ['user', 'key', 'rule'].includes(by) && { names: true }
  const usage = useData<readonly Usage[]>(`${root()}/usage`, {
    group_by: by,
    since: sinceOf(period),
    ...names,
  })
  return (
    <PageLayout
      title="Usage"
      actions={
        <>
          <Tabs label="By" tabs={dimensions} current={by} onSelect={(by) => setQuery({ by })} />
          <Tabs label="Period" tabs={PERIODS} current={period} onSelect={(period) => setQuery({ period })} />
        </>
      }
    >
      {!isOperator() && <OwnBudgetsPanel />}
      {seesEverything() && (
        <>
          <BudgetPanel path="/admin/budget" title="Budget of everything together" />
          <BudgetPanel path="/admin/budget/shadow" title="Budget of copies for other models" />
        </>
      )}
      <ResourceView resource={usage}>{(rows) => <UsageTable rows={rows} by={by} />}</ResourceView>
    </PageLayout>
  )
}

function UsageTable({ rows, by }: { readonly rows: readonly Usage[]; readonly by: Dimension }) {
  const max = Math.max(...rows.map(({ cost_usd }) => cost_usd))
  const sorted =
    by === 'day' ? rows : rows.toSorted((a, b) => b.cost_usd - a.cost_usd || b.requests - a.requests)
  const columns: readonly Column<Usage>[] = [
    { title: by, cell: (row) => <RowName by={by} row={row} /> },
    { title: 'Requests', kind: 'number', cell: ({ requests }) => formatCount(requests) },
    { title: 'Errors', kind: 'number', cell: ({ errors }) => formatCount(errors) },
    { title: 'Tokens in', kind: 'number', cell: ({ tokens }) => formatCount(tokens.input) },
    { title: 'Tokens out', kind: 'number', cell: ({ tokens }) => formatCount(tokens.output) },
    {
      title: 'Score',
      kind: 'number',
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
  if (rows.length === 0) return <Empty>There were no requests.</Empty>
  return <Table columns={columns} items={sorted} keyOf={(row) => String(row[by])} />
}

/** Links to the requests that a row counts, if the explorer has such a filter. */
function RowName({ by, row }: { readonly by: Dimension; readonly row: Usage }) {
  const value = row[by]
  if (value == null) return <span class="muted">none</span>
  if (by === 'day' || by === 'arm') return <>{value}</>
  return (
    <a href={href('/requests', { [by]: value })} title={String(value)}>
      {by === 'group' ? groups.of(row.group) : (row.name ?? value)}
    </a>
  )
}

/** The budgets of the user who is signed in. */
function OwnBudgetsPanel() {
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

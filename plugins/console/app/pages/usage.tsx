import { endpointUrl, get, send } from '../lib/api.ts'
import { formatCount, formatUsd, sinceOf } from '../lib/format.ts'
import { groupName, keyName, ruleName, userName } from '../lib/names.ts'
import { useResource } from '../lib/resource.ts'
import { href, route, setQuery } from '../lib/router.ts'
import { isOperator } from '../lib/session.ts'
import type { BudgetState, UsageRow } from '../lib/types.ts'
import { Meter } from '../ui/meter.tsx'
import { Empty, PageLayout, Panel, ResourceView } from '../ui/page.tsx'
import { Table } from '../ui/table.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { BudgetLine, BudgetPanel } from './budget-panel.tsx'

const PERIODS = ['24h', '7d', '30d'] as const

const DIMENSIONS = ['user', 'group', 'key', 'model', 'provider', 'rule', 'arm', 'day'] as const

const OWN_DIMENSIONS = ['key', 'model', 'provider', 'rule', 'arm', 'day'] as const

/** Requests, tokens and cost by what the address names. */
export function UsagePage() {
  const { query } = route.value
  const period = query.get('period') ?? '7d'
  const dimensions = isOperator() ? DIMENSIONS : OWN_DIMENSIONS
  const by = query.get('by') ?? 'model'
  const path = isOperator() ? '/admin/usage' : '/v1/usage'
  const usage = useResource(`${by} ${period}`, () =>
    send<{ data: readonly UsageRow[] }>('GET', endpointUrl(path, { group_by: by, since: sinceOf(period) })),
  )
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
      {isOperator() ? (
        <>
          <BudgetPanel path="/admin/budget" title="Budget of everything together" />
          <BudgetPanel path="/admin/budget/shadow" title="Budget of copies for other models" />
        </>
      ) : (
        <OwnBudgets />
      )}
      <ResourceView resource={usage}>{({ data }) => <UsageTable rows={data} by={by} />}</ResourceView>
    </PageLayout>
  )
}

function UsageTable({ rows, by }: { readonly rows: readonly UsageRow[]; readonly by: string }) {
  if (rows.length === 0) return <Empty>There were no requests.</Empty>
  const sorted =
    by === 'day' ? rows : rows.toSorted((a, b) => b.cost_usd - a.cost_usd || b.requests - a.requests)
  const max = Math.max(...rows.map(({ cost_usd }) => cost_usd))
  return (
    <Table
      columns={[
        by,
        { number: 'Requests' },
        { number: 'Errors' },
        { number: 'Tokens in' },
        { number: 'Tokens out' },
        { number: 'Score' },
        { number: 'Cost' },
        { hidden: 'Share of the cost' },
      ]}
    >
      <tbody>
        {sorted.map((row) => (
          <tr key={String(row[by])}>
            <td>
              <RowName by={by} value={row[by]} />
            </td>
            <td class="number">{formatCount(row.requests)}</td>
            <td class="number">{formatCount(row.errors)}</td>
            <td class="number">{formatCount(row.tokens.input ?? 0)}</td>
            <td class="number">{formatCount(row.tokens.output ?? 0)}</td>
            <td class="number">
              {row.mean_score === null ? '–' : row.mean_score.toFixed(2)}
              {row.ratings > 0 && <small class="muted block">{formatCount(row.ratings)} rated</small>}
            </td>
            <td class="number">
              {formatUsd(row.cost_usd)}
              {row.unknown_costs > 0 && (
                <small class="muted block">{formatCount(row.unknown_costs)} unknown</small>
              )}
            </td>
            <td>
              <Meter value={row.cost_usd} max={max} label={`Cost of ${row[by]}`} />
            </td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}

/** Links to the requests that a row counts, if the explorer has such a filter. */
function RowName({ by, value }: { readonly by: string; readonly value: unknown }) {
  if (value === null || value === undefined) return <span class="muted">none</span>
  const text = String(value)
  if (by === 'day' || by === 'arm') return <>{text}</>
  return (
    <a href={href('/requests', { [by]: text })} title={text}>
      {nameOf(by, text)}
    </a>
  )
}

function nameOf(by: string, id: string): string {
  if (by === 'user') return userName(Number(id))
  if (by === 'group') return groupName(Number(id))
  if (by === 'rule') return ruleName(id)
  return by === 'key' ? keyName(id) : id
}

type OwnBudgets = Readonly<Record<'user' | 'key', BudgetState | null>>

/** The budgets of the user who is signed in. */
function OwnBudgets() {
  const budgets = useResource('budgets', () => get<OwnBudgets>('/v1/budget'))
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

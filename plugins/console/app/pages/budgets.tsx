import { get, orElse } from '../lib/api.ts'
import { useResource } from '../lib/data.ts'
import { formatShare, formatUsd } from '../lib/format.ts'
import type { BudgetState } from '../lib/schemas.ts'
import { hasRole } from '../lib/session.ts'
import { Meter } from '../ui/charts.tsx'
import { EditButton, RemoveButton } from '../ui/dialogs.tsx'
import { fieldsOf } from '../ui/fields.tsx'
import { Empty, Panel, ResourceView } from '../ui/page.tsx'

const FIELDS = fieldsOf('BudgetInput', {
  limit_usd: { label: 'US dollars' },
  period: { label: 'Per', options: ['day', 'week', 'month', ['total', 'in total']] },
  warn_ratio: { label: 'Warn from this share of it', hint: '0 to 1: 0.8 warns at 80 %. Empty: no warning.' },
  on_exceed: {
    label: 'When it is used up',
    options: [
      ['refuse', 'refuse requests'],
      ['downgrade', 'route to cheaper models'],
    ],
  },
})

const EXCEEDED: Readonly<Record<BudgetState['on_exceed'], string>> = {
  refuse: 'When it is used up, requests are refused.',
  downgrade: 'When it is used up, cheaper models answer.',
}

/** The budget of a user, of a group, or of everything, at an endpoint of operators. */
export function BudgetPanel({ path, title = 'Budget' }: { readonly path: string; readonly title?: string }) {
  const budget = useResource(path, () => get<BudgetState | null>(path).catch(orElse(null)))
  const actions = hasRole('admin') && budget.data !== undefined && (
    <>
      <EditButton
        label={budget.data ? 'Change' : 'Set a budget'}
        title="Budget"
        path={path}
        method="PUT"
        fields={FIELDS}
        initial={{ period: 'month', on_exceed: 'refuse' }}
        onSaved={budget.reload}
      />
      {budget.data && (
        <RemoveButton label="Remove" title="Remove the budget?" path={path} onRemoved={budget.reload} />
      )}
    </>
  )
  return (
    <Panel title={title} actions={actions}>
      <ResourceView resource={budget}>
        {(state) => (state ? <BudgetLine budget={state} /> : <Empty>No limit on what is spent.</Empty>)}
      </ResourceView>
    </Panel>
  )
}

export function BudgetLine({ name = '', budget }: { readonly name?: string; readonly budget: BudgetState }) {
  const { limit_usd, spent_usd = 0, remaining_usd = limit_usd - spent_usd, period, on_exceed } = budget
  const warning = budget.warn_ratio == null ? '' : ` Warns at ${formatShare(budget.warn_ratio, 1)}.`
  const per = period === 'total' ? 'in total' : `per ${period}`
  return (
    <div class="spread">
      <span>
        {name && `${name}: `}
        {formatUsd(Math.max(0, remaining_usd))} left of {formatUsd(limit_usd)} {per}
        <small class="muted block">
          {formatUsd(spent_usd)} spent.{warning} {EXCEEDED[on_exceed]}
        </small>
      </span>
      <Meter value={spent_usd} max={limit_usd} label={`Spent ${name}`} />
    </div>
  )
}

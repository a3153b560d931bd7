import { useState } from 'preact/hooks'
import { ApiError, get, send } from '../lib/api.ts'
import { formatUsd } from '../lib/format.ts'
import { useResource } from '../lib/resource.ts'
import { hasRole } from '../lib/session.ts'
import type { BudgetState } from '../lib/types.ts'
import { ChangeDialog } from '../ui/dialog.tsx'
import { ConfirmButton } from '../ui/dialog-button.tsx'
import { EditButton, type Editing } from '../ui/edit-button.tsx'
import { SelectField, TextField } from '../ui/fields.tsx'
import { Meter } from '../ui/meter.tsx'
import { Empty, Panel, ResourceView } from '../ui/page.tsx'

/** The budget of a user, of a group, or of everything, at an endpoint of operators. */
export function BudgetPanel({ path, title = 'Budget' }: { readonly path: string; readonly title?: string }) {
  const budget = useResource(path, () => get<BudgetState>(path).catch(orNone))
  const current = budget.data ?? undefined
  const actions = hasRole('admin') && budget.data !== undefined && (
    <>
      <EditButton<BudgetState>
        label={current ? 'Change' : 'Set a budget'}
        path={path}
        method="PUT"
        onSaved={budget.reload}
      >
        {({ value, save, close }) => <BudgetDialog current={value} onSave={save} onClose={close} />}
      </EditButton>
      {current && (
        <ConfirmButton
          label="Remove"
          title="Remove the budget?"
          onConfirm={(reason) => send('DELETE', path, undefined, { reason }).then(budget.reload)}
        />
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

/** There is no budget if the gateway does not find one. */
function orNone(error: unknown): null {
  if (error instanceof ApiError && error.status === 404) return null
  throw error
}

export function BudgetLine({ name = '', budget }: { readonly name?: string; readonly budget: BudgetState }) {
  const { limit_usd, spent_usd, period, on_exceed } = budget
  const per = period === 'total' ? 'in total' : `per ${period}`
  return (
    <div class="spread">
      <span>
        {name && `${name}: `}
        {formatUsd(spent_usd)} of {formatUsd(limit_usd)} {per}, then {on_exceed}
      </span>
      <Meter value={spent_usd} max={limit_usd} label={`Spent ${name}`} />
    </div>
  )
}

interface BudgetDialogProps {
  readonly current: BudgetState | null
  readonly onSave: Editing<BudgetState>['save']
  readonly onClose: () => void
}

function BudgetDialog({ current, onSave, onClose }: BudgetDialogProps) {
  const [limit, setLimit] = useState(String(current?.limit_usd ?? ''))
  const [period, setPeriod] = useState(current?.period ?? 'month')
  const [onExceed, setOnExceed] = useState(current?.on_exceed ?? 'refuse')
  const body = { limit_usd: Number(limit), period, on_exceed: onExceed }
  return (
    <ChangeDialog title="Budget" action="Save" onClose={onClose} onSave={(reason) => onSave(body, reason)}>
      <TextField label="US dollars" value={limit} onInput={setLimit} required />
      <SelectField
        label="Per"
        value={period}
        options={['day', 'week', 'month', ['total', 'in total']]}
        onChange={setPeriod}
      />
      <SelectField
        label="When it is used up"
        value={onExceed}
        options={[
          ['refuse', 'refuse requests'],
          ['downgrade', 'route to cheaper models'],
        ]}
        onChange={setOnExceed}
      />
    </ChangeDialog>
  )
}

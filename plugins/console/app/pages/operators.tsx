import { useState } from 'preact/hooks'
import { get, send } from '../lib/api.ts'
import { useResource } from '../lib/resource.ts'
import { href } from '../lib/router.ts'
import { hasRole } from '../lib/session.ts'
import type { OperatorRow } from '../lib/types.ts'
import { ChangeDialog, KeyDialog } from '../ui/dialog.tsx'
import { ConfirmButton, DialogButton } from '../ui/dialog-button.tsx'
import { EditButton, type Editing } from '../ui/edit-button.tsx'
import { SelectField, TextField } from '../ui/fields.tsx'
import { Empty, PageLayout, ResourceView } from '../ui/page.tsx'
import { useAddress } from '../ui/use-address.ts'
import { Badge, Time } from '../ui/values.tsx'

const ROLES = ['auditor', 'editor', 'admin'] as const

/** The people and programs that operate the gateway. */
export function OperatorsPage() {
  const operators = useResource('operators', () => get<readonly OperatorRow[]>('/admin/operators'))
  const [secret, setSecret] = useState<string>()
  const isAdmin = hasRole('admin')

  async function create(body: object, reason: string) {
    const { data } = await send<{ data: { key: string } }>('POST', '/admin/operators', body, { reason })
    operators.reload()
    setSecret(data.key)
  }

  return (
    <PageLayout
      title="Operators"
      actions={
        isAdmin && (
          <DialogButton label="New operator" kind="primary">
            {(close) => <NewOperator onCreate={create} onClose={close} />}
          </DialogButton>
        )
      }
    >
      <ResourceView resource={operators}>
        {(list) =>
          list.length === 0 ? (
            <Empty>
              There are no operators: everybody uses the ADMIN_KEY. Create one to see who changed what.
            </Empty>
          ) : (
            <ul class="list panel">
              {list.map((operator) => (
                <OperatorItem key={operator.id} operator={operator} onChanged={operators.reload} />
              ))}
            </ul>
          )
        }
      </ResourceView>
      {secret && <KeyDialog secret={secret} onClose={() => setSecret(undefined)} />}
    </PageLayout>
  )
}

interface OperatorItemProps {
  readonly operator: OperatorRow
  readonly onChanged: () => void
}

function OperatorItem({ operator, onChanged }: OperatorItemProps) {
  const address = useAddress<HTMLLIElement>('operator', operator.id)
  return (
    <li {...address} class="spread">
      <span>
        <b>
          <a href={href('/operators', { operator: operator.id })}>{operator.name}</a>
        </b>{' '}
        <Badge>{operator.role}</Badge>{' '}
        <small class="muted">
          since <Time value={operator.created_at} /> ·{' '}
          <a href={href('/audit', { actor: operator.id })}>Changes</a>
        </small>
      </span>
      {hasRole('admin') && (
        <span class="actions">
          <EditButton<OperatorRow>
            label="Role"
            kind="quiet"
            path={`/admin/operators/${operator.id}`}
            onSaved={onChanged}
          >
            {({ value, save, close }) =>
              value && <OperatorRole operator={value} save={save} onClose={close} />
            }
          </EditButton>
          <ConfirmButton
            label="Remove"
            kind="quiet"
            title={`Remove ${operator.name}?`}
            onConfirm={(reason) =>
              send('DELETE', `/admin/operators/${operator.id}`, undefined, { reason }).then(onChanged)
            }
          >
            <p>The key and all sessions end immediately.</p>
          </ConfirmButton>
        </span>
      )}
    </li>
  )
}

interface RoleFieldProps {
  readonly role: string
  readonly onChange: (role: string) => void
}

function RoleField({ role, onChange }: RoleFieldProps) {
  const hint = 'auditor reads, editor also changes rules, admin does everything.'
  return <SelectField label="Role" value={role} options={ROLES} onChange={onChange} hint={hint} />
}

interface NewOperatorProps {
  readonly onCreate: (body: object, reason: string) => Promise<void>
  readonly onClose: () => void
}

function NewOperator({ onCreate, onClose }: NewOperatorProps) {
  const [name, setName] = useState('')
  const [role, setRole] = useState<string>('auditor')
  return (
    <ChangeDialog
      title="New operator"
      action="Create"
      onSave={(reason) => onCreate({ name, role }, reason)}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onInput={setName} required maxLength={128} />
      <RoleField role={role} onChange={setRole} />
    </ChangeDialog>
  )
}

interface OperatorRoleProps {
  readonly operator: OperatorRow
  readonly save: Editing<OperatorRow>['save']
  readonly onClose: () => void
}

function OperatorRole({ operator: { name, role: current }, save, onClose }: OperatorRoleProps) {
  const [role, setRole] = useState<string>(current)
  return (
    <ChangeDialog
      title={`Role of ${name}`}
      action="Save"
      onClose={onClose}
      onSave={(reason) => save({ role }, reason)}
    >
      <RoleField role={role} onChange={setRole} />
    </ChangeDialog>
  )
}

import { useState } from 'preact/hooks'
import { get, send } from '../lib/api.ts'
import { useResource } from '../lib/resource.ts'
import { href } from '../lib/router.ts'
import { hasRole } from '../lib/session.ts'
import type { OperatorRow } from '../lib/types.ts'
import { ChangeDialog, KeyDialog } from '../ui/dialog.tsx'
import { SelectField, TextField } from '../ui/fields.tsx'
import { Empty, PageLayout, ResourceView } from '../ui/page.tsx'
import { Badge, Time } from '../ui/values.tsx'

const ROLES = ['auditor', 'editor', 'admin'] as const

type OpenDialog =
  | { readonly type: 'create' }
  | { readonly type: 'role' | 'remove'; readonly operator: OperatorRow }

/** The people and programs that operate the gateway. */
export function OperatorsPage() {
  const operators = useResource('operators', () => get<readonly OperatorRow[]>('/admin/operators'))
  const [dialog, setDialog] = useState<OpenDialog>()
  const [name, setName] = useState('')
  const [role, setRole] = useState<string>('auditor')
  const [secret, setSecret] = useState<string>()
  const close = () => setDialog(undefined)
  const isAdmin = hasRole('admin')

  async function create(reason: string) {
    const body = { name, role }
    const { data } = await send<{ data: { key: string } }>('POST', '/admin/operators', body, { reason })
    operators.reload()
    setSecret(data.key)
  }

  const roleField = (
    <SelectField label="Role" value={role} options={ROLES} onChange={setRole} hint={ROLE_HINT} />
  )
  return (
    <PageLayout
      title="Operators"
      actions={
        isAdmin && (
          <button type="button" class="primary" onClick={() => setDialog({ type: 'create' })}>
            New operator
          </button>
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
                <li key={operator.id} class="spread">
                  <span>
                    <b>{operator.name}</b> <Badge>{operator.role}</Badge>{' '}
                    <small class="muted">
                      since <Time value={operator.created_at} /> ·{' '}
                      <a href={href('/audit', { actor: operator.id })}>Changes</a>
                    </small>
                  </span>
                  {isAdmin && (
                    <span class="actions">
                      <button
                        type="button"
                        class="quiet"
                        onClick={() => setDialog({ type: 'role', operator })}
                      >
                        Role
                      </button>
                      <button
                        type="button"
                        class="quiet"
                        onClick={() => setDialog({ type: 'remove', operator })}
                      >
                        Remove
                      </button>
                    </span>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </ResourceView>
      {dialog?.type === 'create' && (
        <ChangeDialog title="New operator" action="Create" onSave={create} onClose={close}>
          <TextField label="Name" value={name} onInput={setName} required maxLength={128} />
          {roleField}
        </ChangeDialog>
      )}
      {dialog?.type === 'role' && (
        <ChangeDialog
          title={`Role of ${dialog.operator.name}`}
          action="Save"
          onClose={close}
          onSave={(reason) =>
            send('PATCH', `/admin/operators/${dialog.operator.id}`, { role }, { reason }).then(
              operators.reload,
            )
          }
        >
          {roleField}
        </ChangeDialog>
      )}
      {dialog?.type === 'remove' && (
        <ChangeDialog
          title={`Remove ${dialog.operator.name}?`}
          action="Remove"
          isDangerous
          onClose={close}
          onSave={(reason) =>
            send('DELETE', `/admin/operators/${dialog.operator.id}`, undefined, { reason }).then(
              operators.reload,
            )
          }
        >
          <p>The key and all sessions end immediately.</p>
        </ChangeDialog>
      )}
      {!dialog && secret && <KeyDialog secret={secret} onClose={() => setSecret(undefined)} />}
    </PageLayout>
  )
}

const ROLE_HINT = 'auditor reads, editor also changes rules, admin does everything.'

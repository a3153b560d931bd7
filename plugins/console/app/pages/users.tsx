import { useState } from 'preact/hooks'
import { send } from '../lib/api.ts'
import { addUserNames, groupName } from '../lib/names.ts'
import { href, navigate, type PageProps, route } from '../lib/router.ts'
import { hasRole } from '../lib/session.ts'
import type { UserAccount } from '../lib/types.ts'
import { ChangeDialog } from '../ui/dialog.tsx'
import { DialogButton } from '../ui/dialog-button.tsx'
import { SelectField, TextField } from '../ui/fields.tsx'
import { FilterText } from '../ui/filter-text.tsx'
import { Empty, PageLayout } from '../ui/page.tsx'
import { PagedList } from '../ui/paged-list.tsx'
import { Badge, Time } from '../ui/values.tsx'
import { VirtualTable } from '../ui/virtual-list.tsx'
import { UserPage } from './user.tsx'

export function UsersPage({ path: [id] }: PageProps) {
  return id === undefined ? <UserList /> : <UserPage id={Number(id)} />
}

function UserList() {
  const name = route.value.query.get('q') ?? ''
  return (
    <PageLayout
      title="Users"
      actions={
        hasRole('admin') && (
          <DialogButton label="New user" kind="primary">
            {(close) => <NewUser onClose={close} />}
          </DialogButton>
        )
      }
    >
      <search class="filters">
        <FilterText name="q" label="Name" value={name} />
      </search>
      <PagedList<UserAccount> path="/admin/users" query={{ q: name, limit: 500 }}>
        {(users) =>
          users.length > 0 ? (
            <UserTable users={users} />
          ) : (
            <Empty>{name === '' ? 'There are no users yet.' : `No name contains “${name}”.`}</Empty>
          )
        }
      </PagedList>
    </PageLayout>
  )
}

function UserTable({ users }: { readonly users: readonly UserAccount[] }) {
  return (
    <VirtualTable
      columns={['User', 'Plan', 'Groups', { number: 'Keys' }, 'Created']}
      items={users}
      row={({ id, name, plan, groups, keys, created_at }) => (
        <tr key={id}>
          <td>
            <a href={href(`/users/${id}`)}>{name}</a> <small class="muted">{id}</small>
          </td>
          <td>
            <Badge>{plan}</Badge>
          </td>
          <td>{groups.map(groupName).join(', ')}</td>
          <td class="number">{keys.filter(({ revoked_at }) => revoked_at === null).length}</td>
          <td>
            <Time value={created_at} />
          </td>
        </tr>
      )}
    />
  )
}

function NewUser({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const [plan, setPlan] = useState('paid')
  async function create(reason: string) {
    const { data } = await send<{ data: UserAccount }>('POST', '/admin/users', { name, plan }, { reason })
    addUserNames([data])
    navigate(`/users/${data.id}`)
  }
  return (
    <ChangeDialog title="New user" action="Create" onSave={create} onClose={onClose}>
      <TextField label="Name" value={name} onInput={setName} required maxLength={128} />
      <SelectField
        label="Plan"
        value={plan}
        options={['paid', 'free']}
        onChange={setPlan}
        hint="Users on the free plan have no rules of their own."
      />
    </ChangeDialog>
  )
}

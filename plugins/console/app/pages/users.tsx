import { useState } from 'preact/hooks'
import { send } from '../lib/api.ts'
import { groupName, loadNames } from '../lib/names.ts'
import { href, navigate, type PageProps } from '../lib/router.ts'
import { hasRole } from '../lib/session.ts'
import type { UserAccount } from '../lib/types.ts'
import { ChangeDialog } from '../ui/dialog.tsx'
import { SelectField, TextField } from '../ui/fields.tsx'
import { Empty, PageLayout } from '../ui/page.tsx'
import { PagedList } from '../ui/paged-list.tsx'
import { Badge, Time } from '../ui/values.tsx'
import { UserPage } from './user.tsx'

export function UsersPage({ path: [id] }: PageProps) {
  return id === undefined ? <UserList /> : <UserPage id={Number(id)} />
}

function UserList() {
  const [isCreating, setCreating] = useState(false)
  return (
    <PageLayout
      title="Users"
      actions={
        hasRole('admin') && (
          <button type="button" class="primary" onClick={() => setCreating(true)}>
            New user
          </button>
        )
      }
    >
      <PagedList<UserAccount> path="/admin/users" query={{ limit: 100 }}>
        {(users) =>
          users.length === 0 ? <Empty>There are no users yet.</Empty> : <UserTable users={users} />
        }
      </PagedList>
      {isCreating && <NewUser onClose={() => setCreating(false)} />}
    </PageLayout>
  )
}

function UserTable({ users }: { readonly users: readonly UserAccount[] }) {
  return (
    <div class="table">
      <table>
        <thead>
          <tr>
            <th scope="col">User</th>
            <th scope="col">Plan</th>
            <th scope="col">Groups</th>
            <th scope="col" class="number">
              Keys
            </th>
            <th scope="col">Created</th>
          </tr>
        </thead>
        <tbody>
          {users.map(({ id, name, plan, groups, keys, created_at }) => (
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
          ))}
        </tbody>
      </table>
    </div>
  )
}

function NewUser({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const [plan, setPlan] = useState('paid')
  async function create(reason: string) {
    const { data } = await send<{ data: UserAccount }>('POST', '/admin/users', { name, plan }, { reason })
    await loadNames()
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

import { useState } from 'preact/hooks'
import { send } from '../lib/api.ts'
import { addGroupNames, listAll } from '../lib/names.ts'
import { useResource } from '../lib/resource.ts'
import { href, type PageProps } from '../lib/router.ts'
import { hasRole } from '../lib/session.ts'
import type { Group } from '../lib/types.ts'
import { ChangeDialog } from '../ui/dialog.tsx'
import { ConfirmButton, DeleteButton, DialogButton } from '../ui/dialog-button.tsx'
import { TextField } from '../ui/fields.tsx'
import { Empty, PageLayout, Panel, ResourceView } from '../ui/page.tsx'
import { PagedList } from '../ui/paged-list.tsx'
import { UserPicker } from '../ui/pickers.tsx'
import { UserLink } from '../ui/values.tsx'
import { VirtualList } from '../ui/virtual-list.tsx'
import { BudgetPanel } from './budget-panel.tsx'

export function GroupsPage({ path: [id] }: PageProps) {
  return id === undefined ? <GroupList /> : <GroupPage id={Number(id)} />
}

function GroupList() {
  const [version, setVersion] = useState(0)
  return (
    <PageLayout
      title="Groups"
      actions={
        hasRole('editor') && (
          <DialogButton label="New group" kind="primary">
            {(close) => <NewGroup onCreated={() => setVersion(version + 1)} onClose={close} />}
          </DialogButton>
        )
      }
    >
      <PagedList<Group> path="/admin/groups" query={{ limit: 100 }} version={version}>
        {(groups) =>
          groups.length === 0 ? (
            <Empty>There are no groups. Policies can apply to a group of users.</Empty>
          ) : (
            <div class="panel">
              <VirtualList class="list" items={groups}>
                {(group) => (
                  <li key={group.id}>
                    <a href={href(`/groups/${group.id}`)}>{group.name}</a>{' '}
                    <small class="muted">{group.description}</small>
                  </li>
                )}
              </VirtualList>
            </div>
          )
        }
      </PagedList>
    </PageLayout>
  )
}

interface NewGroupProps {
  readonly onCreated: () => void
  readonly onClose: () => void
}

function NewGroup({ onCreated, onClose }: NewGroupProps) {
  const [name, setName] = useState('')
  async function create(reason: string) {
    const { data } = await send<{ data: Group }>('POST', '/admin/groups', { name }, { reason })
    addGroupNames([data])
    onCreated()
  }
  return (
    <ChangeDialog title="New group" action="Create" onSave={create} onClose={onClose}>
      <TextField label="Name" value={name} onInput={setName} required maxLength={128} />
    </ChangeDialog>
  )
}

interface Member {
  readonly id: number
  readonly name: string
}

function GroupPage({ id }: { readonly id: number }) {
  const path = `/admin/groups/${id}`
  const group = useResource(path, async () => {
    const [{ data }, members] = await Promise.all([
      send<{ data: Group }>('GET', path),
      listAll<Member>(`${path}/members`, 20),
    ])
    return { ...data, members }
  })
  const change = (method: string, member: string | number, reason: string) =>
    send(method, `${path}/members/${member}`, undefined, { reason }).then(group.reload)
  const buttons = hasRole('editor') && (
    <>
      <DialogButton label="Add a user">
        {(close) => <AddMember onAdd={(user, reason) => change('PUT', user, reason)} onClose={close} />}
      </DialogButton>
      <DeleteButton name={group.data?.name ?? 'the group'} path={path} list="/groups" />
    </>
  )
  return (
    <PageLayout title={group.data?.name ?? 'Group'} actions={buttons}>
      <p>
        <a href={href('/groups')}>Groups</a> · <a href={href('/requests', { group: id })}>Requests</a> ·{' '}
        <a href={href('/audit', { group: id })}>Changes</a>
      </p>
      <ResourceView resource={group}>
        {({ members }) => (
          <Panel title="Members">
            {members.length === 0 && <Empty>Nobody is in the group.</Empty>}
            <VirtualList class="list" items={members}>
              {(member) => (
                <li key={member.id} class="spread">
                  <UserLink id={member.id} />
                  {hasRole('editor') && (
                    <ConfirmButton
                      label="Remove"
                      kind="quiet"
                      title={`Remove ${member.name}?`}
                      onConfirm={(reason) => change('DELETE', member.id, reason)}
                    />
                  )}
                </li>
              )}
            </VirtualList>
          </Panel>
        )}
      </ResourceView>
      <BudgetPanel path={`${path}/budget`} />
    </PageLayout>
  )
}

interface AddMemberProps {
  readonly onAdd: (user: string, reason: string) => Promise<unknown>
  readonly onClose: () => void
}

function AddMember({ onAdd, onClose }: AddMemberProps) {
  const [user, setUser] = useState('')
  return (
    <ChangeDialog title="Add a user" action="Add" onClose={onClose} onSave={(reason) => onAdd(user, reason)}>
      <UserPicker value={user} onChange={setUser} required />
    </ChangeDialog>
  )
}

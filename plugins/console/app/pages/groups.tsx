import { useState } from 'preact/hooks'
import { send } from '../lib/api.ts'
import { listAll, loadNames, userNames } from '../lib/names.ts'
import { useResource } from '../lib/resource.ts'
import { href, navigate, type PageProps } from '../lib/router.ts'
import { hasRole } from '../lib/session.ts'
import type { Group } from '../lib/types.ts'
import { ChangeDialog } from '../ui/dialog.tsx'
import { SelectField, TextField } from '../ui/fields.tsx'
import { Empty, PageLayout, Panel, ResourceView } from '../ui/page.tsx'
import { PagedList } from '../ui/paged-list.tsx'
import { UserLink } from '../ui/values.tsx'
import { BudgetPanel } from './budget-panel.tsx'

export function GroupsPage({ path: [id] }: PageProps) {
  return id === undefined ? <GroupList /> : <GroupPage id={Number(id)} />
}

function GroupList() {
  const [version, setVersion] = useState(0)
  const [isCreating, setCreating] = useState(false)
  const [name, setName] = useState('')
  const create = (reason: string) =>
    send('POST', '/admin/groups', { name }, { reason }).then(() => {
      setVersion(version + 1)
      return loadNames()
    })
  return (
    <PageLayout
      title="Groups"
      actions={
        hasRole('editor') && (
          <button type="button" class="primary" onClick={() => setCreating(true)}>
            New group
          </button>
        )
      }
    >
      <PagedList<Group> path="/admin/groups" query={{ limit: 100 }} version={version}>
        {(groups) =>
          groups.length === 0 ? (
            <Empty>There are no groups. Policies can apply to a group of users.</Empty>
          ) : (
            <ul class="list panel">
              {groups.map((group) => (
                <li key={group.id}>
                  <a href={href(`/groups/${group.id}`)}>{group.name}</a>{' '}
                  <small class="muted">{group.description}</small>
                </li>
              ))}
            </ul>
          )
        }
      </PagedList>
      {isCreating && (
        <ChangeDialog title="New group" action="Create" onSave={create} onClose={() => setCreating(false)}>
          <TextField label="Name" value={name} onInput={setName} required maxLength={128} />
        </ChangeDialog>
      )}
    </PageLayout>
  )
}

interface Member {
  readonly id: number
  readonly name: string
}

type OpenDialog = { readonly type: 'add' | 'delete' } | { readonly type: 'remove'; readonly member: Member }

function GroupPage({ id }: { readonly id: number }) {
  const path = `/admin/groups/${id}`
  const group = useResource(path, async () => {
    const [{ data }, members] = await Promise.all([
      send<{ data: Group }>('GET', path),
      listAll<Member>(`${path}/members`, 20),
    ])
    return { ...data, members }
  })
  const [dialog, setDialog] = useState<OpenDialog>()
  const [user, setUser] = useState('')
  const close = () => setDialog(undefined)
  const others = [...userNames.value].filter(
    ([id]) => !group.data?.members.some((member) => member.id === id),
  )
  const added = user || String(others[0]?.[0] ?? '')
  const change = (method: string, member: string | number, reason: string) =>
    send(method, `${path}/members/${member}`, undefined, { reason }).then(group.reload)

  const buttons = hasRole('editor') && (
    <>
      <button type="button" onClick={() => setDialog({ type: 'add' })} disabled={others.length === 0}>
        Add a user
      </button>
      <button type="button" class="danger" onClick={() => setDialog({ type: 'delete' })}>
        Delete
      </button>
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
            <ul class="list">
              {members.map((member) => (
                <li key={member.id} class="spread">
                  <UserLink id={member.id} />
                  {hasRole('editor') && (
                    <button type="button" class="quiet" onClick={() => setDialog({ type: 'remove', member })}>
                      Remove
                    </button>
                  )}
                </li>
              ))}
            </ul>
          </Panel>
        )}
      </ResourceView>
      <BudgetPanel path={`${path}/budget`} />
      {dialog?.type === 'add' && (
        <ChangeDialog
          title="Add a user"
          action="Add"
          onClose={close}
          onSave={(reason) => change('PUT', added, reason)}
        >
          <SelectField
            label="User"
            value={added}
            options={others.map(([id, name]) => [String(id), name] as const)}
            onChange={setUser}
          />
        </ChangeDialog>
      )}
      {dialog?.type === 'remove' && (
        <ChangeDialog
          title={`Remove ${dialog.member.name}?`}
          action="Remove"
          onClose={close}
          onSave={(reason) => change('DELETE', dialog.member.id, reason)}
        />
      )}
      {dialog?.type === 'delete' && (
        <ChangeDialog
          title="Delete the group?"
          action="Delete"
          isDangerous
          onClose={close}
          onSave={(reason) => send('DELETE', path, undefined, { reason }).then(() => navigate('/groups'))}
        />
      )}
    </PageLayout>
  )
}

import { useState } from 'preact/hooks'
import { get } from '../lib/api.ts'
import { groupName } from '../lib/names.ts'
import { useResource } from '../lib/resource.ts'
import { href } from '../lib/router.ts'
import { hasRole } from '../lib/session.ts'
import type { UserAccount } from '../lib/types.ts'
import { ChangeDialog } from '../ui/dialog.tsx'
import { DeleteButton } from '../ui/dialog-button.tsx'
import { EditButton, type Editing } from '../ui/edit-button.tsx'
import { SelectField, TextField } from '../ui/fields.tsx'
import { PageLayout, ResourcePage } from '../ui/page.tsx'
import { Badge, Time } from '../ui/values.tsx'
import { BudgetPanel } from './budget-panel.tsx'
import { KeyPanel } from './keys.tsx'
import { RuleEditor } from './rule-editor.tsx'

/** A user with keys and rules. */
export function UserPage({ id }: { readonly id: number }) {
  const path = `/admin/users/${id}`
  const user = useResource(path, () => get<UserAccount>(path))
  return (
    <ResourcePage title={`User ${id}`} resource={user}>
      {(account) => <UserDetails user={account} path={path} reload={user.reload} />}
    </ResourcePage>
  )
}

interface UserDetailsProps {
  readonly user: UserAccount
  readonly path: string
  readonly reload: () => void
}

function UserDetails({ user, path, reload }: UserDetailsProps) {
  const actions = hasRole('admin') && (
    <>
      <EditButton<UserAccount> label="Settings" path={path} onSaved={reload}>
        {({ value, save, close }) => value && <UserSettings user={value} save={save} onClose={close} />}
      </EditButton>
      <DeleteButton name={user.name} path={path} list="/users">
        <p>The keys are invalid immediately. Requests and changes of the user stay in the records.</p>
      </DeleteButton>
    </>
  )
  return (
    <PageLayout title={user.name} actions={actions}>
      <p>
        <a href={href('/users')}>Users</a> · <Badge>{user.plan}</Badge> · created{' '}
        <Time value={user.created_at} />
        {user.groups.length > 0 && ` · in ${user.groups.map(groupName).join(', ')}`} ·{' '}
        <a href={href('/requests', { user: user.id })}>Requests</a> ·{' '}
        <a href={href('/audit', { user: user.id })}>Changes</a> ·{' '}
        <a href={href('/time', { user: user.id })}>Rules over time</a>
      </p>
      <KeyPanel userId={user.id} />
      <BudgetPanel path={`${path}/budget`} />
      <RuleEditor path={path} canEdit={hasRole('editor')} />
    </PageLayout>
  )
}

interface UserSettingsProps {
  readonly user: UserAccount
  readonly save: Editing<UserAccount>['save']
  readonly onClose: () => void
}

function UserSettings({ user, save, onClose }: UserSettingsProps) {
  const [name, setName] = useState(user.name)
  const [plan, setPlan] = useState(user.plan)
  const [limit, setLimit] = useState(user.requests_per_minute == null ? '' : String(user.requests_per_minute))
  const isLimitChanged = limit !== String(user.requests_per_minute ?? '')
  const body = {
    ...(name !== user.name && { name }),
    ...(plan !== user.plan && { plan }),
    ...(isLimitChanged && { requests_per_minute: limit === '' ? null : Number(limit) }),
  }
  return (
    <ChangeDialog
      title="Settings of the user"
      action="Save"
      onClose={onClose}
      onSave={(reason) => save(body, reason)}
    >
      <TextField label="Name" value={name} onInput={setName} required maxLength={128} />
      <SelectField label="Plan" value={plan} options={['paid', 'free']} onChange={setPlan} />
      <TextField
        label="Requests per minute"
        type="number"
        value={limit}
        onInput={setLimit}
        hint="Empty: the limit of the plan."
      />
    </ChangeDialog>
  )
}

import { useState } from 'preact/hooks'
import { get } from '../lib/api.ts'
import { useResource } from '../lib/resource.ts'
import { href } from '../lib/router.ts'
import { hasRole } from '../lib/session.ts'
import type { Policy } from '../lib/types.ts'
import { ChangeDialog } from '../ui/dialog.tsx'
import { DeleteButton } from '../ui/dialog-button.tsx'
import { EditButton, type Editing } from '../ui/edit-button.tsx'
import { PageLayout, ResourcePage } from '../ui/page.tsx'
import { Badge } from '../ui/values.tsx'
import { describeTargets, PolicyFields, toPolicyBody, toPolicyInput } from './policy-fields.tsx'
import { RuleEditor } from './rule-editor.tsx'

/** A policy with its rules. */
export function PolicyPage({ id }: { readonly id: number }) {
  const path = `/admin/policies/${id}`
  const policy = useResource(path, () => get<Policy>(path))
  return (
    <ResourcePage title={`Policy ${id}`} resource={policy}>
      {(data) => <PolicyDetails policy={data} path={path} reload={policy.reload} />}
    </ResourcePage>
  )
}

interface PolicyDetailsProps {
  readonly policy: Policy
  readonly path: string
  readonly reload: () => void
}

function PolicyDetails({ policy, path, reload }: PolicyDetailsProps) {
  const actions = hasRole('editor') && (
    <>
      <EditButton<Policy> label="Settings" path={path} onSaved={reload}>
        {({ value, save, close }) => value && <PolicySettings policy={value} save={save} onClose={close} />}
      </EditButton>
      <DeleteButton name={policy.name} path={path} list="/policies">
        <p>Its rules stop to apply. A deleted policy cannot be restored; its history stays.</p>
      </DeleteButton>
    </>
  )
  return (
    <PageLayout title={policy.name} actions={actions}>
      <p>
        <a href={href('/policies')}>Policies</a> · applies to {describeTargets(policy.applies_to)}
        {` · priority ${policy.priority}`} {!policy.is_enabled && <Badge tone="warn">disabled</Badge>} ·{' '}
        <a href={href('/audit', { policy: policy.id })}>Changes</a>
      </p>
      {policy.description && <p class="muted">{policy.description}</p>}
      <RuleEditor path={path} canEdit={hasRole('editor')} policy={policy} />
    </PageLayout>
  )
}

interface PolicySettingsProps {
  readonly policy: Policy
  readonly save: Editing<Policy>['save']
  readonly onClose: () => void
}

function PolicySettings({ policy, save, onClose }: PolicySettingsProps) {
  const [input, setInput] = useState(toPolicyInput(policy))
  const onSave = (reason: string) => save(toPolicyBody(input), reason)
  return (
    <ChangeDialog title="Settings of the policy" action="Save" onClose={onClose} onSave={onSave}>
      <PolicyFields input={input} onChange={setInput} />
    </ChangeDialog>
  )
}

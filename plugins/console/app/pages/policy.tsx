import { useState } from 'preact/hooks'
import { getTagged, ifUnchanged, send, type Tagged } from '../lib/api.ts'
import { useResource } from '../lib/resource.ts'
import { href } from '../lib/router.ts'
import { hasRole } from '../lib/session.ts'
import type { Policy } from '../lib/types.ts'
import { ChangeDialog } from '../ui/dialog.tsx'
import { DeleteButton, DialogButton } from '../ui/dialog-button.tsx'
import { PageLayout, ResourcePage } from '../ui/page.tsx'
import { Badge } from '../ui/values.tsx'
import { describeTargets, PolicyFields, toPolicyBody, toPolicyInput } from './policy-fields.tsx'
import { RuleEditor } from './rule-editor.tsx'

/** A policy with its rules. */
export function PolicyPage({ id }: { readonly id: number }) {
  const path = `/admin/policies/${id}`
  const policy = useResource(path, () => getTagged<Policy>(path))
  return (
    <ResourcePage title={`Policy ${id}`} resource={policy}>
      {(read) => <PolicyDetails policy={read.value} read={read} path={path} reload={policy.reload} />}
    </ResourcePage>
  )
}

interface PolicyDetailsProps {
  readonly policy: Policy
  /** The policy as it was read. */
  readonly read: Tagged<Policy>
  readonly path: string
  readonly reload: () => void
}

function PolicyDetails({ policy, read, path, reload }: PolicyDetailsProps) {
  const actions = hasRole('editor') && (
    <>
      <DialogButton label="Settings">
        {(close) => (
          <PolicySettings policy={policy} read={read} path={path} onSaved={reload} onClose={close} />
        )}
      </DialogButton>
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

interface PolicySettingsProps extends Omit<PolicyDetailsProps, 'reload'> {
  readonly onSaved: () => void
  readonly onClose: () => void
}

function PolicySettings({ policy, read, path, onSaved, onClose }: PolicySettingsProps) {
  const [input, setInput] = useState(toPolicyInput(policy))
  const save = (reason: string) =>
    send('PATCH', path, toPolicyBody(input), { reason, headers: ifUnchanged(read) }).then(onSaved)
  return (
    <ChangeDialog title="Settings of the policy" action="Save" onClose={onClose} onSave={save}>
      <PolicyFields input={input} onChange={setInput} />
    </ChangeDialog>
  )
}

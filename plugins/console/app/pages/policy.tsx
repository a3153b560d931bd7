import { useState } from 'preact/hooks'
import { get, send } from '../lib/api.ts'
import { useResource } from '../lib/resource.ts'
import { href, navigate } from '../lib/router.ts'
import { hasRole } from '../lib/session.ts'
import type { Policy } from '../lib/types.ts'
import { ChangeDialog } from '../ui/dialog.tsx'
import { PageLayout, ResourceView } from '../ui/page.tsx'
import { Badge } from '../ui/values.tsx'
import { describeTargets, PolicyFields, toPolicyBody, toPolicyInput } from './policy-fields.tsx'
import { RuleEditor } from './rule-editor.tsx'

/** A policy with its rules. */
export function PolicyPage({ id }: { readonly id: number }) {
  const path = `/admin/policies/${id}`
  const policy = useResource(path, () => get<Policy>(path))
  return (
    <ResourceView resource={policy}>
      {(policy_) => <PolicyDetails policy={policy_} path={path} reload={policy.reload} />}
    </ResourceView>
  )
}

interface PolicyDetailsProps {
  readonly policy: Policy
  readonly path: string
  readonly reload: () => void
}

function PolicyDetails({ policy, path, reload }: PolicyDetailsProps) {
  const [dialog, setDialog] = useState<'edit' | 'delete'>()
  const [input, setInput] = useState(toPolicyInput(policy))
  const close = () => setDialog(undefined)
  const actions = hasRole('editor') && (
    <>
      <button type="button" onClick={() => setDialog('edit')}>
        Settings
      </button>
      <button type="button" class="danger" onClick={() => setDialog('delete')}>
        Delete
      </button>
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
      {dialog === 'edit' && (
        <ChangeDialog
          title="Settings of the policy"
          action="Save"
          onClose={close}
          onSave={(reason) => send('PATCH', path, toPolicyBody(input), { reason }).then(reload)}
        >
          <PolicyFields input={input} onChange={setInput} />
        </ChangeDialog>
      )}
      {dialog === 'delete' && (
        <ChangeDialog
          title={`Delete ${policy.name}?`}
          action="Delete"
          isDangerous
          onClose={close}
          onSave={(reason) => send('DELETE', path, undefined, { reason }).then(() => navigate('/policies'))}
        >
          <p>Its rules stop to apply. A deleted policy cannot be restored; its history stays.</p>
        </ChangeDialog>
      )}
    </PageLayout>
  )
}

import { useState } from 'preact/hooks'
import { get, send } from '../lib/api.ts'
import { useResource } from '../lib/resource.ts'
import { href, navigate, type PageProps } from '../lib/router.ts'
import { hasRole } from '../lib/session.ts'
import type { Policy, Rule } from '../lib/types.ts'
import { ChangeDialog } from '../ui/dialog.tsx'
import { DialogButton } from '../ui/dialog-button.tsx'
import { Empty, PageLayout, ResourceView } from '../ui/page.tsx'
import { Table } from '../ui/table.tsx'
import { Badge } from '../ui/values.tsx'
import { PolicyPage } from './policy.tsx'
import { describeTargets, PolicyFields, type PolicyInput, toPolicyBody } from './policy-fields.tsx'

export function PoliciesPage({ path: [id] }: PageProps) {
  return id === undefined ? <PolicyList /> : <PolicyPage id={Number(id)} />
}

interface ListedPolicy extends Policy {
  readonly firewallRules: readonly Rule[]
  readonly routingRules: readonly Rule[]
}

async function loadPolicies(): Promise<readonly ListedPolicy[]> {
  const policies = await get<readonly Policy[]>('/admin/policies')
  return Promise.all(
    policies.map(async (policy) => {
      const [firewallRules, routingRules] = await Promise.all([
        get<readonly Rule[]>(`/admin/policies/${policy.id}/firewall-rules`),
        get<readonly Rule[]>(`/admin/policies/${policy.id}/routing-rules`),
      ])
      return { ...policy, firewallRules, routingRules }
    }),
  )
}

/** All policies, in evaluation order. */
function PolicyList() {
  const policies = useResource('policies', loadPolicies)
  return (
    <PageLayout
      title="Policies"
      actions={
        hasRole('editor') && (
          <DialogButton label="New policy" kind="primary">
            {(close) => <NewPolicy onClose={close} />}
          </DialogButton>
        )
      }
    >
      <p class="muted">
        In evaluation order. The rules of policies come before those of users, who cannot change them.
      </p>
      <ResourceView resource={policies}>
        {(list) =>
          list.length === 0 ? (
            <Empty>There are no policies. Only users' own rules apply.</Empty>
          ) : (
            <Table
              columns={[
                'Policy',
                'Applies to',
                { number: 'Priority' },
                { number: 'Firewall' },
                { number: 'Routing' },
              ]}
            >
              <tbody>
                {list.map((policy) => (
                  <tr key={policy.id} class={policy.is_enabled ? '' : 'off'}>
                    <td>
                      <a href={href(`/policies/${policy.id}`)}>{policy.name}</a>{' '}
                      {!policy.is_enabled && <Badge>disabled</Badge>}
                      {policy.description && <small class="muted block">{policy.description}</small>}
                    </td>
                    <td>{describeTargets(policy.applies_to)}</td>
                    <td class="number">{policy.priority}</td>
                    <td class="number">{policy.firewallRules.length}</td>
                    <td class="number">{policy.routingRules.length}</td>
                  </tr>
                ))}
              </tbody>
            </Table>
          )
        }
      </ResourceView>
    </PageLayout>
  )
}

const NEW_POLICY: PolicyInput = {
  name: '',
  description: '',
  is_enabled: true,
  visibility: 'name',
  priority: '0',
  applies_to: { everyone: true },
}

function NewPolicy({ onClose }: { readonly onClose: () => void }) {
  const [input, setInput] = useState(NEW_POLICY)
  async function create(reason: string) {
    const { data } = await send<{ data: Policy }>('POST', '/admin/policies', toPolicyBody(input), { reason })
    navigate(`/policies/${data.id}`)
  }
  return (
    <ChangeDialog title="New policy" action="Create" onSave={create} onClose={onClose}>
      <PolicyFields input={input} onChange={setInput} />
    </ChangeDialog>
  )
}

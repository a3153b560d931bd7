import { get } from '../lib/api.ts'
import { useResource } from '../lib/resource.ts'
import { session } from '../lib/session.ts'
import type { Rule } from '../lib/types.ts'
import { Empty, PageLayout, Panel, ResourceView } from '../ui/page.tsx'
import { ActionBadge } from '../ui/values.tsx'
import { RuleEditor } from './rule-editor.tsx'
import { summarizeRule } from './rule-summary.ts'

interface EffectiveRules {
  readonly firewall: readonly Rule[]
  readonly routing: readonly Rule[]
}

/** The rules of the user who is signed in, and those of policies above them. */
export function OwnRulesPage() {
  const effective = useResource('effective', () => get<EffectiveRules>('/v1/rules/effective'))
  const isPaid = session.value?.plan === 'paid'
  return (
    <PageLayout title="My rules">
      <ResourceView resource={effective}>
        {({ firewall, routing }) => <PolicyRules rules={[...firewall, ...routing].filter(isOfPolicy)} />}
      </ResourceView>
      {isPaid ? (
        <RuleEditor path="/v1" canEdit />
      ) : (
        <Empty>Rules of your own require a paid plan. Ask an operator of the gateway.</Empty>
      )}
    </PageLayout>
  )
}

function isOfPolicy({ origin }: Rule): boolean {
  return origin?.type === 'policy'
}

function PolicyRules({ rules }: { readonly rules: readonly Rule[] }) {
  if (rules.length === 0) return null
  return (
    <Panel title="Rules of policies">
      <p class="muted">They come first, and only operators change them.</p>
      <ul class="list">
        {rules.map((rule) => (
          <li key={`${rule.id}`}>
            {rule.action && <ActionBadge action={rule.action} />} <b>{rule.name}</b>{' '}
            <span class="muted">
              of {rule.origin?.name}: {summarizeRule(rule)}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

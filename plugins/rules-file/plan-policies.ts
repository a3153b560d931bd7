import { showFields } from '../../core/resources/names.ts'
import type { Policy, PolicyContent } from '../../projections/events/policies.ts'
import { diffFields } from '../rules/index.ts'
import { type PlanBuilder, pickChanged } from './plan-builder.ts'
import { planRules } from './plan-rules.ts'
import type { PlannedId, ToId } from './planned.ts'
import { matchEntries } from './references.ts'
import type { PolicyEntry } from './schemas.ts'

/** Plans the policies with their rules, and checks that no policy applies to a group that is removed. */
export async function planPolicies(entries: readonly PolicyEntry[], builder: PlanBuilder): Promise<void> {
  const { issues, state } = builder
  const known = state.policies.policies()
  // Read together: rules are compiled between two entries, and others may change a policy meanwhile.
  const revisions = new Map(known.map(({ id }) => [id, state.policies.revision(id)]))
  const listed = new Set<Policy>()
  for (const { path, entry, found: policy } of matchEntries('policy', 'policies', entries, known, issues)) {
    if (policy) listed.add(policy)
    const revision = policy ? (revisions.get(policy.id) ?? -1) : -1
    if (!entry.absent) await planPolicy(path, entry, { policy, revision }, builder)
    else if (policy) planRemoval(policy, revision, builder)
  }
  // Policies of the file refer to groups that are there afterwards.
  for (const policy of known) {
    const { id, name, appliesTo } = policy
    if (!listed.has(policy) && !('everyone' in appliesTo))
      for (const groupId of appliesTo.groups) {
        const group = builder.references.findGroup(groupId)
        if (typeof group !== 'string') continue
        issues.add('groups', `Group ${groupId} cannot be removed: policy ${id} ("${name}") applies to it.`)
      }
  }
}

/** The content of a policy whose groups may be new. */
interface PlannedContent extends Omit<PolicyContent, 'appliesTo'> {
  readonly appliesTo: PlannedScope
}

type PlannedScope =
  | { readonly everyone: true }
  | { readonly groups: readonly PlannedId[]; readonly users: readonly number[] }

interface KnownPolicy {
  /** Undefined for a new policy. */
  readonly policy: Policy | undefined
  /** Revision of its stream. */
  readonly revision: number
}

async function planPolicy(
  path: string,
  entry: PolicyEntry,
  { policy, revision }: KnownPolicy,
  builder: PlanBuilder,
): Promise<void> {
  const content = parsePolicy(path, entry, policy, builder)
  const id = policy?.id ?? builder.newId()
  const current = policy && builder.state.policies.rulesOf(policy.id)
  const rules = await planRules(path, entry, { policyId: policy?.id ?? 0 }, current, builder)
  if (content === undefined) return
  const { name, description, isEnabled, priority, appliesTo, visibility } = content
  const applies_to = showScope(appliesTo, entry)
  const shown = { name, description, is_enabled: isEnabled, priority, applies_to, visibility }
  const before = policy ? showFields(policy) : {}
  const { id: _, ...fields } = diffFields(before, { ...before, ...shown })
  const isChanged = Object.keys(fields).length > 0
  if (!isChanged && Object.keys(rules.changes).length === 0) return

  const toEvents = (toId: ToId) => {
    const policyId = toId(id)
    const settings = { ...content, appliesTo: toScope(appliesTo, toId) }
    const changes = pickChanged(settings, toEventFields(fields))
    return [
      ...(policy === undefined ? [{ type: 'PolicyCreated', data: { policyId, ...settings } } as const] : []),
      ...(policy && isChanged ? [{ type: 'PolicyUpdated', data: { policyId, changes } } as const] : []),
      ...rules.events(toId, { policyId }),
    ]
  }
  builder.write({ type: 'policy', id }, `policy "${content.name}"`, toEvents, { revision })
  builder.changes.push({
    ...{ action: policy ? 'change' : 'add', type: 'policy', id: policy?.id ?? null, name: content.name },
    ...(isChanged && { fields }),
    ...rules.changes,
  })
}

const REQUIRED = ['is_enabled', 'priority', 'applies_to'] as const

/** Returns undefined if something is missing or wrong, which is then among the issues. */
function parsePolicy(
  path: string,
  entry: PolicyEntry,
  policy: Policy | undefined,
  { issues, references }: PlanBuilder,
): PlannedContent | undefined {
  const { name = policy?.name ?? '', description = null, is_enabled, priority, applies_to } = entry
  const { visibility = 'name' } = entry
  for (const field of REQUIRED)
    if (entry[field] === undefined) issues.add(`${path}.${field}`, `The ${field} field is required.`)
  if (name === '') issues.add(`${path}.name`, 'The name field is required.')
  if (is_enabled === undefined || priority === undefined || applies_to === undefined) return undefined
  const settings = { name, description, isEnabled: is_enabled, priority, visibility }
  if ('everyone' in applies_to) return { ...settings, appliesTo: applies_to }
  const groups: PlannedId[] = []
  const users: number[] = []
  for (const [index, reference] of (applies_to.groups ?? []).entries()) {
    const group = references.findGroup(reference)
    if (typeof group === 'string') issues.add(`${path}.applies_to.groups[${index}]`, group)
    else groups.push(group)
  }
  for (const [index, reference] of (applies_to.users ?? []).entries()) {
    const user = references.findUser(reference)
    if (typeof user === 'string') issues.add(`${path}.applies_to.users[${index}]`, user)
    else users.push(user)
  }
  if ((applies_to.groups?.length ?? 0) + (applies_to.users?.length ?? 0) === 0)
    issues.add(`${path}.applies_to`, 'applies_to must name at least one group or user.')
  return { ...settings, appliesTo: { groups, users } }
}

/** New groups have no id yet: they are shown by name. */
function showScope(scope: PlannedScope, { applies_to }: PolicyEntry) {
  if ('everyone' in scope) return scope
  const names = applies_to && 'groups' in applies_to ? (applies_to.groups ?? []) : []
  const groups = scope.groups.map((id, index) => (typeof id === 'number' ? id : names[index]))
  return { groups, users: scope.users }
}

function toScope(scope: PlannedScope, toId: ToId): PolicyContent['appliesTo'] {
  return 'everyone' in scope ? scope : { groups: scope.groups.map(toId), users: scope.users }
}

/** The fields of the API as those of events are called. */
function toEventFields({ is_enabled, applies_to, ...fields }: Readonly<Record<string, unknown>>): object {
  return {
    ...fields,
    ...(is_enabled !== undefined && { isEnabled: true }),
    ...(applies_to !== undefined && { appliesTo: true }),
  }
}

function planRemoval(policy: Policy, revision: number, builder: PlanBuilder): void {
  const { id, name } = policy
  const events = () => [{ type: 'PolicyDeleted', data: { policyId: id } } as const]
  builder.write({ type: 'policy', id }, `policy "${name}"`, events, { revision })
  const { firewall, routing } = builder.state.policies.rulesOf(id)
  const { kinds } = builder.state
  builder.changes.push({
    ...{ action: 'remove', type: 'policy', id, name },
    firewall_rules: { added: [], changed: [], removed: firewall.map(kinds.firewall.show) },
    routing_rules: { added: [], changed: [], removed: routing.map(kinds.routing.show) },
  })
}

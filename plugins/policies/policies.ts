import {
  defineResource,
  GatewayError,
  Nullable,
  StrictObject,
  StringEnum,
  serialId,
  Type,
} from '../../core/contract/index.ts'
import { invalidParameterError } from '../../core/http/parse-call.ts'
import { Count, Timestamp } from '../../core/http/schemas.ts'
import { buildIdSchema, createNotFoundError } from '../../core/resources/resource.ts'
import type { Accounts } from '../../projections/accounts.ts'
import { foldPolicy, type Policy, type PolicyScope, policyEvents } from '../../projections/events/policies.ts'
import type { Groups } from '../../projections/groups.ts'
import { isOwnPolicy } from '../../projections/operator-scope.ts'
import type { Policies } from '../../projections/policies.ts'
import { evaluationRank, MAX_PRIORITY } from '../../projections/rules.ts'

interface PolicyServices {
  readonly accounts: Pick<Accounts, 'user'>
  readonly groups: Pick<Groups, 'group'>
  readonly policies: Pick<Policies, 'rulesOf'>
}

const ids = (what: string, maxItems: number) =>
  Type.Array(Type.Integer({ minimum: 1, format: 'int64' }), {
    maxItems,
    uniqueItems: true,
    description: `Ids of ${what}.`,
  })

const everyone = { everyone: Type.Literal(true, { description: 'Always true.' }) }
const some = {
  groups: ids('groups, whose users the policy applies to', 1000),
  users: ids('users that the policy applies to', 10_000),
}

/** Named sets of rules above those of users. Their rules are in the same stream. */
export const policies = defineResource({
  name: 'policy',
  plural: 'policies',
  description: 'A named set of rules above those of users.',
  path: '/admin/policies',
  tag: 'policies',
  roles: { read: 'auditor', write: 'editor' },
  scoped: {
    read: 'filtered',
    write: 'filtered',
    includes: (policy, scope) => isOwnPolicy(policy, scope),
    checkChange({ appliesTo }, scope) {
      if (appliesTo === undefined) return
      if ('everyone' in appliesTo || appliesTo.users?.length) {
        const message = 'applies_to may name groups of your scope only. Ask an operator without a scope.'
        throw new GatewayError('scope_exceeded', message, { param: 'applies_to' })
      }
      requireKnown('group', appliesTo.groups ?? [], scope.hasGroup)
    },
  },
  id: serialId(15),
  fields: {
    name: Type.String({ minLength: 1, maxLength: 128, description: 'Name of the policy.' }),
    description: Nullable(Type.String({ maxLength: 1000 }), {
      default: null,
      description: 'What the policy is for.',
    }),
    is_enabled: Type.Boolean({ description: 'Whether the rules of the policy are applied.' }),
    priority: Type.Integer({
      minimum: -MAX_PRIORITY,
      maximum: MAX_PRIORITY,
      description: 'Policies with a higher priority are evaluated first; of equal ones, the older one.',
    }),
    applies_to: Type.Union(
      [
        StrictObject(everyone, { $id: 'PolicyScopeEveryone', description: 'All users.' }),
        StrictObject(
          { groups: Type.Optional(some.groups), users: Type.Optional(some.users) },
          { $id: 'PolicyScopeInput', minProperties: 1, description: 'Some users.' },
        ),
      ],
      { description: 'The users that the policy applies to.' },
    ),
    visibility: StringEnum(['name', 'full'], {
      default: 'name',
      description: 'What users see of the rules: their names (default), or patterns and conditions, too.',
    }),
  },
  shown: {
    applies_to: Type.Union(
      [
        Type.Object(everyone, { $id: 'EveryoneScope', description: 'All users.' }),
        Type.Object(some, { $id: 'PolicyScope', description: 'Some users.' }),
      ],
      { description: 'The users that the policy applies to.' },
    ),
    created_at: Timestamp('When the policy was created.'),
    updated_at: Timestamp('When its settings were last changed.'),
    firewall_rules: Type.Optional(Count('How many firewall rules it has, if the list was asked for it.')),
    routing_rules: Type.Optional(Count('How many routing rules it has, if the list was asked for it.')),
    tool_rules: Type.Optional(Count('How many tool rules it has, if the list was asked for it.')),
  },
  list: {
    rank: evaluationRank,
    order: 'in evaluation order',
    limit: 1000,
    more: {
      parameter: { name: 'rule_counts', description: 'Adds how many rules of each kind a policy has.' },
      read:
        ({ policies }) =>
        (policy) => {
          const { firewall, routing, tool } = policies.rulesOf(policy.id)
          return {
            firewall_rules: firewall.length,
            routing_rules: routing.length,
            tool_rules: tool.length,
          }
        },
    },
  },
  summaries: { create: 'Creates a policy without rules.', delete: 'Deletes a policy with its rules.' },
  examples: {
    create: {
      everyone: { name: 'Personal data', is_enabled: true, priority: 100, applies_to: { everyone: true } },
    },
    update: { suspend: { is_enabled: false } },
  },
  events: {
    family: policyEvents,
    created: 'PolicyCreated',
    changed: 'PolicyUpdated',
    deleted: 'PolicyDeleted',
    fold: foldPolicy,
  },
  complete({ appliesTo, ...given }) {
    if (appliesTo === undefined || 'everyone' in appliesTo)
      return { ...given, ...(appliesTo && { appliesTo }) }
    const scope = { groups: [], users: [], ...appliesTo }
    if (scope.groups.length + scope.users.length > 0) return { ...given, appliesTo: scope }
    const advice = 'Set is_enabled to false to suspend a policy.'
    throw invalidParameterError('applies_to', `applies_to must name at least one group or user. ${advice}`)
  },
  checkReferences({ appliesTo }, services: PolicyServices) {
    // The cast is safe: `complete` has added the list that is missing.
    if (appliesTo !== undefined) requireMembers(appliesTo as PolicyScope, services)
  },
  /** Another process may have deleted a group while the policy was changed to apply to it. */
  checkAfterChange(before: Policy, { id, appliesTo }: Policy, { groups }) {
    if (before.appliesTo === appliesTo || 'everyone' in appliesTo) return
    const lost = appliesTo.groups.find((groupId) => groups.group(groupId) === undefined)
    if (lost === undefined) return
    const message =
      `Policy ${id} was changed, but group ${lost} was deleted at the same time. ` +
      'Change applies_to of the policy again.'
    throw new GatewayError('conflict', message)
  },
})

/** Throws 400 if the policy names a group or a user that does not exist. */
function requireMembers(scope: PolicyScope, { accounts, groups }: PolicyServices): void {
  if ('everyone' in scope) return
  requireKnown('group', scope.groups, (id) => groups.group(id) !== undefined)
  requireKnown('user', scope.users, (id) => accounts.user(id) !== undefined)
}

function requireKnown(
  name: 'group' | 'user',
  ids: readonly number[],
  isKnown: (id: number) => boolean,
): void {
  for (const [index, id] of ids.entries())
    if (!isKnown(id))
      throw invalidParameterError(`applies_to.${name}s[${index}]`, `applies_to: ${name} ${id} was not found.`)
}

export const policyId = buildIdSchema(policies)

export const policyNotFoundError = (id: number | string) => createNotFoundError(policies, id)

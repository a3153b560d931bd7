import { isDeepStrictEqual } from 'node:util'
import { type Author, GatewayError } from '../../core/contract/index.ts'
import { anyRevision, type Precondition } from '../../core/http/conditional.ts'
import type { AppliedChange } from '../../core/http/idempotency.ts'
import { invalidParameterError } from '../../core/http/parse-call.ts'
import type { Accounts } from '../../projections/accounts.ts'
import {
  foldPolicy,
  type Policy,
  type PolicyContent,
  type PolicyEvent,
  type PolicyScope,
  policyStream,
} from '../../projections/events/policies.ts'
import type { Groups } from '../../projections/groups.ts'
import type { History } from '../../projections/history.ts'
import type { IdSource } from '../../projections/ids.ts'
import type { Policies } from '../../projections/policies.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'
import { createEntityStream } from './entity-stream.ts'
import { policyNotFoundError } from './policy-scope.ts'

export interface PolicyServices {
  readonly accounts: Pick<Accounts, 'user'>
  readonly groups: Pick<Groups, 'group'>
  readonly policies: Policies
  readonly ids: IdSource
  readonly writer: EventWriter
  readonly history: Pick<History, 'eventsOfChange'>
}

/** Changes to policies. Each resolves when all processes of this node apply it, with its own result. */
export interface PolicyCommands {
  /** Throws 404. */
  requirePolicy(id: number): Policy
  /** Throws 400 for groups and users that do not exist. */
  createPolicy(content: PolicyContent, author: Author): Promise<Policy>
  /** Returns the policy that a request with an `Idempotency-Key` created before, as it was then. */
  createdPolicy(change: AppliedChange): Promise<Policy>
  /** Throws 404, 400 like `createPolicy`, and 412 unless the policy has one of the expected revisions. */
  changePolicy(
    id: number,
    changes: Partial<PolicyContent>,
    expected: Precondition,
    author: Author,
  ): Promise<Policy>
  deletePolicy(id: number, expected: Precondition, author: Author): Promise<void>
}

export function createPolicyCommands(services: PolicyServices): PolicyCommands {
  const { policies, ids } = services

  const stream = createEntityStream<Policy, PolicyEvent>(
    {
      name: 'policy',
      find: (id) => policies.policy(id),
      stream: policyStream,
      streamRevision: (id) => policies.revision(id),
      evolve: foldPolicy,
      notFound: policyNotFoundError,
    },
    services,
  )

  async function removePolicy(id: number, expected: Precondition, author: Author): Promise<void> {
    const decide = () => {
      stream.requireRevision(id, expected)
      return { type: 'PolicyDeleted', data: { policyId: id } } as const
    }
    await stream.write(id, decide, author)
  }

  return {
    requirePolicy: stream.require,
    async createPolicy(content, author) {
      requireMembers(content.appliesTo, services)
      const policyId = await ids.reserve(1, author)
      const decide = () => {
        requireMembers(content.appliesTo, services)
        return { type: 'PolicyCreated', data: { policyId, ...content } } as const
      }
      const policy = (await stream.write(policyId, decide, author)) ?? stream.require(policyId)
      try {
        // Another process may have deleted a group meanwhile.
        requireMembers(content.appliesTo, services)
      } catch (error) {
        // The request's Idempotency-Key stands for the creation.
        const { idempotency: _, ...remover } = author
        await removePolicy(policyId, anyRevision, remover)
        throw error
      }
      return policy
    },
    createdPolicy: (change) => stream.created(change, 'PolicyCreated'),
    async changePolicy(id, changes, expected, author) {
      const decide = () => {
        const policy = stream.requireRevision(id, expected)
        if (changes.appliesTo !== undefined) requireMembers(changes.appliesTo, services)
        if (isDeepStrictEqual({ ...policy, ...changes }, policy)) return undefined
        return { type: 'PolicyUpdated', data: { policyId: id, changes } } as const
      }
      const policy = (await stream.write(id, decide, author)) ?? stream.require(id)
      if (changes.appliesTo !== undefined) requireKeptGroups(policy, services)
      return policy
    },
    deletePolicy: removePolicy,
  }
}

/** Throws 409 if another process deleted a group while the policy was changed to apply to it. */
function requireKeptGroups({ id, appliesTo }: Policy, { groups }: PolicyServices): void {
  if ('everyone' in appliesTo) return
  const lost = appliesTo.groups.find((groupId) => groups.group(groupId) === undefined)
  if (lost === undefined) return
  const message =
    `Policy ${id} was changed, but group ${lost} was deleted at the same time. ` +
    'Change applies_to of the policy again.'
  throw new GatewayError('conflict', message)
}

/** Throws 400 if the policy names nobody, or a group or a user that does not exist. */
function requireMembers(scope: PolicyScope, { accounts, groups }: PolicyServices): void {
  if ('everyone' in scope) return
  if (scope.groups.length + scope.users.length === 0)
    throw invalidParameterError(
      'applies_to',
      'applies_to must name at least one group or user. Set is_enabled to false to suspend a policy.',
    )
  for (const [index, id] of scope.groups.entries())
    if (groups.group(id) === undefined)
      throw invalidParameterError(`applies_to.groups[${index}]`, `applies_to: group ${id} was not found.`)
  for (const [index, id] of scope.users.entries())
    if (accounts.user(id) === undefined)
      throw invalidParameterError(`applies_to.users[${index}]`, `applies_to: user ${id} was not found.`)
}

import { isDeepStrictEqual } from 'node:util'
import { type Author, GatewayError } from '../../core/contract/index.ts'
import {
  type PolicyContent,
  type PolicyEvent,
  type PolicyScope,
  policyStream,
} from '../../core/events/policy-events.ts'
import type { ExpectedRevisions } from '../../core/http/conditional.ts'
import type { AppliedChange } from '../../core/http/idempotency.ts'
import { invalidParameterError } from '../../core/http/parse-call.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { Groups } from '../../projections/groups.ts'
import type { History } from '../../projections/history.ts'
import type { IdSource } from '../../projections/ids.ts'
import { evolvePolicy, type Policies, type Policy } from '../../projections/policies.ts'
import { answerInTime, type EventWriter } from '../../projections/runtime/write.ts'
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
    expected: ExpectedRevisions,
    author: Author,
  ): Promise<Policy>
  deletePolicy(id: number, expected: ExpectedRevisions, author: Author): Promise<void>
}

export function createPolicyCommands(services: PolicyServices): PolicyCommands {
  const { policies, ids, writer, history } = services

  function requirePolicy(id: number): Policy {
    const policy = policies.policy(id)
    if (policy === undefined) throw policyNotFoundError(String(id))
    return policy
  }

  function requireRevision(id: number, expected: ExpectedRevisions): Policy {
    const policy = requirePolicy(id)
    if (expected === 'any' || expected.includes(policy.revision)) return policy
    const message =
      `The policy has changed: its revision is now ${policy.revision}. ` +
      'Read it again before you repeat the change.'
    throw new GatewayError('revision_mismatch', message)
  }

  /** Writes the event that `decide` returns for the current policy, if any. Returns the policy after it. */
  async function writePolicyEvent(
    id: number,
    decide: () => PolicyEvent | undefined,
    author: Author,
  ): Promise<Policy | undefined> {
    let before: Policy | undefined
    let event: PolicyEvent | undefined
    const command = {
      stream: policyStream(id),
      revision: () => policies.revision(id),
      decide() {
        before = policies.policy(id)
        event = decide()
        return event === undefined ? [] : [event]
      },
    }
    const written = await answerInTime(writer.write(command, author))
    if (written === undefined || event === undefined) return before
    const { revision, position, time } = written
    return evolvePolicy(before, event, { revision, position, metadata: { time } })
  }

  return {
    requirePolicy,
    async createPolicy(content, author) {
      requireMembers(content.appliesTo, services)
      const policyId = await ids.reserve(1, author)
      const decide = () => ({ type: 'PolicyCreated', data: { policyId, ...content } }) as const
      return (await writePolicyEvent(policyId, decide, author)) ?? requirePolicy(policyId)
    },
    async createdPolicy(change) {
      const [first] = await history.eventsOfChange(change)
      const created = first?.event?.type === 'PolicyCreated' ? first.event : undefined
      const policy = created && first && evolvePolicy(undefined, created, first.record)
      if (policy !== undefined) return policy
      throw new Error(`the events of stream ${change.stream} cannot be decoded`)
    },
    async changePolicy(id, changes, expected, author) {
      const decide = () => {
        const policy = requireRevision(id, expected)
        if (changes.appliesTo !== undefined) requireMembers(changes.appliesTo, services)
        if (isDeepStrictEqual({ ...policy, ...changes }, policy)) return undefined
        return { type: 'PolicyUpdated', data: { policyId: id, changes } } as const
      }
      return (await writePolicyEvent(id, decide, author)) ?? requirePolicy(id)
    },
    async deletePolicy(id, expected, author) {
      const decide = () => {
        requireRevision(id, expected)
        return { type: 'PolicyDeleted', data: { policyId: id } } as const
      }
      await writePolicyEvent(id, decide, author)
    },
  }
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

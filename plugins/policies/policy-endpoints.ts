import {
  data,
  type Endpoint,
  type EndpointResponse,
  endpoint,
  operator,
  Type,
} from '../../core/contract/index.ts'
import {
  etagHeader,
  parsePrecondition,
  preconditionHeaders,
  revisionEtag,
} from '../../core/http/conditional.ts'
import { repeatable } from '../../core/http/idempotency.ts'
import { PAGE, toPage } from '../../core/http/page.ts'
import { NextCursor, pageQuery, Success } from '../../core/http/schemas.ts'
import type { Policy, PolicyContent, PolicyScope } from '../../projections/events/policies.ts'
import { showPolicy } from '../rules/show-policy.ts'
import { createPolicyCommands, type PolicyServices } from './policy-commands.ts'
import { policyNotFoundError } from './policy-scope.ts'
import {
  PolicyChange,
  type PolicyFields,
  PolicyInput,
  PolicySchema,
  policyId,
  ruleCounts,
} from './schemas.ts'

/** Errors of endpoints that append to the event log. */
const WRITE_ERRORS = ['conflict', 'change_too_large', 'event_log_full'] as const

const read = { access: operator('auditor'), tags: ['policies'] }
const write = { access: operator('editor'), tags: ['policies'] }

/** Creates the endpoints for policies, without those for their rules. */
export function createPolicyEndpoints(services: PolicyServices): readonly Endpoint[] {
  const commands = createPolicyCommands(services)
  const one = { path: '/admin/policies/{id}', params: { id: policyId }, notFound: policyNotFoundError }
  const shown = { headers: etagHeader('policy'), body: data(PolicySchema) }
  const countRules = (id: number) => {
    const { firewall, routing } = services.policies.rulesOf(id)
    return { firewall_rules: firewall.length, routing_rules: routing.length }
  }

  return [
    endpoint({
      ...read,
      method: 'GET',
      path: '/admin/policies',
      operationId: 'listPolicies',
      summary: 'Lists all policies, in pages in evaluation order.',
      query: { ...pageQuery({ ...PAGE, default: PAGE.max }, 'YWZ0ZXI6Nw'), rule_counts: ruleCounts },
      responses: {
        200: {
          description: 'A page of policies.',
          body: Type.Object(
            {
              data: Type.Array(PolicySchema, { description: 'The policies, in evaluation order.' }),
              next_cursor: NextCursor,
            },
            { $id: 'PolicyPage', description: 'A page of policies.' },
          ),
        },
      },
      handle: ({ query: { limit = PAGE.max, rule_counts, ...query } }) =>
        toPage(
          services.policies.policies(),
          { limit, ...query },
          evaluationRank,
          rule_counts ? (policy) => ({ ...showPolicy(policy), ...countRules(policy.id) }) : showPolicy,
        ),
    }),
    repeatable(
      endpoint({
        ...write,
        method: 'POST',
        path: '/admin/policies',
        operationId: 'createPolicy',
        summary: 'Creates a policy without rules.',
        body: PolicyInput,
        examples: {
          everyone: {
            name: 'Personal data',
            is_enabled: true,
            priority: 100,
            applies_to: { everyone: true },
          },
        },
        responses: { 201: { description: 'The new policy.', ...shown } },
        errors: WRITE_ERRORS,
        async handle({ body, author }) {
          const { name, description = null, is_enabled: isEnabled, priority, applies_to } = body
          const { visibility = 'name' } = body
          const appliesTo = toScope(applies_to)
          const content = { name, description, isEnabled, priority, appliesTo, visibility }
          return toPolicyResponse(201, await commands.createPolicy(content, author))
        },
      }),
      async (_, change) => toPolicyResponse(201, await commands.createdPolicy(change)),
    ),
    endpoint({
      ...read,
      ...one,
      method: 'GET',
      operationId: 'readPolicy',
      summary: 'Returns a policy, without its rules.',
      responses: { 200: { description: 'The policy.', ...shown } },
      handle: ({ params }) => toPolicyResponse(200, commands.requirePolicy(params.id)),
    }),
    endpoint({
      ...write,
      ...one,
      method: 'PATCH',
      operationId: 'updatePolicy',
      summary: 'Updates the given fields of a policy.',
      headers: preconditionHeaders('policy'),
      body: PolicyChange,
      examples: { suspend: { is_enabled: false } },
      responses: { 200: { description: 'The policy after the change.', ...shown } },
      errors: [...WRITE_ERRORS, 'revision_mismatch'],
      async handle({ params: { id }, headers, body, author }) {
        const expected = parsePrecondition(headers)
        return toPolicyResponse(200, await commands.changePolicy(id, toChanges(body), expected, author))
      },
    }),
    endpoint({
      ...write,
      ...one,
      method: 'DELETE',
      operationId: 'deletePolicy',
      summary: 'Deletes a policy with its rules.',
      headers: preconditionHeaders('policy'),
      responses: { 200: { description: 'The policy is deleted.', body: Success } },
      errors: [...WRITE_ERRORS, 'revision_mismatch'],
      async handle({ params: { id }, headers, author }) {
        await commands.deletePolicy(id, parsePrecondition(headers), author)
        return { status: 200, body: { success: true } }
      },
    }),
  ]
}

/** Sorts policies by priority, the highest first, and then by id. */
function evaluationRank({ priority, id }: Policy): number {
  return (MAX_PRIORITY - priority) * 1e12 + id
}

const MAX_PRIORITY = 1000

function toChanges({
  name,
  description,
  is_enabled,
  priority,
  applies_to,
  visibility,
}: PolicyFields): Partial<PolicyContent> {
  return {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(is_enabled !== undefined && { isEnabled: is_enabled }),
    ...(priority !== undefined && { priority }),
    ...(applies_to !== undefined && { appliesTo: toScope(applies_to) }),
    ...(visibility !== undefined && { visibility }),
  }
}

function toScope(scope: NonNullable<PolicyFields['applies_to']>): PolicyScope {
  if ('everyone' in scope) return scope
  return { groups: scope.groups ?? [], users: scope.users ?? [] }
}

function toPolicyResponse(status: number, policy: Policy): EndpointResponse {
  return { status, headers: { etag: revisionEtag(policy.revision) }, body: { data: showPolicy(policy) } }
}

import {
  type Author,
  data,
  type Endpoint,
  endpoint,
  GatewayError,
  type JsonObject,
  Nullable,
  type OperatorScope,
  operator,
  type RecordStore,
  StringEnum,
  Type,
  user,
} from '../../core/contract/index.ts'
import { cutPage, PAGE } from '../../core/http/pages.ts'
import { AnyFields, Count, NextCursor, NoFields, pageQuery, Timestamp } from '../../core/http/schemas.ts'
import { ActorSchema } from '../../core/resources/changes.ts'
import { WRITE_ERRORS } from '../../core/resources/endpoints.ts'
import { answerInTime } from '../../core/threads/timeout.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { Approvals } from '../../projections/approvals.ts'
import {
  APPROVAL_STATUSES,
  type Approval,
  type ApprovalEvent,
  type ApprovalStatus,
  approvalStream,
  statusAt,
} from '../../projections/events/approvals.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'

export interface ApprovalServices {
  readonly accounts: Pick<Accounts, 'user'>
  readonly approvals: Approvals
  readonly writer: EventWriter
  readonly store: Pick<RecordStore, 'get'>
  /** How long a granted approval can be used. */
  readonly usableForSeconds: number
}

const fields = {
  id: Type.String({ description: 'Id of the approval, apr_….' }),
  status: StringEnum(APPROVAL_STATUSES, {
    description: 'pending: nobody has decided. used: the call was sent; it cannot be used again.',
  }),
  user_id: Count('Id of the user who called the tool.'),
  server: Type.String({ description: 'Name of the tool server.' }),
  tool: Type.String({ description: 'Name of the tool.' }),
  arguments_digest: Type.String({
    description: 'SHA-256 of the arguments as canonical JSON (RFC 8785), in hexadecimal digits.',
  }),
  session_id: Nullable(Type.String(), { description: 'The session of the agent, if it has one.' }),
  rule_id: Count('Id of the rule that requires the approval.'),
  rule_name: Type.String({ description: 'Name of the rule.' }),
  rules_position: Count('Log position of the rules. Under later rules, the approval does not count.'),
  created_at: Timestamp('When the tool was called.'),
  expires_at: Timestamp('When it can no longer be granted, or used once it was granted.'),
  decided_at: Nullable(Timestamp('When an operator decided.'), {
    description: 'When an operator decided. ISO 8601, UTC. Null before.',
  }),
  decided_by: Nullable(ActorSchema, { description: 'The operator who decided; null before.' }),
  used_by: Nullable(Type.String(), { description: 'Id of the request that used it; null before.' }),
}

const ApprovalSchema = Type.Object(fields, { $id: 'Approval', description: 'An approval of a tool call.' })

const ApprovalDetails = Type.Object(
  {
    ...fields,
    user_name: Type.String({ description: 'Name of the user; empty for a deleted one.' }),
    arguments: Nullable(AnyFields('The arguments of the call, as the firewall left them'), {
      description:
        'The arguments of the call, as the firewall left them. Null if they are no longer kept, or are ' +
        'larger than a mebibyte.',
    }),
  },
  { $id: 'ApprovalDetails', description: 'An approval with the arguments of its call.' },
)

const ApprovalPage = Type.Object(
  {
    data: Type.Array(ApprovalSchema, { description: 'The approvals, newest first.' }),
    next_cursor: NextCursor,
  },
  { $id: 'ApprovalPage', description: 'A page of approvals.' },
)

const approvalId = Type.String({
  pattern: '^apr_[0-9a-f]{24}$',
  description: 'Id of an approval.',
  examples: ['apr_0123456789abcdef01234567'],
})

const listQuery = {
  status: Type.Optional(StringEnum(APPROVAL_STATUSES, { description: 'Only those with this status.' })),
  ...pageQuery(PAGE, 'YWZ0ZXI6Nw'),
}

interface ListQuery {
  readonly status?: ApprovalStatus | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

export function createApprovalEndpoints(services: ApprovalServices): readonly Endpoint[] {
  const { accounts, approvals, writer, store } = services

  function list(isShown: (approval: Approval) => boolean, { status, ...page }: ListQuery) {
    const now = Date.now()
    const found = approvals
      .list()
      .filter((approval) => isShown(approval) && (status === undefined || statusAt(approval, now) === status))
    const cut = cutPage(found, { limit: PAGE.default, ...page }, toRank)
    const body = {
      data: cut.page.map((approval) => showApproval(approval, now)),
      next_cursor: cut.next_cursor,
    }
    return { status: 200, body }
  }

  function requireApproval(id: string, isShown: (approval: Approval) => boolean): Approval {
    const approval = approvals.find(id)
    if (approval === undefined || !isShown(approval)) throw notFound(id)
    return approval
  }

  async function showDetails(id: string) {
    const approval = requireApproval(id, () => true)
    const details = {
      ...showApproval(approval, Date.now()),
      user_name: accounts.user(approval.userId)?.name ?? '',
      arguments: (await store.get(id).catch(() => undefined)) ?? null,
    }
    return { status: 200, body: { data: details } }
  }

  const decisionEndpoint = (verb: 'grant' | 'deny', summary: string) =>
    endpoint({
      ...common,
      method: 'POST',
      path: `/admin/approvals/{id}/${verb}`,
      access: operator('editor', 'filtered'),
      params: { id: approvalId },
      operationId: `${verb}Approval`,
      summary,
      body: NoFields,
      examples: { empty: {} },
      responses: { 200: { description: 'The approval.', body: data(ApprovalDetails) } },
      errors: WRITE_ERRORS,
      async handle({ params: { id }, author, scope }) {
        requireApproval(id, inScope(scope))
        writer.checkAvailable()
        await answerInTime(decideAboutApproval(services, { id, verb, now: Date.now }, author))
        return showDetails(id)
      },
    })

  return [
    endpoint({
      ...common,
      method: 'GET',
      path: '/v1/approvals',
      access: user(),
      operationId: 'listOwnApprovals',
      summary: 'Lists the approvals of your tool calls, newest first.',
      query: listQuery,
      responses: { 200: { description: 'A page of approvals.', body: ApprovalPage } },
      handle: ({ account, query }) => list(({ userId }) => userId === account.userId, query),
    }),
    endpoint({
      ...common,
      method: 'GET',
      path: '/v1/approvals/{id}',
      access: user(),
      params: { id: approvalId },
      operationId: 'readOwnApproval',
      summary: 'Returns an approval of one of your tool calls.',
      responses: { 200: { description: 'The approval.', body: data(ApprovalDetails) } },
      handle({ account, params: { id } }) {
        requireApproval(id, ({ userId }) => userId === account.userId)
        return showDetails(id)
      },
    }),
    endpoint({
      ...common,
      method: 'GET',
      path: '/admin/approvals',
      access: operator('auditor', 'filtered'),
      operationId: 'listApprovals',
      summary: 'Lists the approvals of tool calls, newest first.',
      description: 'A week after they have expired, only the audit trail has them.',
      query: listQuery,
      responses: { 200: { description: 'A page of approvals.', body: ApprovalPage } },
      handle: ({ query, scope }) => list(inScope(scope), query),
    }),
    endpoint({
      ...common,
      method: 'GET',
      path: '/admin/approvals/{id}',
      access: operator('auditor', 'filtered'),
      params: { id: approvalId },
      operationId: 'readApproval',
      summary: 'Returns an approval of a tool call, with the arguments of the call.',
      responses: { 200: { description: 'The approval.', body: data(ApprovalDetails) } },
      handle({ params: { id }, scope }) {
        requireApproval(id, inScope(scope))
        return showDetails(id)
      },
    }),
    decisionEndpoint('grant', 'Lets a tool call pass, once.'),
    decisionEndpoint('deny', 'Refuses a tool call.'),
  ]
}

interface Decision {
  readonly id: string
  readonly verb: 'grant' | 'deny'
  now(): number
}

/** Throws 404 if the approval is not known, and 409 if it can no longer be decided. */
export async function decideAboutApproval(
  {
    approvals,
    writer,
    usableForSeconds,
  }: Pick<ApprovalServices, 'usableForSeconds'> & {
    readonly approvals: Pick<Approvals, 'find'>
    readonly writer: Pick<EventWriter, 'write'>
  },
  { id, verb, now }: Decision,
  author: Author,
): Promise<void> {
  const decide = (): readonly ApprovalEvent[] => {
    const approval = approvals.find(id)
    if (approval === undefined) throw notFound(id)
    const status = statusAt(approval, now())
    const isDone = status === 'granted' ? verb === 'grant' : status === 'denied' && verb === 'deny'
    if (isDone) return []
    // What was granted by mistake can be taken back.
    if (status !== 'pending' && status !== 'granted')
      throw new GatewayError('conflict', `Approval ${id} is ${status}: it can no longer be decided.`)
    const data = { approvalId: id, userId: approval.userId }
    if (verb === 'deny') return [{ type: 'ApprovalDenied', data }]
    const expiresAt = new Date(now() + usableForSeconds * 1000).toISOString()
    return [{ type: 'ApprovalGranted', data: { ...data, expiresAt } }]
  }
  const revision = () => approvals.find(id)?.revision ?? -1
  await writer.write({ stream: approvalStream(id), revision, decide }, author)
}

const notFound = (id: string) => new GatewayError('not_found', `Approval ${id} was not found.`)

const common = { tags: ['approvals'], notFound }

const inScope =
  (scope: OperatorScope | undefined) =>
  ({ userId }: Approval) =>
    scope?.hasUser(userId) !== false

/** Newest first. */
function toRank({ position }: Approval): number {
  return Number.MAX_SAFE_INTEGER - position
}

export function showApproval(approval: Approval, nowMs: number): JsonObject {
  const { id, userId, server, tool, argumentsDigest, sessionId, ruleId, ruleName } = approval
  const { rulesPosition, createdAt, expiresAt, decidedAt, decidedBy, usedBy } = approval
  return {
    id,
    status: statusAt(approval, nowMs),
    user_id: userId,
    server,
    tool,
    arguments_digest: argumentsDigest,
    session_id: sessionId ?? null,
    rule_id: ruleId,
    rule_name: ruleName,
    rules_position: rulesPosition,
    created_at: createdAt,
    expires_at: expiresAt,
    decided_at: decidedAt ?? null,
    decided_by: decidedBy ?? null,
    used_by: usedBy ?? null,
  }
}

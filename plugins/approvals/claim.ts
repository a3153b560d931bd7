import {
  type Author,
  errorsOf,
  type JsonObject,
  keyActor,
  type RecordStore,
} from '../../core/contract/index.ts'
import type { Approvals as ApprovalStates } from '../../projections/approvals.ts'
import {
  type Approval,
  approvalKey,
  approvalStream,
  createApprovalId,
  statusAt,
} from '../../projections/events/approvals.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'
import type { ApprovalRequest, Approvals, ClaimedApproval } from './index.ts'

export const APPROVAL_ERROR_CODES = {
  too_many_approvals: {
    status: 429,
    type: 'rate_limit_error',
    description: 'Too many tool calls of the user wait for an approval.',
  },
} as const

const approvalError = errorsOf(APPROVAL_ERROR_CODES)

interface ClaimServices {
  readonly approvals: ApprovalStates
  readonly writer: Pick<EventWriter, 'write'>
  readonly store: Pick<RecordStore, 'set'>
  /** How long an operator has to decide. */
  readonly expireAfterSeconds: number
  readonly maxPendingPerUser: number
  /** Called in the process that asked for the approval. */
  onRequested(approval: Approval): void
  /** A Unix time in milliseconds. Default: the system's. */
  readonly now?: () => number
}

/** Other processes can use up an approval first, and a new one be granted meanwhile. */
const MAX_ROUNDS = 5

/** See `Approvals`. */
export function createApprovalClaims(services: ClaimServices): Approvals {
  const { approvals, writer, store, expireAfterSeconds, maxPendingPerUser, now = Date.now } = services

  /** Resolves with false if another process has used it. */
  async function use({ id, userId }: Approval, requestId: string, author: Author): Promise<boolean> {
    const isGranted = () => {
      const approval = approvals.find(id)
      return approval !== undefined && statusAt(approval, now()) === 'granted'
    }
    const data = { approvalId: id, userId, requestId }
    const written = await writer.write(
      {
        stream: approvalStream(id),
        revision: () => approvals.find(id)?.revision ?? -1,
        decide: () => (isGranted() ? [{ type: 'ApprovalUsed', data }] : []),
        isRecord: true,
      },
      author,
    )
    return written !== undefined
  }

  async function ask(request: ApprovalRequest, key: string, author: Author): Promise<void> {
    const { account, server, tool, argumentsDigest, rulesPosition, sessionId, rule } = request
    if (approvals.pendingOf(account.userId) >= maxPendingPerUser) {
      const message =
        `${maxPendingPerUser} tool calls already wait for an approval. ` +
        'Try again when operators have decided.'
      throw approvalError('too_many_approvals', message, { retryAfter: 60 })
    }
    const time = now()
    const day = new Date(time).toISOString().slice(0, 10)
    const earlier = approvals.withKey(key).filter(({ createdAt }) => createdAt.startsWith(day))
    const approvalId = createApprovalId(key, day, earlier.length)
    const data = {
      approvalId,
      userId: account.userId,
      ...{ server, tool, argumentsDigest, rulesPosition },
      ...(sessionId !== undefined && { sessionId }),
      ruleId: rule.id,
      ruleName: rule.name,
      expiresAt: new Date(time + expireAfterSeconds * 1000).toISOString(),
    }
    // First, so that operators who see the approval see what it is for. It is of use without them, too.
    if (request.arguments !== undefined) await keepArguments(approvalId, request.arguments)
    const written = await writer.write(
      {
        stream: approvalStream(approvalId),
        revision: () => approvals.find(approvalId)?.revision ?? -1,
        decide: () => (approvals.find(approvalId) ? [] : [{ type: 'ApprovalRequested', data }]),
        isRecord: true,
      },
      author,
    )
    const approval = approvals.find(approvalId)
    if (written !== undefined && approval !== undefined) services.onRequested(approval)
  }

  async function keepArguments(id: string, value: JsonObject): Promise<void> {
    await store.set(id, value, expireAfterSeconds).catch(() => undefined)
  }

  async function claim(request: ApprovalRequest, usesGranted: boolean): Promise<ClaimedApproval> {
    const { account, requestId } = request
    const key = approvalKey({ ...request, userId: account.userId })
    const author = { actor: keyActor(account), requestId }
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const found = findOpen(approvals.withKey(key), now())
      if (found === undefined) {
        await ask(request, key, author)
        continue
      }
      const { id, expiresAt } = found
      const status = statusAt(found, now())
      if (status === 'pending' || status === 'denied') return { id, status, expiresAt }
      if (status !== 'granted') continue
      if (!usesGranted || (await use(found, requestId, author))) return { id, status, expiresAt }
    }
    throw new Error('the approval changes faster than it can be used')
  }

  return { claim: (request) => claim(request, true), ask: (request) => claim(request, false) }
}

/** The newest one that says something about a call now. */
function findOpen(approvals: readonly Approval[], now: number): Approval | undefined {
  return approvals.findLast(({ status, expiresAt }) => status !== 'used' && Date.parse(expiresAt) > now)
}

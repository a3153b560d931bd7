import type { IncomingMessage } from 'node:http'
import type { Logger } from 'pino'
import { type Author, EventLogUnavailableError } from '../../core/contract/index.ts'
import { SYSTEM_ACTOR } from '../../core/event-log/actor.ts'
import { addressGroup, type ClientAddressResolver } from '../../core/http/client-address.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import {
  ACCESS_STREAM,
  type AccessEvent,
  type RefusedCalls,
  type ReportPromptAccess,
  type ReportRatingChange,
} from '../../projections/events/access.ts'
import type { OperatorAccounts } from '../../projections/operator-accounts.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'

/**
 * Records in the event log what operators do besides changes. See docs/decisions/operators.md, "What is
 * recorded of operators besides changes".
 */
export interface AccessLog {
  /** Records the first request of an operator in an hour. Never rejects: a sign-in is not refused for it. */
  signIn(author: Author): Promise<void>
  /** Counts a refused request; what was counted is recorded once a minute. */
  refuse(request: IncomingMessage, code: string, endpoint: string, author?: Author): void
  /** Records that data is read. Rejects if it cannot be recorded: the data is then not handed over. */
  read(data: Extract<AccessEvent, { type: 'DataRead' }>['data'], author: Author): Promise<void>
  /** Records that recorded prompts are read or were deleted. Rejects if it cannot be recorded. */
  readonly reportPrompts: ReportPromptAccess
  /** Records that rated prompts were imported or deleted. Rejects if it cannot be recorded. */
  readonly reportRatings: ReportRatingChange
  /** Records what was counted. */
  close(): Promise<void>
}

interface AccessLogOptions {
  readonly writer: EventWriter
  readonly operators: Pick<OperatorAccounts, 'lastSignIn'>
  readonly resolveAddress: ClientAddressResolver
  readonly logger: Logger
}

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

/** Further sources of a minute are recorded together: an attacker must not fill the log. */
const MAX_SOURCES = 20

export function createAccessLog({ writer, operators, resolveAddress, logger }: AccessLogOptions): AccessLog {
  /** By the id of the actor: clocks of other nodes, whose sign-ins are in the log, may differ. */
  const recordedHours = new Map<string, number>()
  const signingIn = new Map<string, Promise<void>>()
  /** By the id of the actor: when to try again after a failure. */
  const retryAt = new Map<string, number>()
  const refused = new Map<string, { author: Author; calls: RefusedCalls }>()
  let timer: NodeJS.Timeout | undefined

  async function write(event: AccessEvent, author: Author): Promise<void> {
    const decide = () => [event]
    await writer.write({ stream: ACCESS_STREAM, decide, isInternal: true, isRecord: true }, author)
  }

  /** An unavailable log has a line of its own. */
  function logFailure(error: unknown, details: object, message: string): void {
    if (!EventLogUnavailableError.isInstance(error))
      logger.warn({ ...details, reason: errorMessage(error) }, message)
  }

  async function recordSignIn(author: Author, hour: number): Promise<void> {
    const { id } = author.actor
    try {
      await write({ type: 'OperatorSignedIn', data: {} }, author)
      recordedHours.set(id, hour)
      retryAt.delete(id)
    } catch (error) {
      retryAt.set(id, Date.now() + MINUTE_MS)
      logFailure(error, { actor: id }, 'sign-in of an operator not recorded')
    } finally {
      signingIn.delete(id)
    }
  }

  async function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const entries = [...refused.values()]
    refused.clear()
    for (const { author, calls } of entries) {
      await write({ type: 'OperatorCallsRefused', data: calls }, author).catch((error) =>
        logFailure(error, calls, 'refused calls of operators not recorded'),
      )
    }
  }

  return {
    async signIn(author) {
      const { id } = author.actor
      const now = Date.now()
      const hour = Math.floor(now / HOUR_MS)
      const last = operators.lastSignIn(id)
      if (last !== undefined && Math.floor(last / HOUR_MS) >= hour) return
      if (recordedHours.get(id) === hour || (retryAt.get(id) ?? 0) > now) return
      const running = signingIn.get(id) ?? recordSignIn(author, hour)
      signingIn.set(id, running)
      return running
    },
    refuse(request, code, endpoint, author = { actor: SYSTEM_ACTOR }) {
      timer ??= setTimeout(flush, MINUTE_MS).unref()
      const address = addressGroup(resolveAddress(request))
      const own = `${address} ${code} ${author.actor.id}`
      const isKnown = refused.has(own) || refused.size < MAX_SOURCES
      const key = isKnown ? own : 'others'
      const known = refused.get(key)
      const calls = known?.calls ?? { address: isKnown ? address : 'others', code, endpoint, count: 0 }
      const { actor } = isKnown ? author : { actor: SYSTEM_ACTOR }
      refused.set(key, { author: { actor }, calls: { ...calls, count: calls.count + 1 } })
    },
    read: (data, author) => write({ type: 'DataRead', data }, author),
    reportPrompts(access, author) {
      const { userId } = access
      if (access.type === 'deleted')
        return write({ type: 'PromptsDeleted', data: { userId, prompts: access.prompts } }, author)
      const [operation, path] =
        access.type === 'read'
          ? ['readPrompt', `/admin/requests/${access.requestId}/prompt`]
          : ['readToolCallArguments', `/admin/tool-calls/${access.callId}/arguments`]
      const data = { read: 'prompts' as const, operation, path, query: '', userId }
      return write({ type: 'DataRead', data }, author)
    },
    reportRatings: write,
    close: flush,
  }
}

import { data, type Endpoint, endpoint, errorsOf, GatewayError, operator } from '../../core/contract/index.ts'
import type { ReportPromptAccess } from '../../projections/events/access.ts'
import { userId } from '../auth/index.ts'
import type { LedgerReader } from './reader.ts'
import { DeletedPrompts, RecordedPromptSchema, requestId } from './schemas.ts'
import { isRecordInScope } from './scoped-records.ts'
import type { StoredPrompt } from './store/queries.ts'
import type { RecordedReply } from './store/record.ts'

export interface PromptServices {
  readonly reader: LedgerReader
  readonly report: ReportPromptAccess
  readonly isKnownUser: (userId: number) => boolean
}

/**
 * Creates the endpoints for operators that read and delete recorded prompts. See
 * docs/decisions/prompt-recording.md, "Callers cannot read recorded prompts".
 */
export function createPromptEndpoints(services: PromptServices): readonly Endpoint[] {
  const { reader, report, isKnownUser } = services
  return [
    endpoint({
      method: 'GET',
      path: '/admin/requests/{id}/prompt',
      access: operator('auditor', 'filtered'),
      operationId: 'readPrompt',
      summary: 'Returns the recorded prompt of a request, and its reply.',
      tags: ['admin'],
      params: { id: requestId },
      responses: { 200: { description: 'What is recorded.', body: data(RecordedPromptSchema) } },
      errors: ['not_found', 'prompt_unreadable', 'ledger_unavailable'],
      async handle({ params: { id }, author, scope }) {
        const prompt = await reader.findPrompt(id)
        const record = scope && prompt && (await reader.find(id))
        if (prompt === undefined || (scope && !(record && isRecordInScope(record, scope)))) {
          const message = `No prompt is recorded for request ${id}, or it has expired.`
          throw new GatewayError('not_found', message)
        }
        if (prompt.unreadable !== undefined)
          throw createUnreadableError(`The prompt of request ${id}`, prompt.unreadable)
        await report({ type: 'read', requestId: id, userId: prompt.userId }, author)
        return { status: 200, body: { data: showPrompt(prompt) } }
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/admin/users/{id}/prompts',
      access: operator('admin', 'filtered'),
      operationId: 'deletePrompts',
      summary: 'Deletes the recorded prompts of a user for good.',
      description: 'The records of the requests stay. Also for a user who does not exist any more.',
      tags: ['admin'],
      params: { id: userId },
      responses: { 200: { description: 'They are deleted.', body: data(DeletedPrompts) } },
      errors: ['ledger_unavailable'],
      async handle({ params: { id }, author, scope }) {
        const createUnknownError = () =>
          new GatewayError('not_found', `User ${id} was not found, and no prompts of this user.`)
        if (scope?.hasUser(id) === false) throw createUnknownError()
        const deleted = await reader.deletePromptsOf(id)
        if (deleted === 0 && !isKnownUser(id)) throw createUnknownError()
        await report({ type: 'deleted', userId: id, prompts: deleted }, author)
        return { status: 200, body: { data: { user_id: id, deleted } } }
      },
    }),
  ]
}

export const PROMPT_ERROR_CODES = {
  prompt_unreadable: {
    status: 500,
    type: 'api_error',
    description:
      'A recorded prompt, or arguments of a call, cannot be decrypted with RECORD_KEY; the message says why.',
  },
} as const

/** `what`: the beginning of a sentence, such as "The prompt of request req_…". */
export function createUnreadableError(what: string, reason: string): GatewayError {
  const advice = 'Add the key that it was recorded with to RECORD_KEY, and restart the gateway.'
  const message = `${what} cannot be decrypted: ${reason}. ${advice}`
  return errorsOf(PROMPT_ERROR_CODES)('prompt_unreadable', message)
}

function showReply(reply: RecordedReply | undefined) {
  if (reply === undefined) return null
  if ('omission' in reply)
    return { message: null, omission: reply.omission, finish_reason: null, is_complete: false, left_out: [] }
  const { message, finishReason, isComplete, leftOut } = reply
  return {
    ...{ message, omission: null, finish_reason: finishReason },
    ...{ is_complete: isComplete, left_out: leftOut },
  }
}

function showPrompt({ requestId, userId, mode, omission, content }: StoredPrompt) {
  return {
    x_request_id: requestId,
    user_id: userId,
    recorded: mode,
    omission,
    request: content?.request ?? null,
    preferences: content?.preferences ?? [],
    defaulted: content?.defaulted ?? [],
    left_out: content?.leftOut ?? [],
    headers: content?.headers ?? {},
    reply: showReply(content?.reply),
  }
}

import {
  data,
  type Endpoint,
  endpoint,
  GatewayError,
  keyActor,
  operator,
  type Static,
  type TObject,
  user,
} from '../../core/contract/index.ts'
import { SYSTEM_ACTOR } from '../../core/event-log/actor.ts'
import { invalidParameterError } from '../../core/http/parse-call.ts'
import type { ReportRatingChange } from '../../projections/events/access.ts'
import type { FeedbackCursor, FeedbackFilter, LedgerReader, StoredFeedback } from '../ledger/index.ts'
import { isRecordInScope, parseTimeRange, showFeedback } from '../ledger/index.ts'
import { type ImportServices, importRatingLines } from './import-ratings.ts'
import { toRequestId } from './request-ids.ts'
import {
  DeletedImport,
  FEEDBACK_PAGE,
  FeedbackInput,
  type FeedbackInputValues,
  FeedbackPageSchema,
  FeedbackSchema,
  feedbackQuery,
  ImportResultSchema,
  importQuery,
} from './schemas.ts'

type FeedbackReader = Pick<
  LedgerReader,
  'find' | 'giveFeedback' | 'listFeedback' | 'importRatings' | 'deleteImported'
>

const GIVE = {
  method: 'POST',
  description:
    'Replaces what was said about the request under the same name. Counts, rules and budgets stay as they ' +
    'are.',
  body: FeedbackInput,
  examples: { thumb: { request_id: 'req_gGvBxwr2CTTZ4RYVqXhM0SkL', value: true, comment: 'Precise.' } },
  responses: { 201: { description: 'It is stored.', body: data(FeedbackSchema) } },
  errors: ['not_found', 'ledger_unavailable'],
} as const

/** Creates the endpoints for what users and operators say about replies. */
export function createFeedbackEndpoints(
  reader: FeedbackReader,
  importing: Omit<ImportServices, 'store' | 'report'>,
  report: ReportRatingChange,
): readonly Endpoint[] {
  return [
    endpoint({
      ...GIVE,
      path: '/v1/feedback',
      access: user(),
      operationId: 'giveFeedback',
      summary: 'Says how good the reply to one of your requests is.',
      tags: ['inference'],
      handle: ({ body, account }) => give(reader, body, keyActor(account).id, { userId: account.userId }),
    }),
    endpoint({
      ...GIVE,
      path: '/admin/feedback',
      access: operator('editor', 'filtered'),
      operationId: 'giveFeedbackForUser',
      summary: 'Says how good the reply to a request of any user is, or imports rated prompts.',
      tags: ['admin'],
      query: importQuery,
      responses: {
        200: { description: 'What was imported, and which lines were not.', body: data(ImportResultSchema) },
        ...GIVE.responses,
      },
      textBody: {
        types: ['application/jsonl'],
        applies: ({ format }) => format === 'jsonl',
        async handle({ text, author = { actor: SYSTEM_ACTOR }, scope }) {
          if (scope) {
            const message = 'Imported ratings are about all groups. Ask an operator without a scope.'
            throw new GatewayError('endpoint_not_allowed', message)
          }
          const givenBy = author.actor.id
          const result = await importRatingLines(text, {
            ...importing,
            store: (ratings) => reader.importRatings({ ratings, givenBy, givenAt: Date.now() }),
            report: (counts) => report({ type: 'RatingsImported', data: counts }, author),
          })
          return { status: 200, body: { data: result } }
        },
      },
      async handle({ body, author, scope }) {
        const record = scope && (await reader.find(toRequestId(body.request_id) ?? ''))
        if (scope && !(record && isRecordInScope(record, scope)))
          throw createUnknownRequestError(body.request_id)
        return give(reader, body, author.actor.id)
      },
    }),
    endpoint({
      method: 'GET',
      path: '/admin/feedback',
      access: operator('auditor'),
      operationId: 'listFeedback',
      summary: 'Lists what was said about the replies to requests of all users, newest requests first.',
      tags: ['admin'],
      query: feedbackQuery,
      responses: { 200: { description: 'A page of feedback.', body: FeedbackPageSchema } },
      errors: ['ledger_unavailable'],
      async handle({ query }) {
        const { limit = FEEDBACK_PAGE.default, cursor } = query
        const start = cursor === undefined ? {} : { before: decodeFeedbackCursor(cursor) }
        const page = await reader.listFeedback({ filter: toFilter(query), ...start, limit })
        const next_cursor = page.next === undefined ? null : encodeFeedbackCursor(page.next)
        return { status: 200, body: { data: page.feedback.map(showListed), next_cursor } }
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/admin/feedback/imported',
      access: operator('admin'),
      operationId: 'deleteImportedFeedback',
      summary: 'Deletes all imported ratings.',
      tags: ['admin'],
      responses: { 200: { description: 'They are deleted.', body: data(DeletedImport) } },
      errors: ['ledger_unavailable'],
      async handle({ author }) {
        let deleted = 0
        for (let some = -1; some !== 0; deleted += some) some = await reader.deleteImported()
        await report({ type: 'ImportedRatingsDeleted', data: { ratings: deleted } }, author)
        return { status: 200, body: { data: { deleted } } }
      },
    }),
  ]
}

async function give(
  reader: FeedbackReader,
  body: FeedbackInputValues,
  givenBy: string,
  caller: { readonly userId?: number } = {},
) {
  const { request_id, name = 'quality', comment = null } = body
  const score = toScore(body)
  const requestId = toRequestId(request_id)
  if (requestId === undefined) throw createUnknownRequestError(request_id)
  const given = { requestId, name, score, comment: comment && withoutNul(comment), givenBy }
  const feedback = { ...given, givenAt: Date.now() }
  const result = await reader.giveFeedback({ ...feedback, ...caller })
  if (result.outcome !== 'given') {
    if (result.outcome === 'unknown') throw createUnknownRequestError(request_id)
    const message = 'The request has scores under 20 names already. Use one of these names.'
    throw invalidParameterError('name', message)
  }
  const shown = { x_request_id: requestId, user_id: result.userId, ...showFeedback(feedback) }
  return { status: 201, body: { data: shown } }
}

/** Also for a request of another user, whose ids nobody may find out. */
function createUnknownRequestError(id: string): GatewayError {
  const advice = 'Send the id of an answer that has ended, or its x-request-id.'
  const message = `Request ${id} was not found or is no longer recorded. ${advice}`
  return new GatewayError('not_found', message)
}

/** Scores are kept in millionths, so that their sums are exact. */
function toScore({ score, value }: FeedbackInputValues): number {
  if (score !== undefined && value !== undefined)
    throw invalidParameterError('value', 'Send either score or value, not both.')
  if (score === undefined && value === undefined)
    throw invalidParameterError('score', 'Send a score from 0 to 1, or a value: true or false.')
  return score === undefined ? Number(value) : Math.round(score * 1e6) / 1e6
}

/** PostgreSQL does not store this character. */
function withoutNul(text: string): string {
  return text.replaceAll('\0', '')
}

function toFilter(query: Static<TObject<typeof feedbackQuery>>): FeedbackFilter {
  const { user: userId, name, model, min_score, max_score } = query
  return {
    ...(userId !== undefined && { userId }),
    ...(name !== undefined && { name }),
    ...(model !== undefined && { model }),
    ...(min_score !== undefined && { minScore: min_score }),
    ...(max_score !== undefined && { maxScore: max_score }),
    ...parseTimeRange(query),
  }
}

function showListed(feedback: StoredFeedback) {
  const { requestId, userId, provider, model } = feedback
  return { x_request_id: requestId, user_id: userId, ...showFeedback(feedback), provider, model }
}

function encodeFeedbackCursor({ request, name }: FeedbackCursor): string {
  return Buffer.from(`feedback:${request}:${name}`).toString('base64url')
}

function decodeFeedbackCursor(cursor: string): FeedbackCursor {
  const text = Buffer.from(cursor, 'base64url').toString()
  const [, request, name] = /^feedback:(\d{1,16}):([a-z0-9_-]{1,50})$/.exec(text) ?? []
  if (request !== undefined && name !== undefined) return { request: Number(request), name }
  throw invalidParameterError('cursor', 'cursor must be the next_cursor of an earlier response.')
}

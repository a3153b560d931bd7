import { type Dialect, GatewayError, type JsonObject, type Message, slot } from '../../core/contract/index.ts'
import { compactDescription } from '../../core/dialects/responses/compact-description.ts'
import {
  buildCompaction,
  type Compaction,
  planCompaction,
  toSummaryRequest,
} from '../../core/dialects/responses/compaction.ts'
import { requestIdSuffix } from '../../core/util/ids.ts'
import { chain } from '../../core/util/maybe-promise.ts'
import { parseResponsesCall } from './dialect.ts'
import type { ResponseStore } from './store.ts'

const plannedCompaction = slot<Compaction>('responses.compaction')

/**
 * `POST /v1/responses/compact`: a model summarizes a conversation. Nothing is stored. See
 * docs/decisions/responses.md, "A compaction is an inference request".
 */
export function createCompactDialect(find: ResponseStore['find']): Dialect {
  return {
    parseRequest(body, { account, state }) {
      const { model, instructions, user } = body
      if (typeof model !== 'string')
        throw new GatewayError('missing_parameter', 'model is required.', { param: 'model' })
      const call = toCall(body)
      return chain(
        parseResponsesCall(call, (responseKey) => find(responseKey, account.userId)),
        ({ earlier, input }) => {
          const isEmpty = call.input === ''
          const before =
            typeof instructions === 'string' ? [{ role: 'system', content: instructions } as const] : []
          const compaction = planCompaction([...earlier, ...(isEmpty ? [] : input)])
          plannedCompaction.set({ state }, compaction)
          return {
            model,
            // What stays as it is comes back in the answer, so rules inspect it, too.
            messages: [...before, ...compaction.system, ...compaction.turns, ...compaction.open],
            ...(typeof user === 'string' && { user }),
          }
        },
      )
    },
    toSentRequest(request, state) {
      const compaction = withInspected(plannedCompaction.of({ state }) as Compaction, request.messages)
      plannedCompaction.set({ state }, compaction)
      return toSummaryRequest({ ...request, messages: withoutOpen(request.messages, compaction) })
    },
    writeWhole(exchange, { state, requestId }) {
      return buildCompaction(
        plannedCompaction.of({ state }) as Compaction,
        exchange,
        requestIdSuffix(requestId),
      )
    },
    writeStream() {
      throw new GatewayError('internal_error', 'A compaction is not streamed.')
    },
    errorStyle: 'openai',
    description: compactDescription,
  }
}

/** The compaction with its messages as rules have masked them: they are the last ones of the request. */
function withInspected({ system, turns, open }: Compaction, messages: readonly Message[]): Compaction {
  const [openAt, turnsAt] = [messages.length - open.length, messages.length - open.length - turns.length]
  return {
    system: messages.slice(turnsAt - system.length, turnsAt),
    turns: messages.slice(turnsAt, openAt),
    open: messages.slice(openAt),
  }
}

function withoutOpen(messages: readonly Message[], { open }: Compaction): readonly Message[] {
  return messages.slice(0, messages.length - open.length)
}

/** The fields of a response that a compaction has, too. */
function toCall({ input, model, previous_response_id }: JsonObject): JsonObject {
  return { model, input: input ?? '', previous_response_id: previous_response_id ?? null }
}

import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import type { ToolServer } from '../catalog.ts'
import { objectOf, RPC, type RpcErrorObject } from '../protocol.ts'
import { newUpstreamId, type Outcome } from '../upstream/envelope.ts'
import { parseResult } from '../upstream/revision.ts'
import type { Upstreams } from '../upstream/servers.ts'
import type { ClientAnswer, UpstreamContext, UpstreamMessage } from '../upstream/upstream.ts'
import { type ClientContext, capabilityFor } from './client-context.ts'
import type { Mailbox } from './mailbox.ts'
import type { Channel } from './respond.ts'

/** A server that asks for input again and again is ended. */
const MAX_ROUNDS = 8

/** A result that asks for input is not longer. */
const MAX_INPUT_BYTES = 256 * 1024

/** A person may take so long to answer. */
const ANSWER_MS = 10 * 60_000

const UNSUPPORTED: ClientAnswer = {
  error: { code: RPC.methodNotFound, message: 'The client does not support this.' },
}

export function answerName(sessionKey: string, id: unknown): string {
  return `answer:${sessionKey}:${String(id)}`
}

/** Asks a client with a session: the request goes out on the stream of its own request. */
export function askInSession(
  context: ClientContext,
  channel: Channel,
  mailbox: Mailbox,
  signal: AbortSignal,
) {
  return async (method: string, params: JsonObject): Promise<ClientAnswer> => {
    const { session, acceptsEvents } = context
    if (session === undefined || !acceptsEvents || !mayAsk(context, method, params)) return UNSUPPORTED
    const id = newUpstreamId()
    const sent = toRevision(session.revision, method, params)
    const timeout = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
    const answered = mailbox.take(answerName(session.key, id), timeout)
    channel.send(JSON.stringify({ jsonrpc: '2.0', id, method, params: sent }))
    const answer = await answered
    if (!isJsonObject(answer)) return UNSUPPORTED
    return isJsonObject(answer.error)
      ? { error: answer.error as unknown as RpcErrorObject }
      : { result: answer.result }
  }
}

/** Whether the client has declared that it answers such a request. */
export function mayAsk({ capabilities }: ClientContext, method: string, { mode }: JsonObject): boolean {
  const name = capabilityFor(method)
  const declared = name === undefined ? undefined : capabilities[name]
  if (declared === undefined) return false
  return mode !== 'url' || (isJsonObject(declared) && declared.url !== undefined)
}

/** Revision 2025-06-18 knows no modes; later ones need an id for pages. */
function toRevision(revision: string, method: string, params: JsonObject): JsonObject {
  if (method !== 'elicitation/create') return params
  const { mode, ...rest } = params
  if (revision === '2025-06-18') return rest
  return mode === 'url' && params.elicitationId === undefined
    ? { ...params, elicitationId: newUpstreamId() }
    : params
}

/** Makes requests for a client with a session: it is asked for what a server without sessions wants. */
export function withInputs({ request }: Pick<Upstreams, 'request'>): Pick<Upstreams, 'request'> {
  return {
    async request(server: ToolServer, message: UpstreamMessage, context: UpstreamContext): Promise<Outcome> {
      let sent = message
      for (let round = 0; round < MAX_ROUNDS; round++) {
        const outcome = await request(server, sent, context)
        const asks = await readInputRequests(outcome, context)
        if (asks === undefined) return outcome
        const answers = await askAll(asks.inputRequests, context)
        if ('error' in answers) return answers
        const { requestState } = asks
        const { inputResponses: _, requestState: __, ...params } = message.params
        sent = {
          ...message,
          params: {
            ...params,
            ...(Object.keys(answers.inputResponses).length > 0 && answers),
            ...(requestState !== undefined && { requestState }),
          },
        }
      }
      const text = 'The tool server has asked for input too often.'
      return { error: { code: RPC.internal, message: text } }
    },
  } as Pick<Upstreams, 'request'>
}

async function readInputRequests(outcome: Outcome, { onRequest }: UpstreamContext) {
  if ('error' in outcome || onRequest === undefined) return undefined
  if (!(await outcome.result.isShort(MAX_INPUT_BYTES))) return undefined
  const text = await outcome.result.text(2 * MAX_INPUT_BYTES)
  if (!text.includes('input_required')) return undefined
  const { resultType, inputRequests, requestState } = parseResult(text)
  if (resultType !== 'input_required') return undefined
  return { inputRequests: objectOf(inputRequests), requestState }
}

async function askAll(requests: JsonObject, { onRequest }: UpstreamContext) {
  const inputResponses: Record<string, unknown> = {}
  for (const [name, request] of Object.entries(requests)) {
    if (!isJsonObject(request) || onRequest === undefined) continue
    const answer = await onRequest(String(request.method), objectOf(request.params))
    if ('error' in answer) return answer
    inputResponses[name] = answer.result
  }
  return { inputResponses }
}

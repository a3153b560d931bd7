import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { digestOf } from '../canonical-json.ts'
import { RPC, RpcError, type RpcErrorObject, type RpcId } from '../protocol.ts'
import { newUpstreamId } from '../upstream/envelope.ts'
import type { ClientAnswer } from '../upstream/upstream.ts'
import type { ClientContext } from './client-context.ts'
import { mayAsk } from './requests.ts'
import { type Answer, type Channel, resultAnswer } from './respond.ts'
import { ownerOf } from './sessions.ts'

/** A call waits so long for the client to send it again with what the server has asked for. */
const PARKED_MS = 5 * 60_000

const MAX_PARKED = 1000

const INPUT = 'input'

/** A call of a client without a session, to a server that asks for input in the middle of it. */
export interface ParkableCall {
  /** The request that currently waits for the call. */
  channel: Channel
  id: RpcId
  readonly owner: string
  readonly digest: string
  /** The answer to the last of these requests. */
  finished: Promise<Answer>
  answer: ((answer: ClientAnswer) => void) | undefined
}

/** Keeps calls between a request and its repetition, which comes to the same process. */
export function createParkedCalls() {
  const parked = new Map<string, ParkableCall>()

  return {
    /** Returns the function that asks the client: by answering its request. */
    ask(context: ClientContext, call: ParkableCall, signal: AbortSignal) {
      return (method: string, params: JsonObject): Promise<ClientAnswer> => {
        if (!mayAsk(context, method, params) || parked.size >= MAX_PARKED)
          return Promise.resolve({
            error: { code: RPC.methodNotFound, message: 'The client does not support this.' },
          })
        const handle = newUpstreamId()
        return new Promise((resolve, reject) => {
          const end = () => {
            clearTimeout(timer)
            parked.delete(handle)
          }
          const expire = () => {
            end()
            reject(new RpcError(RPC.internal, 'The client has not answered in time. Call again.'))
          }
          const timer = setTimeout(expire, PARKED_MS).unref()
          signal.addEventListener('abort', () => {
            end()
            reject(signal.reason)
          })
          call.answer = (answer) => {
            end()
            resolve(answer)
          }
          parked.set(handle, call)
          const { elicitationId: _, ...sent } = params
          const inputRequests = { [INPUT]: { method, params: sent } }
          call.channel.interrupt(
            resultAnswer(call.id, { resultType: 'input_required', inputRequests, requestState: handle }),
          )
        })
      }
    },

    /** Returns the call that a request goes on with; undefined if its state is that of the server. */
    resume(
      context: ClientContext,
      params: JsonObject,
      id: RpcId,
      channel: Channel,
    ): Promise<Answer> | undefined {
      const { requestState, inputResponses } = params
      const call = typeof requestState === 'string' ? parked.get(requestState) : undefined
      if (call === undefined) return undefined
      const isSame = call.owner === ownerOf(context.caller.account) && call.digest === digestOfCall(params)
      if (!isSame) throw new RpcError(RPC.invalidParams, 'The requestState belongs to another request.')
      const given = isJsonObject(inputResponses) ? inputResponses[INPUT] : undefined
      if (given === undefined) throw new RpcError(RPC.invalidParams, `inputResponses must have "${INPUT}".`)
      call.channel = channel
      call.id = id
      const isError = isJsonObject(given) && isJsonObject(given.error)
      call.answer?.(isError ? { error: given.error as unknown as RpcErrorObject } : { result: given })
      return call.finished
    },
  }
}

export type ParkedCalls = ReturnType<typeof createParkedCalls>

/** What must be the same in a repetition. */
export function digestOfCall({ _meta, requestState, inputResponses, ...params }: JsonObject): string {
  return digestOf(params)
}

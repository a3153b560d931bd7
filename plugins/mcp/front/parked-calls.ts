import { isJsonObject, type JsonObject, type JsonValue } from '../../../core/contract/index.ts'
import { digestOf } from '../../../core/util/canonical-json.ts'
import { RPC, RpcError, type RpcErrorObject, type RpcId } from '../protocol.ts'
import { isUpstreamId, newUpstreamId } from '../upstream/envelope.ts'
import type { ClientAnswer } from '../upstream/upstream.ts'
import type { ClientContext } from './client-context.ts'
import type { Mailbox } from './mailbox.ts'
import { mayAsk } from './requests.ts'
import { type Answer, type Channel, errorAnswer, readMessageText, resultAnswer } from './respond.ts'
import { ownerOf } from './sessions.ts'

/** A call waits so long for the client to send it again with what the server has asked for. */
const PARKED_MS = 5 * 60_000

const MAX_PARKED = 1000

/** A process that has the call says so within this time. */
const FOUND_MS = 3000

/** The record of an answer for another process has a limit. */
const MAX_ANSWER_CHARS = 500_000

const INPUT = 'input'

/** A call of a client without a session, to a server that asks for input in the middle of it. */
export interface ParkableCall {
  /** The request that currently waits for the call. */
  channel: Channel
  id: RpcId
  readonly owner: string
  readonly params: JsonObject
  /** The answer to the last of these requests. */
  finished: Promise<Answer>
  answer: ((answer: ClientAnswer) => void) | undefined
  /** The call ends with this request. */
  attach(signal: AbortSignal): void
}

/** What a repetition says. It may come to another process than the one that has the call. */
interface Repetition {
  readonly owner: string
  readonly digest: string
  readonly id: RpcId
  readonly given: unknown
}

/** Keeps calls between a request and its repetition. */
export function createParkedCalls(mailbox: Mailbox) {
  const parked = new Map<string, ParkableCall>()

  function resumeHere(call: ParkableCall, { owner, digest, id, given }: Repetition, channel: Channel) {
    if (call.owner !== owner || digestOfCall(call.params) !== digest)
      throw new RpcError(RPC.invalidParams, 'The requestState belongs to another request.')
    if (given === undefined) throw new RpcError(RPC.invalidParams, `inputResponses must have "${INPUT}".`)
    call.channel = channel
    call.id = id
    const isError = isJsonObject(given) && isJsonObject(given.error)
    call.answer?.(isError ? { error: given.error as unknown as RpcErrorObject } : { result: given })
    return call.finished
  }

  /** Waits for a repetition that comes to another process, and sends the answer there. */
  async function listen(handle: string, call: ParkableCall, signal: AbortSignal): Promise<void> {
    const mail = await mailbox.take(mailFor(handle), signal)
    if (!isJsonObject(mail) || typeof mail.reply !== 'string') return
    const { reply } = mail
    await mailbox.put(`${reply}:found`, true)
    const repetition = mail as unknown as Repetition
    const answer = await answerThere(call, repetition).catch((error: unknown) => {
      return errorAnswer(repetition.id, error) ?? Promise.reject(error)
    })
    await mailbox.put(reply, answer as unknown as JsonValue)
  }

  async function answerThere(call: ParkableCall, repetition: Repetition) {
    let interrupt: (answer: Answer) => void = () => {}
    const interrupted = new Promise<Answer>((resolve) => {
      interrupt = resolve
    })
    const channel = { send: () => undefined, interrupt }
    const { status, message } = await Promise.race([resumeHere(call, repetition, channel), interrupted])
    const text = message === undefined ? '' : await readMessageText(message)
    if (text.length <= MAX_ANSWER_CHARS) return { status, message: text }
    throw new RpcError(RPC.internal, 'The result is too large for a call that has asked for input.')
  }

  async function resumeThere(handle: string, repetition: Repetition, signal: AbortSignal): Promise<Answer> {
    const reply = `resumed:${newUpstreamId()}`
    const found = mailbox.take(`${reply}:found`, AbortSignal.any([signal, AbortSignal.timeout(FOUND_MS)]))
    const answered = mailbox.take(reply, signal)
    answered.catch(() => undefined)
    await mailbox.put(mailFor(handle), { ...repetition, reply } as JsonValue)
    await found.catch((error: unknown) => {
      throw signal.aborted ? error : endedError()
    })
    return (await answered) as Answer
  }

  return {
    /** Returns the function that asks the client: by answering its request. */
    ask(context: ClientContext, call: ParkableCall, signal: AbortSignal) {
      return (method: string, params: JsonObject): Promise<ClientAnswer> => {
        if (!mayAsk(context, method, params) || parked.size >= MAX_PARKED)
          return Promise.resolve({
            error: { code: RPC.methodNotFound, message: 'The client does not support this.' },
          })
        const handle = newUpstreamId()
        const ended = new AbortController()
        return new Promise((resolve, reject) => {
          const end = () => {
            clearTimeout(timer)
            parked.delete(handle)
            ended.abort()
          }
          const expire = () => {
            end()
            reject(endedError())
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
          listen(handle, call, ended.signal).catch(() => undefined)
          const { elicitationId: _, ...sent } = params
          const inputRequests = { [INPUT]: { method, params: sent } }
          call.channel.interrupt(
            resultAnswer(call.id, { resultType: 'input_required', inputRequests, requestState: handle }),
          )
        })
      }
    },

    /** Returns the answer of the call that a request goes on with; undefined if its state is the server's. */
    resume(
      context: ClientContext,
      params: JsonObject,
      id: RpcId,
      channel: Channel,
      signal: AbortSignal,
    ): Promise<Answer> | undefined {
      const { requestState: handle, inputResponses } = params
      if (!isUpstreamId(handle)) return undefined
      const repetition = {
        owner: ownerOf(context.caller.account),
        digest: digestOfCall(params),
        id,
        given: isJsonObject(inputResponses) ? inputResponses[INPUT] : undefined,
      }
      const call = parked.get(handle)
      if (call !== undefined) {
        call.attach(signal)
        return resumeHere(call, repetition, channel)
      }
      if (mailbox.hasOtherProcesses) return resumeThere(handle, repetition, signal)
      throw endedError()
    },
  }
}

export type ParkedCalls = ReturnType<typeof createParkedCalls>

function mailFor(handle: string): string {
  return `parked:${handle}`
}

function endedError(): RpcError {
  return new RpcError(RPC.internal, 'The call that asked for input has ended. Call again.')
}

/** What must be the same in a repetition. */
function digestOfCall({ _meta, requestState, inputResponses, ...params }: JsonObject): string {
  return digestOf(params)
}

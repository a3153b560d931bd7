import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { isJsonObject, type JsonObject, type SseEvent } from '../../core/contract/index.ts'
import { anthropicFormat } from './anthropic/format.ts'
import { deepseekFormat } from './deepseek/format.ts'
import { type Fault, NO_FAULT, type PickFault, stripMarkers } from './faults.ts'
import { geminiFormat } from './gemini/format.ts'
import { mistralFormat } from './mistral/format.ts'
import { openaiFormat } from './openai/format.ts'
import { MAX_BODY_BYTES, type ReceivedRequest } from './recorder.ts'
import { buildModelRefusal, buildModelReply, type ModelReply, type ReplyStamp } from './shared/model-reply.ts'
import { findProviderError } from './shared/provider-errors.ts'
import { type ChatCall, SandboxError, type StreamEvents, type WireFormat } from './shared/wire-format.ts'

/** Fields that careless providers leave out. */
const OMITTED: ReadonlySet<string> = new Set(['index', 'object', 'created', 'role', 'refusal', 'logprobs'])

/** Fields whose value they change: one id for all calls, and reasons that say nothing of them. */
const CHANGED: Readonly<Record<string, string>> = {
  call_id: 'call_0',
  finish_reason: 'eos',
  stop_reason: 'eos',
  finishReason: 'STOP',
}

/** A stream event as `toIrregularJson`; one that is not JSON, such as `[DONE]`, is kept. */
function toIrregularEvent(event: SseEvent): SseEvent {
  return event.data.startsWith('{') ? { ...event, data: toIrregularJson(event.data) } : event
}

/** Writes a reply or a record of a stream as careless compatible providers do. */
function toIrregularJson(json: string): string {
  const record: unknown = JSON.parse(json)
  const irregular = change(record)
  const hasNoType = isJsonObject(record) && record.type === undefined && record.object !== 'response'
  return JSON.stringify(hasNoType ? { ...Object(irregular), error: {} } : irregular)
}

function change(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(change)
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value)
    .filter(([name]) => !OMITTED.has(name))
    .map(([name, field]) => [name, changeField(name, field, value)])
  return Object.fromEntries(entries)
}

function changeField(name: string, field: unknown, owner: JsonObject): unknown {
  if (typeof field === 'number' && /_tokens$|TokenCount$/.test(name)) return String(field)
  if (typeof field !== 'string') return change(field)
  if (name === 'id' && isCall(owner)) return 'call_0'
  // The start of a call in a stream, which the actual arguments follow.
  if (name === 'arguments' && field === '' && owner.name !== undefined) return '{}'
  return CHANGED[name] ?? field
}

function isCall({ type, function: called, args }: JsonObject): boolean {
  return type === 'tool_use' || isJsonObject(called) || args !== undefined
}

/** A complete HTTP response with its timing, including injected faults. */
interface ResponseScript {
  readonly status: number
  readonly headers: Readonly<Record<string, string | number>>
  readonly chunks: readonly string[]
  /** The delay before the headers. */
  readonly firstByteDelayMs: number
  /** The delay between two chunks. */
  readonly chunkDelayMs: number
  /** `hang` sends nothing at all; `cut` drops the connection after the chunks, `silent` keeps it open. */
  readonly ending: 'end' | 'cut' | 'hang' | 'silent'
}

/**
 * Sends a response and respects backpressure. Rejects, with all timers cleared, if the client disconnects.
 */
export async function sendScript(
  script: ResponseScript,
  response: ServerResponse,
  client: AbortSignal,
): Promise<void> {
  if (script.ending === 'hang') return
  await delay(script.firstByteDelayMs, client)
  response.writeHead(script.status, script.headers)
  for (const [index, chunk] of script.chunks.entries()) {
    if (index > 0 && script.chunkDelayMs > 0) await delay(script.chunkDelayMs, client)
    if (!response.write(chunk)) await once(response, 'drain', { signal: client })
  }
  if (script.ending === 'silent') return response.flushHeaders()
  if (script.ending === 'end') response.end()
  else await dropConnection(response)
}

async function delay(ms: number, client: AbortSignal): Promise<void> {
  if (ms > 0) await setTimeout(ms, undefined, { signal: client })
}

/** Closes the connection in the middle of the response, after flushing what was written. */
async function dropConnection(response: ServerResponse): Promise<void> {
  response.flushHeaders()
  // Node collects what is written in one turn of the event loop, and version 26 drops it with the connection.
  await setImmediate()
  response.socket?.destroySoon()
}

/** Builds the response that carries a reply, with the fault applied. `key` is that of the request. */
function buildReplyScript(
  format: WireFormat,
  call: ChatCall,
  reply: ModelReply,
  fault: Fault,
  key: string,
): ResponseScript {
  const error = buildFaultError(fault, key)
  if (call.isStream && (fault.status === undefined || fault.errorAfter !== undefined)) {
    return buildStreamScript(format, call, reply, fault, error)
  }
  if (fault.isErrorBody) return buildJsonScript(200, format.toErrorBody(error), fault)
  if (fault.status !== undefined) return buildErrorScript(format, error, fault)
  const body = call.toBody(reply)
  return buildJsonScript(200, fault.isIrregular ? toIrregularJson(body) : body, fault)
}

function buildErrorScript(format: WireFormat, error: SandboxError, fault = NO_FAULT): ResponseScript {
  return buildJsonScript(error.status, format.toErrorBody(error), fault)
}

function buildJsonScript(status: number, json: string, fault = NO_FAULT): ResponseScript {
  const body = fault.isMalformed ? firstHalf(json) : json
  return {
    status,
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...buildRetryAfterHeader(fault),
    },
    chunks: [(fault.cutAfter ?? fault.silentAfter) === undefined ? body : firstHalf(body)],
    firstByteDelayMs: fault.firstByteDelayMs,
    chunkDelayMs: 0,
    ending: endingOf(fault),
  }
}

function buildStreamScript(
  format: WireFormat,
  call: ChatCall,
  reply: ModelReply,
  fault: Fault,
  error: SandboxError,
): ResponseScript {
  const events = buildFaultyEvents(format, call, reply, fault, error)
  return {
    status: 200,
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      ...buildRetryAfterHeader(fault),
    },
    chunks: events.map((event) => toSseText(event, fault, format.newline)),
    firstByteDelayMs: fault.firstByteDelayMs,
    chunkDelayMs: fault.tokenDelayMs,
    ending: endingOf(fault),
  }
}

/** Builds the events of a stream; depending on the fault, one is malformed or the stream ends early. */
function buildFaultyEvents(
  format: WireFormat,
  call: ChatCall,
  reply: ModelReply,
  fault: Fault,
  error: SandboxError,
): readonly SseEvent[] {
  const { content, closing } = toEvents(call.toStream(reply), fault)
  const events = fault.isMalformed ? content.map(breakMiddleEvent) : content
  const { errorAfter } = fault
  if (errorAfter !== undefined) {
    return [...events.slice(0, errorAfter), format.toErrorEvent(error)]
  }
  const limit = fault.cutAfter ?? fault.endAfter ?? fault.silentAfter
  return limit === undefined ? [...events, ...closing] : events.slice(0, limit)
}

function toEvents({ content, closing }: StreamEvents, { isIrregular }: Fault): StreamEvents {
  if (!isIrregular) return { content, closing }
  return { content: content.map(toIrregularEvent), closing: closing.map(toIrregularEvent) }
}

function breakMiddleEvent(event: SseEvent, index: number, events: readonly SseEvent[]): SseEvent {
  const isMiddle = index === Math.floor(events.length / 2)
  return isMiddle ? { ...event, data: firstHalf(event.data) } : event
}

function toSseText({ event, data }: SseEvent, fault: Fault, formatNewline = '\n'): string {
  const newline = fault.hasCrlf ? '\r\n' : formatNewline
  const comment = fault.hasComments ? `: keep-alive${newline}${newline}` : ''
  const name = event === '' ? '' : `event: ${event}${newline}`
  return `${comment}${name}data: ${data}${newline}${newline}`
}

function firstHalf(text: string): string {
  return text.slice(0, text.length / 2)
}

function buildFaultError({ status = 500, code, message, quotesKey }: Fault, key: string): SandboxError {
  const quote = quotesKey ? ` Incorrect API key provided: ${key}.` : ''
  return new SandboxError(status, (message ?? `Simulated failure with status ${status}.`) + quote, { code })
}

function buildRetryAfterHeader({ retryAfterSeconds }: Fault): Record<string, number> {
  return retryAfterSeconds === undefined ? {} : { 'retry-after': retryAfterSeconds }
}

function endingOf({ isHanging, cutAfter, silentAfter }: Fault): ResponseScript['ending'] {
  if (isHanging) return 'hang'
  if (silentAfter !== undefined) return 'silent'
  return cutAfter === undefined ? 'end' : 'cut'
}

const WIRE_FORMATS: readonly WireFormat[] = [
  openaiFormat,
  anthropicFormat,
  mistralFormat,
  deepseekFormat,
  geminiFormat,
]

/** Builds the response to a request. Errors become error responses in the provider's wire format. */
export function buildResponse(
  received: ReceivedRequest,
  stamp: ReplyStamp,
  pickFault: PickFault,
): ResponseScript {
  // Requests for paths of no provider get OpenAI's 404.
  const format = WIRE_FORMATS.find(({ name }) => received.path.startsWith(`/${name}/`)) ?? openaiFormat
  try {
    return buildEndpointResponse(format, received, stamp, pickFault)
  } catch (error) {
    return buildErrorScript(format, toSandboxError(error))
  }
}

function buildEndpointResponse(
  format: WireFormat,
  received: ReceivedRequest,
  stamp: ReplyStamp,
  pickFault: PickFault,
): ResponseScript {
  const path = received.path.slice(format.name.length + 1)
  const endpoint = format.findEndpoint(received.method, path)
  if (!endpoint) {
    throw new SandboxError(404, `Invalid URL (${received.method} ${received.path})`, { code: 'unknown_url' })
  }
  const key = format.getApiKey(received.headers)
  checkApiKey(key)
  checkBodySize(received.size)
  if (endpoint === 'models') return buildJsonScript(200, format.buildModelList())

  const call = format.parseCall(path, received.body, received.headers)
  const { model, userText } = call.request
  const picked = pickFault(userText, model)
  const fault = { ...picked, ...(picked.error && findProviderError(picked.error, format.name)) }
  if (fault.reasoning !== undefined) call.checkReasoning?.()
  const request = {
    ...call.request,
    userText: stripMarkers(userText),
    wantsReasoning: call.request.wantsReasoning || fault.reasoning !== undefined,
  }
  const reply = fault.isRefusal ? buildModelRefusal(request, stamp) : buildModelReply(request, stamp, fault)
  const { media } = fault
  const named = {
    ...reply,
    ...(fault.reasoning === 'renamed' && { reasoningField: 'reasoning' as const }),
    ...(media && { media, text: media === 'unknown' ? '' : reply.text }),
  }
  return buildReplyScript(format, call, withPriceTerms(named, fault), fault, key)
}

/** What a provider charges for besides tokens. */
function withPriceTerms(reply: ModelReply, { tier, searches }: Fault): ModelReply {
  if (tier === undefined && searches === 0) return reply
  const terms = { ...(tier && { tier }), ...(searches > 0 && { toolCalls: { web_search: searches } }) }
  return { ...reply, usage: { ...reply.usage, ...terms } }
}

function checkApiKey(key: string): void {
  if (key === '') throw new SandboxError(401, 'Missing API key. Send any key except "invalid".')
  if (key === 'invalid') throw new SandboxError(401, 'Invalid API key. Send any key except "invalid".')
}

function checkBodySize(size: number): void {
  if (size > MAX_BODY_BYTES) {
    throw new SandboxError(413, `The request body exceeds the limit of ${MAX_BODY_BYTES} bytes.`)
  }
}

function toSandboxError(error: unknown): SandboxError {
  return error instanceof SandboxError ? error : new SandboxError(500, `Internal error: ${String(error)}`)
}

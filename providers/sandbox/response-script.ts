import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { SseEvent } from '../../core/contract/index.ts'
import { type Fault, NO_FAULT } from './faults.ts'
import { toIrregularEvent, toIrregularJson } from './irregular.ts'
import type { ModelReply } from './shared/model-reply.ts'
import { type ChatCall, SandboxError, type StreamEvents, type WireFormat } from './shared/wire-format.ts'

/** A complete HTTP response with its timing, including injected faults. */
export interface ResponseScript {
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
export function buildReplyScript(
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

export function buildErrorScript(format: WireFormat, error: SandboxError, fault = NO_FAULT): ResponseScript {
  return buildJsonScript(error.status, format.toErrorBody(error), fault)
}

export function buildJsonScript(status: number, json: string, fault = NO_FAULT): ResponseScript {
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

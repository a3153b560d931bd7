import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { SseEvent } from '../../core/contract/index.ts'
import { type Fault, type Marker, NO_FAULT, parseFault, parseMarkers } from './faults.ts'
import { type ChatCall, SandboxError, type WireFormat } from './format.ts'
import type { ModelReply } from './model-request.ts'

/** Sends a script, at the client's pace. Rejects when the client leaves; no timer is left behind. */
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
  if (script.ending === 'end') response.end()
  else dropConnection(response)
}

async function delay(milliseconds: number, client: AbortSignal): Promise<void> {
  if (milliseconds > 0) await setTimeout(milliseconds, undefined, { signal: client })
}

/** Drops the connection in the middle of the answer, once what was written is out. */
function dropConnection(response: ServerResponse): void {
  response.flushHeaders()
  response.socket?.destroySoon()
}

/** Everything that goes over the wire for one answer, and when. */
export interface ResponseScript {
  readonly status: number
  readonly headers: Readonly<Record<string, string | number>>
  readonly chunks: readonly string[]
  /** Milliseconds before the headers, and between two chunks. */
  readonly firstByteDelayMs: number
  readonly chunkDelayMs: number
  /** `hang` sends nothing at all; `cut` drops the connection after the chunks. */
  readonly ending: 'end' | 'cut' | 'hang'
}

/** The script of an answer, with the fault worked in. */
export function buildReplyScript(
  format: WireFormat,
  call: ChatCall,
  answer: ModelReply,
  fault: Fault,
): ResponseScript {
  if (call.isStream && (fault.status === undefined || fault.errorAfter !== undefined)) {
    return buildStreamScript(format, call, answer, fault)
  }
  if (fault.status !== undefined) return buildErrorScript(format, buildFaultError(fault), fault)
  return buildJsonScript(200, call.toBody(answer), fault)
}

export function buildErrorScript(
  format: WireFormat,
  refusal: SandboxError,
  fault = NO_FAULT,
): ResponseScript {
  return buildJsonScript(refusal.status, format.toErrorBody(refusal), fault)
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
    chunks: [fault.cutAfter === undefined ? body : firstHalf(body)],
    firstByteDelayMs: fault.firstByteDelayMs,
    chunkDelayMs: 0,
    ending: endingOf(fault),
  }
}

function buildStreamScript(
  format: WireFormat,
  call: ChatCall,
  answer: ModelReply,
  fault: Fault,
): ResponseScript {
  const events = buildFaultyEvents(format, call, answer, fault)
  return {
    status: 200,
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      ...buildRetryAfterHeader(fault),
    },
    chunks: events.map((event) => toSseFrame(event, fault, format.newline)),
    firstByteDelayMs: fault.firstByteDelayMs,
    chunkDelayMs: fault.tokenDelayMs,
    ending: endingOf(fault),
  }
}

/** The records of a stream that may be broken, or stop before they are complete. */
function buildFaultyEvents(
  format: WireFormat,
  call: ChatCall,
  answer: ModelReply,
  fault: Fault,
): readonly SseEvent[] {
  const { content, closing } = call.toStream(answer)
  const sound = fault.isMalformed ? content.map(breakMiddleEvent) : content
  const { errorAfter } = fault
  if (errorAfter !== undefined) {
    return [...sound.slice(0, errorAfter), format.toErrorEvent(buildFaultError(fault))]
  }
  const last = fault.cutAfter ?? fault.endAfter
  return last === undefined ? [...sound, ...closing] : sound.slice(0, last)
}

function breakMiddleEvent(event: SseEvent, index: number, events: readonly SseEvent[]): SseEvent {
  const isMiddle = index === Math.floor(events.length / 2)
  return isMiddle ? { ...event, data: firstHalf(event.data) } : event
}

function toSseFrame({ event, data }: SseEvent, { hasCrlf, hasComments }: Fault, usual = '\n'): string {
  const newline = hasCrlf ? '\r\n' : usual
  const comment = hasComments ? `: keep-alive${newline}${newline}` : ''
  const name = event === '' ? '' : `event: ${event}${newline}`
  return `${comment}${name}data: ${data}${newline}${newline}`
}

function firstHalf(text: string): string {
  return text.slice(0, text.length / 2)
}

function buildFaultError({ status = 500, code }: Fault): SandboxError {
  return new SandboxError(status, `The sandbox was asked to fail with ${status}.`, { code })
}

function buildRetryAfterHeader({ retryAfterSeconds: retryAfter }: Fault): Record<string, number> {
  return retryAfter === undefined ? {} : { 'retry-after': retryAfter }
}

function endingOf({ isHang: hangs, cutAfter }: Fault): ResponseScript['ending'] {
  if (hangs) return 'hang'
  return cutAfter === undefined ? 'end' : 'cut'
}

interface FaultPicker {
  pick: PickFault
  /** What befalls requests without a marker from now on, in the words of one; nothing when the text is empty. */
  setFault(words: string): void
}

export type PickFault = (userText: string, model: string) => Fault

/**
 * Finds the fault for a request: the first marker in its text that is meant for its model and not used up.
 * Markers with `times` are counted by their text, so a test that counts writes a marker of its own.
 */
export function createFaultPicker(): FaultPicker {
  const uses = new LRUCache<string, number>({ max: 10_000 })
  let usual = NO_FAULT

  function applies({ text, fault }: Marker, model: string): boolean {
    if (fault.model !== undefined && fault.model !== model) return false
    if (fault.maxUses === Number.POSITIVE_INFINITY) return true
    const used = uses.get(text) ?? 0
    uses.set(text, used + 1)
    return used < fault.maxUses
  }

  return {
    pick: (userText, model) =>
      parseMarkers(userText).find((marker) => applies(marker, model))?.fault ?? usual,
    setFault(words) {
      usual = parseFault(words)
    },
  }
}

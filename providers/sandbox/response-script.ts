import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { SseEvent } from '../../core/contract/index.ts'
import { type Fault, type Marker, NO_FAULT, readFault, readMarkers } from './faults.ts'
import { type Call, type Format, Refusal } from './format.ts'
import type { Answer } from './model-request.ts'

/** Sends a script, at the client's pace. Rejects when the client leaves; no timer is left behind. */
export async function play(script: Script, response: ServerResponse, client: AbortSignal): Promise<void> {
  if (script.ending === 'hang') return
  await wait(script.firstByteDelay, client)
  response.writeHead(script.status, script.headers)
  for (const [index, chunk] of script.chunks.entries()) {
    if (index > 0 && script.chunkDelay > 0) await wait(script.chunkDelay, client)
    if (!response.write(chunk)) await once(response, 'drain', { signal: client })
  }
  if (script.ending === 'end') response.end()
  else cut(response)
}

async function wait(milliseconds: number, client: AbortSignal): Promise<void> {
  if (milliseconds > 0) await setTimeout(milliseconds, undefined, { signal: client })
}

/** Drops the connection in the middle of the answer, once what was written is out. */
function cut(response: ServerResponse): void {
  response.flushHeaders()
  response.socket?.destroySoon()
}

/** Everything that goes over the wire for one answer, and when. */
export interface Script {
  readonly status: number
  readonly headers: Readonly<Record<string, string | number>>
  readonly chunks: readonly string[]
  /** Milliseconds before the headers, and between two chunks. */
  readonly firstByteDelay: number
  readonly chunkDelay: number
  /** `hang` sends nothing at all; `cut` drops the connection after the chunks. */
  readonly ending: 'end' | 'cut' | 'hang'
}

/** The script of an answer, with the fault worked in. */
export function writeReply(format: Format, call: Call, answer: Answer, fault: Fault): Script {
  if (call.streams && (fault.status === undefined || fault.errorAfter !== undefined)) {
    return writeStream(format, call, answer, fault)
  }
  if (fault.status !== undefined) return writeRefusal(format, createRefusal(fault), fault)
  return writeJson(200, call.writeWhole(answer), fault)
}

export function writeRefusal(format: Format, refusal: Refusal, fault = NO_FAULT): Script {
  return writeJson(refusal.status, format.writeError(refusal), fault)
}

export function writeJson(status: number, json: string, fault = NO_FAULT): Script {
  const body = fault.isMalformed ? halve(json) : json
  return {
    status,
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...writeRetryAfter(fault),
    },
    chunks: [fault.cutAfter === undefined ? body : halve(body)],
    firstByteDelay: fault.firstByteDelay,
    chunkDelay: 0,
    ending: readEnding(fault),
  }
}

function writeStream(format: Format, call: Call, answer: Answer, fault: Fault): Script {
  const events = misbehave(format, call, answer, fault)
  return {
    status: 200,
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      ...writeRetryAfter(fault),
    },
    chunks: events.map((event) => frame(event, fault, format.newline)),
    firstByteDelay: fault.firstByteDelay,
    chunkDelay: fault.tokenDelay,
    ending: readEnding(fault),
  }
}

/** The records of a stream that may be broken, or stop before they are complete. */
function misbehave(format: Format, call: Call, answer: Answer, fault: Fault): readonly SseEvent[] {
  const { content, closing } = call.writeStream(answer)
  const sound = fault.isMalformed ? content.map(breakMiddle) : content
  const { errorAfter } = fault
  if (errorAfter !== undefined) {
    return [...sound.slice(0, errorAfter), format.writeErrorEvent(createRefusal(fault))]
  }
  const last = fault.cutAfter ?? fault.endAfter
  return last === undefined ? [...sound, ...closing] : sound.slice(0, last)
}

function breakMiddle(event: SseEvent, index: number, events: readonly SseEvent[]): SseEvent {
  const isMiddle = index === Math.floor(events.length / 2)
  return isMiddle ? { ...event, data: halve(event.data) } : event
}

function frame({ event, data }: SseEvent, { hasCrlf, hasComments }: Fault, usual = '\n'): string {
  const newline = hasCrlf ? '\r\n' : usual
  const comment = hasComments ? `: keep-alive${newline}${newline}` : ''
  const name = event === '' ? '' : `event: ${event}${newline}`
  return `${comment}${name}data: ${data}${newline}${newline}`
}

function halve(text: string): string {
  return text.slice(0, text.length / 2)
}

function createRefusal({ status = 500, code }: Fault): Refusal {
  return new Refusal(status, `The sandbox was asked to fail with ${status}.`, { code })
}

function writeRetryAfter({ retryAfter }: Fault): Record<string, number> {
  return retryAfter === undefined ? {} : { 'retry-after': retryAfter }
}

function readEnding({ hangs, cutAfter }: Fault): Script['ending'] {
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
    if (fault.times === Number.POSITIVE_INFINITY) return true
    const used = uses.get(text) ?? 0
    uses.set(text, used + 1)
    return used < fault.times
  }

  return {
    pick: (userText, model) => readMarkers(userText).find((marker) => applies(marker, model))?.fault ?? usual,
    setFault(words) {
      usual = readFault(words)
    },
  }
}

import { NATIVE, ReplyEvent, type ReplyPart, TEXT_RUN, type ToolStart } from '../../core/contract/chat.ts'
import type { StreamReader } from '../../core/contract/provider.ts'
import { newCallId } from '../../core/util/ids.ts'

/** Makes a whole reply regular, see `RegularReply`. */
export function toRegularReply(event: ReplyEvent): ReplyEvent {
  return isRegularText(event.parts) ? event : new RegularReply().toRegular(event)
}

/** True for a start, contents and one finish, without calls: most replies. */
function isRegularText(parts: readonly ReplyPart[]): boolean {
  let finishes = 0
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index]
    switch (part?.type) {
      case 'start':
        if (index > 0) return false
        break
      case 'tool-start':
      case 'tool-json':
        return false
      case 'finish':
        finishes++
        if (part.reason === 'tool_calls') return false
    }
  }
  return parts[0]?.type === 'start' && finishes <= 1
}

/** Makes the events of a stream regular, see `RegularReply`. */
export function withRegularEvents(reader: StreamReader): StreamReader {
  const reply = new RegularReply()
  const toRegular = (events: readonly ReplyEvent[]): readonly ReplyEvent[] => {
    const [only] = events
    if (events.length !== 1 || only === undefined) return events.map(reply.toRegular)
    const regular = reply.toRegular(only)
    return regular === only ? events : [regular]
  }
  return {
    isDone: () => reader.isDone?.() === true,
    read: (event) => toRegular(reader.read(event)),
    ...(reader.readRun && { readRun: (body, start) => reader.readRun?.(body, start) }),
    end: () => toRegular(reader.end()),
  }
}

interface RegularCall {
  readonly index: number
  readonly isCustom: boolean
  hasJson: boolean
}

/**
 * Makes the parts of one reply regular, whatever the provider and its adapter make of it: one start, before
 * everything else; calls numbered from 0, with ids that differ and with arguments, `{}` if there are none;
 * one finish, whose reason is `tool_calls` only if there are calls.
 */
class RegularReply {
  #hasStarted = false
  #hasFinished = false
  /** By the adapter's index. */
  readonly #calls = new Map<number, RegularCall>()
  readonly #ids = new Set<string>()
  #count = 0

  /** Returns the event itself if it is regular. */
  readonly toRegular = (event: ReplyEvent): ReplyEvent => {
    if (event[TEXT_RUN] !== undefined && this.#hasStarted) return event
    const { parts } = event
    if (parts.length === 0 || (parts.length === 1 && parts[0]?.type === 'text' && this.#hasStarted))
      return event
    const regular = parts.flatMap((part) => this.#toParts(part))
    const isSame = regular.length === parts.length && regular.every((part, index) => part === parts[index])
    return isSame ? event : new ReplyEvent(regular, event[NATIVE])
  }

  #toParts(part: ReplyPart): ReplyPart | readonly ReplyPart[] {
    if (part.type === 'start') {
      if (this.#hasStarted) return []
      this.#hasStarted = true
      return part
    }
    const regular = this.#toPart(part)
    if (this.#hasStarted || part.type === 'usage') return regular
    this.#hasStarted = true
    return [{ type: 'start', id: '', model: '' }, ...(Array.isArray(regular) ? regular : [regular])]
  }

  #toPart(part: ReplyPart): ReplyPart | readonly ReplyPart[] {
    switch (part.type) {
      case 'tool-start':
        return this.#startCall(part)
      case 'tool-json': {
        const call = this.#calls.get(part.index)
        if (call === undefined) return []
        call.hasJson ||= /\S/.test(part.json)
        return call.index === part.index ? part : { ...part, index: call.index }
      }
      case 'finish':
        return this.#finish(part)
      default:
        return part
    }
  }

  #startCall(part: ToolStart): ReplyPart {
    const index = this.#count++
    this.#calls.set(part.index, { index, isCustom: part.custom === true, hasJson: false })
    const id = part.id === '' || this.#ids.has(part.id) ? newCallId() : part.id
    this.#ids.add(id)
    return id === part.id && index === part.index ? part : { ...part, id, index }
  }

  #finish(part: ReplyPart & { readonly type: 'finish' }): readonly ReplyPart[] {
    if (this.#hasFinished) return []
    this.#hasFinished = true
    const calls = [...this.#calls.values()]
    const parts: ReplyPart[] = calls
      .filter(({ hasJson, isCustom }) => !hasJson && !isCustom)
      .map(({ index }) => ({ type: 'tool-json', index, json: '{}' }))
    const { reason } = part
    if (reason === 'stop' && calls.length > 0) parts.push({ ...part, reason: 'tool_calls' })
    else if (reason === 'tool_calls' && calls.length === 0) parts.push({ ...part, reason: 'stop' })
    else parts.push(part)
    return parts
  }
}

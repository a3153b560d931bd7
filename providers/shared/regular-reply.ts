import { ReplyEvent, type ReplyPart, type ToolStart } from '../../core/contract/chat.ts'
import { NATIVE, TEXT_RUN } from '../../core/contract/native-records.ts'
import { newCallId } from '../../core/util/ids.ts'
import type { RunReader } from './text-run.ts'

/** Makes a whole reply regular, see `RegularReply`. */
export function toRegularReply(event: ReplyEvent): ReplyEvent {
  return new RegularReply().toRegular(event)
}

/** Makes the events of a stream regular, see `RegularReply`. */
export function withRegularEvents(reader: RunReader): RunReader {
  const reply = new RegularReply()
  const toRegular = (events: readonly ReplyEvent[]): readonly ReplyEvent[] => {
    const only = events[0]
    if (events.length !== 1 || only === undefined) return events.map((each) => reply.toRegular(each))
    const regular = reply.toRegular(only)
    return regular === only ? events : [regular]
  }
  return {
    isDone: () => reader.isDone?.() === true,
    read: (event) => toRegular(reader.read(event)),
    ...(reader.readRun && { readRun: (body, start, isAscii) => reader.readRun?.(body, start, isAscii) }),
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
  /** Most replies have none. */
  #calls: RegularCalls | undefined

  /** Returns the event itself if it is regular. */
  toRegular(event: ReplyEvent): ReplyEvent {
    if (event[TEXT_RUN] !== undefined && this.#hasStarted) return event
    const { parts } = event
    let regular: ReplyPart[] | undefined
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index] as ReplyPart
      const made = this.#toParts(part)
      if (made !== part) regular ??= parts.slice(0, index)
      if (regular === undefined) continue
      if (Array.isArray(made)) regular.push(...made)
      else regular.push(made as ReplyPart)
    }
    return regular === undefined ? event : new ReplyEvent(regular, event[NATIVE])
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
        this.#calls ??= new RegularCalls()
        return this.#calls.start(part)
      case 'tool-json':
        return this.#calls?.continue(part) ?? []
      case 'finish':
        return this.#finish(part)
      default:
        return part
    }
  }

  #finish(part: Finish): ReplyPart | readonly ReplyPart[] {
    if (this.#hasFinished) return []
    this.#hasFinished = true
    const { reason } = part
    if (this.#calls === undefined) return reason === 'tool_calls' ? { ...part, reason: 'stop' } : part
    return [...this.#calls.end(), reason === 'stop' ? { ...part, reason: 'tool_calls' } : part]
  }
}

type Finish = ReplyPart & { readonly type: 'finish' }
type ToolJson = ReplyPart & { readonly type: 'tool-json' }

/** The calls of one reply. */
class RegularCalls {
  /** By the adapter's index. */
  readonly #calls = new Map<number, RegularCall>()
  readonly #ids = new Set<string>()
  #count = 0

  start(part: ToolStart): ReplyPart {
    const index = this.#count++
    this.#calls.set(part.index, { index, isCustom: part.custom === true, hasJson: false })
    const id = part.id === '' || this.#ids.has(part.id) ? newCallId() : part.id
    this.#ids.add(id)
    return id === part.id && index === part.index ? part : { ...part, id, index }
  }

  /** Returns the part with the number of its call; undefined if that has not begun. */
  continue(part: ToolJson): ReplyPart | undefined {
    const call = this.#calls.get(part.index)
    if (call === undefined) return undefined
    call.hasJson ||= /\S/.test(part.json)
    return call.index === part.index ? part : { ...part, index: call.index }
  }

  /** Returns the arguments of the calls that had none. */
  end(): readonly ReplyPart[] {
    return [...this.#calls.values()]
      .filter(({ hasJson, isCustom }) => !hasJson && !isCustom)
      .map(({ index }) => ({ type: 'tool-json', index, json: '{}' }))
  }
}

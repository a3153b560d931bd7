import type { JsonObject, ReplyPart } from '../../contract/index.ts'
import type { Pace } from '../../events/responses.ts'
import { type CallItem, createCallItem } from './call-item.ts'
import { createMessageItem, type MessageItem } from './message-item.ts'
import type { ItemStatus, OutputEvent, Place } from './output-item.ts'
import { createPaceKeeper } from './pace.ts'
import { createReasoningItem, type ReasoningItem } from './reasoning-item.ts'

/** The output of one response as it grows. Whole and streamed answers are both made with it. */
export interface Output {
  /** What a part of the reply causes. */
  add(part: ReplyPart): readonly OutputEvent[]
  /** Ends what is open; the last item gets the status. There is a message at least, be it empty. */
  close(status: ItemStatus): readonly OutputEvent[]
  items(): readonly JsonObject[]
  /** The pieces in which it came. */
  pace(): Pace
}

type Item = MessageItem | ReasoningItem | CallItem

/**
 * One output item after the other, in the order in which the model begins them. Thoughts and messages end where the next item
 * begins; tool calls stay open until the end, for vendors may send the arguments of parallel calls in turns.
 */
export function createOutput(seed: string): Output {
  const items: Item[] = []
  const calls: CallItem[] = []
  const paceKeeper = createPaceKeeper()
  let speaking: MessageItem | ReasoningItem | undefined

  function begin<Kind extends Item>(create: (at: Place) => Kind): Begun<Kind> {
    const ended = speaking?.close('completed') ?? []
    speaking = undefined
    const item = create({ seed, index: items.length })
    items.push(item)
    return { item, events: [...ended, ...item.open()] }
  }

  function think(text: string): readonly OutputEvent[] {
    if (text === '') return []
    const begun = speaking?.type === 'reasoning' ? { item: speaking, events: [] } : begin(createReasoningItem)
    speaking = begun.item
    paceKeeper.note(begun.item.index, text.length)
    return [...begun.events, ...begun.item.add(text)]
  }

  function speak(kind: 'text' | 'refusal', text: string, mayBeEmpty = false): readonly OutputEvent[] {
    if (text === '' && !mayBeEmpty) return []
    const begun = speaking?.type === 'message' ? { item: speaking, events: [] } : begin(createMessageItem)
    speaking = begun.item
    if (text !== '') paceKeeper.note(begun.item.index, text.length)
    return [...begun.events, ...begun.item.add(kind, text)]
  }

  function growCall(index: number, json: string): readonly OutputEvent[] {
    const call = calls[index]
    if (call === undefined || json === '') return []
    paceKeeper.note(call.index, json.length)
    return call.add(json)
  }

  return {
    add(part) {
      switch (part.type) {
        case 'text':
        case 'refusal':
          return speak(part.type, part.text)
        case 'reasoning':
          return think(part.text)
        case 'tool-start': {
          const { item, events } = begin((at) => createCallItem(at, part))
          calls[part.index] = item
          paceKeeper.note(item.index, 0)
          return events
        }
        case 'tool-json':
          return growCall(part.index, part.json)
        case 'start':
        case 'usage':
        case 'finish':
          return []
        default:
          part satisfies never
          return []
      }
    },
    close(status) {
      const empty = items.length === 0 ? speak('text', '', true) : []
      const open = items.filter((item) => item === speaking || item.type === 'function_call')
      const ends = open.flatMap((item) => item.close(item === items.at(-1) ? status : 'completed'))
      return [...empty, ...ends]
    },
    items: () => items.map((item) => item.show()),
    pace: () => paceKeeper.runs,
  }
}

interface Begun<Kind> {
  readonly item: Kind
  readonly events: readonly OutputEvent[]
}

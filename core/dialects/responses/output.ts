import type { JsonObject, ReplyPart } from '../../contract/index.ts'
import type { ChunkLengths } from '../../events/domain-events.ts'
import { createChunkLengthRecorder } from './chunk-lengths.ts'
import {
  createFunctionCallItem,
  createMessageItem,
  createReasoningItem,
  type EmitOutputEvent,
  type FunctionCallItem,
  type ItemContext,
  type ItemStatus,
  type MessageItem,
  type ReasoningItem,
} from './output-items.ts'

/** The output of one response as it grows. Whole and streamed answers are both made with it. */
export interface ResponseOutput {
  add(part: ReplyPart): void
  /** Ends what is open; the last item gets the status. There is a message at least, be it empty. */
  close(status: ItemStatus): void
  items(): readonly JsonObject[]
  /** The pieces in which it came. */
  chunkLengths(): ChunkLengths
}

type Item = MessageItem | ReasoningItem | FunctionCallItem

/**
 * One output item after the other, in the order in which the model begins them. Thoughts and messages end where the next item
 * begins; tool calls stay open until the end, for providers may send the arguments of parallel calls in turns.
 */
export function createResponseOutput(seed: string, emit?: EmitOutputEvent): ResponseOutput {
  const items: Item[] = []
  const calls: FunctionCallItem[] = []
  const paceKeeper = createChunkLengthRecorder()
  let speaking: MessageItem | ReasoningItem | undefined

  function begin<Kind extends Item>(create: (at: ItemContext) => Kind): Kind {
    speaking?.close('completed')
    speaking = undefined
    const item = create({ responseKey: seed, index: items.length, emit })
    items.push(item)
    return item
  }

  function think(text: string): void {
    if (text === '') return
    const item = speaking?.type === 'reasoning' ? speaking : begin(createReasoningItem)
    speaking = item
    paceKeeper.note(item.index, text.length)
    item.add(text)
  }

  function speak(kind: 'text' | 'refusal', text: string): void {
    const item = speaking?.type === 'message' ? speaking : begin(createMessageItem)
    speaking = item
    if (text !== '') paceKeeper.note(item.index, text.length)
    item.add(kind, text)
  }

  function growCall(index: number, json: string): void {
    const call = calls[index]
    if (call === undefined || json === '') return
    paceKeeper.note(call.index, json.length)
    call.add(json)
  }

  return {
    add(part) {
      switch (part.type) {
        case 'text':
        case 'refusal':
          if (part.text !== '') speak(part.type, part.text)
          return
        case 'reasoning':
          think(part.text)
          return
        case 'tool-start': {
          const item = begin((at) => createFunctionCallItem(at, part))
          calls[part.index] = item
          paceKeeper.note(item.index, 0)
          return
        }
        case 'tool-json':
          growCall(part.index, part.json)
          return
        case 'start':
        case 'usage':
        case 'finish':
          return
        default:
          part satisfies never
      }
    },
    close(status) {
      if (items.length === 0) speak('text', '')
      for (const item of items) {
        const isOpen = item === speaking || item.type === 'function_call'
        if (isOpen) item.close(item === items.at(-1) ? status : 'completed')
      }
    },
    items: () => items.map((item) => item.toJson()),
    chunkLengths: () => paceKeeper.runs,
  }
}

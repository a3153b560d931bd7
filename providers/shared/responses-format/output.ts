import type { JsonObject, ReplyPart, Target } from '../../../core/contract/index.ts'
import { ReasoningCollector } from '../../../core/dialects/carried-reasoning.ts'
import { parseDataUrl } from '../../../core/inspection/data-url.ts'
import type { ClientTools } from './client-tools.ts'
import {
  type CallItem,
  createCallItem,
  createImageItem,
  createMessageItem,
  createReasoningItem,
  type EmitOutputEvent,
  type ImageItem,
  type ItemContext,
  type ItemStatus,
  type MessageItem,
  type ReasoningItem,
} from './output-items.ts'

/**
 * Runs of chunks of one output item: the item's index in the output, then the length of each chunk. A length
 * of 0 is the start of a tool call. See docs/decisions/responses.md, "A stored response is the answer plus
 * the lengths of its chunks".
 */
export type ChunkLengths = readonly (readonly number[])[]

/** Creates a recorder for the lengths of an output's chunks, with which the stream can be replayed. */
function createChunkLengthRecorder() {
  const runs: number[][] = []
  let lastIndex = -1
  return {
    runs: runs as ChunkLengths,
    /** Records a chunk of the output item at `index`; `length` is in UTF-16 code units. */
    record(index: number, length: number): void {
      if (index !== lastIndex) runs.push([index])
      lastIndex = index
      runs.at(-1)?.push(length)
    },
  }
}

/** The output of one response under construction, whole or streamed. */
export interface ResponseOutput {
  add(part: ReplyPart): void
  /** Closes all open items; the last one gets `status`. Adds an empty message if there are no items. */
  close(status: ItemStatus): void
  items(): readonly JsonObject[]
  /** Returns the lengths of the chunks that were added. */
  chunkLengths(): ChunkLengths
}

interface OutputOptions {
  readonly tools?: ClientTools | undefined
  readonly emit?: EmitOutputEvent | undefined
  readonly target?: Target | undefined
}

type Item = MessageItem | ReasoningItem | CallItem | ImageItem

/**
 * Creates an empty output. Items appear in the order in which the model starts them. A message or reasoning
 * item is closed when the next item starts. Function calls stay open until the end, because providers may
 * interleave the arguments of parallel calls. `target` is the one that replies: what it wants back with its
 * reasoning is in the field `encrypted_content`.
 */
export function createResponseOutput(
  responseKey: string,
  { tools, emit, target }: OutputOptions = {},
): ResponseOutput {
  const items: Item[] = []
  const calls: CallItem[] = []
  const lengthRecorder = createChunkLengthRecorder()
  const collector = new ReasoningCollector(target)
  let openItem: MessageItem | ReasoningItem | undefined

  function addItem<Kind extends Item>(create: (context: ItemContext) => Kind): Kind {
    openItem?.close('completed')
    openItem = undefined
    const item = create({ responseKey, index: items.length, emit })
    items.push(item)
    return item
  }

  function addReasoning(text: string): void {
    if (text === '') return
    const item = openReasoning((open) => !open.isSealed)
    lengthRecorder.record(item.index, text.length)
    item.add(text)
  }

  function openReasoning(mayContinue: (open: ReasoningItem) => boolean): ReasoningItem {
    const isContinued = openItem?.type === 'reasoning' && mayContinue(openItem)
    const item = isContinued ? (openItem as ReasoningItem) : addItem(createReasoningItem)
    openItem = item
    return item
  }

  /** Each item of OpenAI has data of its own. */
  function sealReasoning(): void {
    const data = collector.take()
    if (data.length === 0) return
    const item = openReasoning((open) => !open.isSealed || data.every(({ openai }) => openai === undefined))
    if (!item.isSealed) lengthRecorder.record(item.index, 0)
    item.seal(data)
  }

  function addMessageText(kind: 'text' | 'refusal', text: string): void {
    const item = openItem?.type === 'message' ? openItem : addItem(createMessageItem)
    openItem = item
    if (text !== '') lengthRecorder.record(item.index, text.length)
    item.add(kind, text)
  }

  /** Items hold the image itself; that of a URL is a text. */
  function addImage(url: string): void {
    if (parseDataUrl(url) === undefined) {
      addMessageText('text', `![image](${url})`)
      return
    }
    sealReasoning()
    const item = addItem((context) => createImageItem(context, url))
    lengthRecorder.record(item.index, 0)
  }

  function addArguments(callIndex: number, json: string): void {
    const call = calls[callIndex]
    if (call === undefined || json === '') return
    // The input of a custom tool is sent at once.
    if (call.type === 'function_call') lengthRecorder.record(call.index, json.length)
    call.add(json)
  }

  return {
    add(part) {
      switch (part.type) {
        case 'text':
        case 'refusal':
          if (part.text !== '') addMessageText(part.type, part.text)
          return
        case 'reasoning':
          addReasoning(part.text)
          collector.add(part)
          return
        case 'extra':
          collector.add(part)
          sealReasoning()
          return
        case 'image':
          addImage(part.url)
          return
        case 'tool-start': {
          // Replays get the signature of the call with the reasoning.
          if (target !== undefined) collector.add(part)
          sealReasoning()
          const item = addItem((context) => createCallItem(context, part, tools?.get(part.name)))
          calls[part.index] = item
          lengthRecorder.record(item.index, 0)
          return
        }
        case 'tool-json':
          addArguments(part.index, part.json)
          return
        case 'start':
        case 'usage':
        case 'finish':
        case 'unread':
        case 'embedding':
        case 'moderation':
          return
        default:
          part satisfies never
      }
    },
    close(status) {
      if (items.length === 0) addMessageText('text', '')
      for (const item of items) {
        const isOpen = item === openItem || calls.includes(item as CallItem)
        if (isOpen) item.close(item === items.at(-1) ? status : 'completed')
      }
    },
    items: () => items.map((item) => item.toJson()),
    chunkLengths: () => lengthRecorder.runs,
  }
}

import type { JsonObject, ReplyPart, Target } from '../../contract/index.ts'
import { parseDataUrl } from '../../text/data-url.ts'
import { ReasoningCollector } from '../carried-reasoning.ts'
import { type CallItem, createCallItem } from './call-items.ts'
import type { ChunkLengths } from './chunk-lengths.ts'
import { createChunkLengthRecorder } from './chunk-lengths.ts'
import type { ClientTools } from './client-tools.ts'
import {
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

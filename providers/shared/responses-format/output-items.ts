import type { JsonObject, ReasoningData, ToolStart } from '../../../core/contract/index.ts'
import {
  decodeReasoning,
  encodeReasoning,
  isEncodedReasoning,
} from '../../../core/dialects/carried-reasoning.ts'
import { parseDataUrl } from '../../../core/inspection/data-url.ts'
import { type ClientTool, toCustomInput, toSearchArguments } from './client-tools.ts'

/** A stream event of the Responses API without its sequence number. */
export type OutputEvent = JsonObject & { readonly type: string }

/** `incomplete` if the reply was cut off within the item. */
export type ItemStatus = 'completed' | 'incomplete'

/** Receives the events of an output in order. */
export type EmitOutputEvent = (event: OutputEvent) => void

/**
 * Response key and index determine the item's id. `emit` is undefined for a response that is not streamed.
 */
export interface ItemContext {
  readonly responseKey: string
  readonly index: number
  readonly emit: EmitOutputEvent | undefined
}

/** An output item under construction. It emits its first event on creation. */
interface OutputItem {
  /** Index in the output. */
  readonly index: number
  close(status: ItemStatus): void
  /** Returns the item in its current state. */
  toJson(): JsonObject
}

export interface MessageItem extends OutputItem {
  readonly type: 'message'
  add(kind: 'text' | 'refusal', text: string): void
}

interface MessageContent {
  readonly kind: 'text' | 'refusal'
  text: string
}

/** Creates a message, which holds text and refusals of the model. */
export function createMessageItem(context: ItemContext): MessageItem {
  const { index, emit } = context
  const id = itemId('msg', context)
  const contents: MessageContent[] = []
  let status = 'in_progress'

  const toJson = (): JsonObject => ({
    id,
    type: 'message',
    status,
    role: 'assistant',
    content: contents.map(({ kind, text }) => toContentPart(kind, text)),
  })
  const position = () => ({ item_id: id, output_index: index, content_index: contents.length - 1 })

  function openContent(kind: MessageContent['kind']): MessageContent {
    closeContent()
    const content = { kind, text: '' }
    contents.push(content)
    emit?.({ type: 'response.content_part.added', ...position(), part: toContentPart(kind, '') })
    return content
  }

  /** Closes the content under construction, if any. */
  function closeContent(): void {
    const content = contents.at(-1)
    if (content === undefined) return
    const { kind, text } = content
    emit?.(
      kind === 'text'
        ? { type: 'response.output_text.done', ...position(), text, logprobs: [] }
        : { type: 'response.refusal.done', ...position(), refusal: text },
    )
    emit?.({ type: 'response.content_part.done', ...position(), part: toContentPart(kind, text) })
  }

  emit?.(itemAddedEvent(index, toJson()))
  return {
    type: 'message',
    index,
    add(kind, text) {
      const last = contents.at(-1)
      const content = last?.kind === kind ? last : openContent(kind)
      if (text === '') return
      content.text += text
      emit?.(
        kind === 'text'
          ? { type: 'response.output_text.delta', ...position(), delta: text, logprobs: [] }
          : { type: 'response.refusal.delta', ...position(), delta: text },
      )
    },
    close(finalStatus) {
      closeContent()
      status = finalStatus
      emit?.(itemDoneEvent(index, toJson()))
    },
    toJson,
  }
}

function toContentPart(kind: MessageContent['kind'], text: string): JsonObject {
  return kind === 'text'
    ? { type: 'output_text', text, annotations: [], logprobs: [] }
    : { type: 'refusal', refusal: text }
}

export interface ReasoningItem extends OutputItem {
  readonly type: 'reasoning'
  /** Its provider has said what it wants back with it, so it is complete. */
  readonly isSealed: boolean
  add(text: string): void
  /** Adds what the provider wants back with the item. */
  seal(data: readonly ReasoningData[]): void
}

/** Creates a reasoning item: one summary with the reasoning that the provider discloses. */
export function createReasoningItem(context: ItemContext): ReasoningItem {
  const { index, emit } = context
  const data: ReasoningData[] = []
  const id = itemId('rs', context)
  const position = { item_id: id, output_index: index, summary_index: 0 }
  let text = ''
  let status = 'in_progress'

  const toSummaryPart = () => ({ type: 'summary_text', text })
  const toJson = (): JsonObject => ({
    id,
    type: 'reasoning',
    status,
    summary: text === '' ? [] : [toSummaryPart()],
    ...(data.length > 0 && { encrypted_content: toEncryptedContent(data) }),
  })

  emit?.(itemAddedEvent(index, toJson()))
  return {
    type: 'reasoning',
    index,
    get isSealed() {
      return data.length > 0
    },
    seal(added) {
      data.push(...added)
    },
    add(delta) {
      if (text === '')
        emit?.({ type: 'response.reasoning_summary_part.added', ...position, part: toSummaryPart() })
      text += delta
      emit?.({ type: 'response.reasoning_summary_text.delta', ...position, delta })
    },
    close(finalStatus) {
      status = finalStatus
      if (text !== '') {
        emit?.({ type: 'response.reasoning_summary_text.done', ...position, text })
        emit?.({ type: 'response.reasoning_summary_part.done', ...position, part: toSummaryPart() })
      }
      emit?.(itemDoneEvent(index, toJson()))
    },
    toJson,
  }
}

/** What OpenAI encrypted stays as it is, so that a session can continue there. All else is encoded. */
export function toEncryptedContent(data: readonly ReasoningData[]): unknown {
  const [{ provider = OPENAI, openai } = {}, ...others] = data
  return openai !== undefined && provider === OPENAI && others.length === 0
    ? openai.encrypted_content
    : encodeReasoning(data)
}

/** The provider that issued encrypted reasoning which says nothing of its provider. */
const OPENAI = 'openai'

/** The opposite, for an item of the history. */
export function toReasoningData({ encrypted_content, ...item }: JsonObject): readonly ReasoningData[] {
  if (typeof encrypted_content !== 'string' || encrypted_content === '') return []
  if (isEncodedReasoning(encrypted_content)) return decodeReasoning(encrypted_content)
  const { id, summary, content } = item
  // OpenAI refuses ids that are not its own, and takes items without one.
  const isForeignId = typeof id !== 'string' || isItemId(id)
  const texts = {
    summary: Array.isArray(summary) ? summary : [],
    ...(Array.isArray(content) && content.length > 0 && { content }),
  }
  const fields = { type: 'reasoning', ...(!isForeignId && { id }), ...texts, encrypted_content }
  return [{ provider: OPENAI, openai: fields }]
}

function isItemId(id: string): boolean {
  return /^rs_[0-9A-Za-z]{24}i?\d{2,5}$/.test(id)
}

export interface ImageItem extends OutputItem {
  readonly type: 'image_generation_call'
}

/** Creates the item of an image, which is complete at once. `url` is a data URL. */
export function createImageItem(context: ItemContext, url: string): ImageItem {
  const { index, emit } = context
  const id = itemId('ig', context)
  const position = { item_id: id, output_index: index }
  const { mediaType, base64 } = parseDataUrl(url) ?? { mediaType: '', base64: '' }
  const toJson = (status = 'completed', result: string | null = base64): JsonObject => ({
    id,
    type: 'image_generation_call',
    status,
    result,
    output_format: mediaType.replace('image/', ''),
  })
  emit?.(itemAddedEvent(index, toJson('in_progress', null)))
  emit?.({ type: 'response.image_generation_call.in_progress', ...position })
  emit?.({ type: 'response.image_generation_call.completed', ...position })
  emit?.(itemDoneEvent(index, toJson()))
  return { type: 'image_generation_call', index, close: () => undefined, toJson: () => toJson() }
}

/** Builds an id from response key and output index, so that an item has the same id in every replay. */
function itemId(
  prefix: 'msg' | 'fc' | 'ctc' | 'tsc' | 'rs' | 'ig',
  { responseKey, index }: ItemContext,
): string {
  return `${prefix}_${responseKey}${String(index).padStart(2, '0')}`
}

function itemAddedEvent(index: number, item: JsonObject): OutputEvent {
  return { type: 'response.output_item.added', output_index: index, item }
}

function itemDoneEvent(index: number, item: JsonObject): OutputEvent {
  return { type: 'response.output_item.done', output_index: index, item }
}

/** The call of a tool under construction. */
export interface CallItem extends OutputItem {
  readonly type: 'function_call' | 'custom_tool_call' | 'tool_search_call'
  add(json: string): void
}

/** The type of the item that shows a call, by the kind of its tool, and the prefix of its id. */
const CALL_TYPES = {
  function: ['function_call', 'fc'],
  custom: ['custom_tool_call', 'ctc'],
  search: ['tool_search_call', 'tsc'],
} as const

/**
 * Creates the item of a call: as its client tool, or else as a plain function. The input of other tools is
 * sent when the arguments are complete. `extra_content` is data that the provider expects back with the
 * call's result.
 */
export function createCallItem(
  context: ItemContext,
  { id: call_id, name, extra_content }: ToolStart,
  tool?: ClientTool,
): CallItem {
  const kind = tool?.kind ?? 'function'
  const [type, idPrefix] = CALL_TYPES[kind]
  const { index, emit } = context
  const id = itemId(idPrefix, context)
  const position = { item_id: id, output_index: index }
  const names = tool === undefined ? { name } : toNames(tool)
  let json = ''
  let status = 'in_progress'

  function toInput(): JsonObject {
    if (kind === 'search') return { execution: 'client', arguments: toSearchArguments(json) }
    return { ...names, ...(kind === 'custom' ? { input: toCustomInput(json) } : { arguments: json }) }
  }
  const toJson = (): JsonObject => ({
    ...{ id, type, status, call_id },
    ...toInput(),
    ...(extra_content && { extra_content }),
  })

  function emitInput(send: EmitOutputEvent): void {
    if (kind === 'function')
      send({
        type: 'response.function_call_arguments.done',
        ...position,
        name: names.name,
        arguments: json,
      })
    if (kind !== 'custom') return
    const input = toCustomInput(json)
    if (input !== '') send({ type: 'response.custom_tool_call_input.delta', ...position, delta: input })
    send({ type: 'response.custom_tool_call_input.done', ...position, input })
  }

  emit?.(itemAddedEvent(index, toJson()))
  return {
    type,
    index,
    add(delta) {
      json += delta
      if (kind === 'function') emit?.({ type: 'response.function_call_arguments.delta', ...position, delta })
    },
    close(finalStatus) {
      status = finalStatus
      if (emit) emitInput(emit)
      emit?.(itemDoneEvent(index, toJson()))
    },
    toJson,
  }
}

function toNames({ name, namespace }: ClientTool) {
  return { name, ...(namespace !== undefined && { namespace }) }
}

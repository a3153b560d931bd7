import type { JsonObject, ToolStart } from '../../contract/index.ts'

/** A stream event of the Responses API, before it is numbered. */
export type OutputEvent = JsonObject & { readonly type: string }

/** `completed`, or `incomplete` when it was cut off. */
export type ItemStatus = 'completed' | 'incomplete'

/** Hears of the events of an output, one after the other. */
export type EmitOutputEvent = (event: OutputEvent) => void

/** Where an item stands: seed and index are all that its id is made of. A whole answer has no use for events, and makes none. */
export interface ItemContext {
  readonly responseKey: string
  readonly index: number
  readonly emit: EmitOutputEvent | undefined
}

/** An item of the output as it grows; it tells of its beginning as soon as it is made. */
interface OutputItem {
  /** Its place in the output. */
  readonly index: number
  close(status: ItemStatus): void
  /** The item as it is now. */
  toJson(): JsonObject
}

/** `msg_…`, `fc_…`, `rs_…`: the response's seed and the place in its output, so the same item has the same id at every replay. */
function itemId(prefix: 'msg' | 'fc' | 'rs', { responseKey: seed, index }: ItemContext): string {
  return `${prefix}_${seed}${String(index).padStart(2, '0')}`
}

function itemAdded(index: number, item: JsonObject): OutputEvent {
  return { type: 'response.output_item.added', output_index: index, item }
}

function itemDone(index: number, item: JsonObject): OutputEvent {
  return { type: 'response.output_item.done', output_index: index, item }
}

export interface MessageItem extends OutputItem {
  readonly type: 'message'
  add(kind: 'text' | 'refusal', text: string): void
}

interface Content {
  readonly kind: 'text' | 'refusal'
  text: string
}

/** What the model says: texts, or why it does not want to answer. */
export function createMessageItem(place: ItemContext): MessageItem {
  const { index, emit } = place
  const id = itemId('msg', place)
  const contents: Content[] = []
  let status = 'in_progress'

  const show = (): JsonObject => ({
    id,
    type: 'message',
    status,
    role: 'assistant',
    content: contents.map(({ kind, text }) => partOf(kind, text)),
  })
  const where = () => ({ item_id: id, output_index: index, content_index: contents.length - 1 })

  function begin(kind: Content['kind']): Content {
    finish()
    const content = { kind, text: '' }
    contents.push(content)
    emit?.({ type: 'response.content_part.added', ...where(), part: partOf(kind, '') })
    return content
  }

  /** Ends the content that is being written. */
  function finish(): void {
    const content = contents.at(-1)
    if (content === undefined) return
    const { kind, text } = content
    emit?.(
      kind === 'text'
        ? { type: 'response.output_text.done', ...where(), text, logprobs: [] }
        : { type: 'response.refusal.done', ...where(), refusal: text },
    )
    emit?.({ type: 'response.content_part.done', ...where(), part: partOf(kind, text) })
  }

  emit?.(itemAdded(index, show()))
  return {
    type: 'message',
    index,
    add(kind, text) {
      const last = contents.at(-1)
      const content = last?.kind === kind ? last : begin(kind)
      if (text === '') return
      content.text += text
      emit?.(
        kind === 'text'
          ? { type: 'response.output_text.delta', ...where(), delta: text, logprobs: [] }
          : { type: 'response.refusal.delta', ...where(), delta: text },
      )
    },
    close(ended) {
      finish()
      status = ended
      emit?.(itemDone(index, show()))
    },
    toJson: show,
  }
}

function partOf(kind: Content['kind'], text: string): JsonObject {
  return kind === 'text'
    ? { type: 'output_text', text, annotations: [], logprobs: [] }
    : { type: 'refusal', refusal: text }
}

export interface ReasoningItem extends OutputItem {
  readonly type: 'reasoning'
  add(text: string): void
}

/** What the model thinks, as far as its provider shows it: one summary. */
export function createReasoningItem(place: ItemContext): ReasoningItem {
  const { index, emit } = place
  const id = itemId('rs', place)
  const where = { item_id: id, output_index: index, summary_index: 0 }
  let text = ''
  let status = 'in_progress'

  const part = () => ({ type: 'summary_text', text })
  const show = (): JsonObject => ({ id, type: 'reasoning', status, summary: text === '' ? [] : [part()] })

  emit?.(itemAdded(index, show()))
  emit?.({ type: 'response.reasoning_summary_part.added', ...where, part: part() })
  return {
    type: 'reasoning',
    index,
    add(delta) {
      text += delta
      emit?.({ type: 'response.reasoning_summary_text.delta', ...where, delta })
    },
    close(ended) {
      status = ended
      emit?.({ type: 'response.reasoning_summary_text.done', ...where, text })
      emit?.({ type: 'response.reasoning_summary_part.done', ...where, part: part() })
      emit?.(itemDone(index, show()))
    },
    toJson: show,
  }
}

export interface FunctionCallItem extends OutputItem {
  readonly type: 'function_call'
  add(json: string): void
}

/** A function that the model calls. `extra_content` is what its provider wants back with the result. */
export function createFunctionCallItem(
  place: ItemContext,
  { id: call_id, name, extra_content }: ToolStart,
): FunctionCallItem {
  const { index, emit } = place
  const id = itemId('fc', place)
  const where = { item_id: id, output_index: index }
  let json = ''
  let status = 'in_progress'

  const show = (): JsonObject => ({
    id,
    type: 'function_call',
    status,
    call_id,
    name,
    arguments: json,
    ...(extra_content && { extra_content }),
  })

  emit?.(itemAdded(index, show()))
  return {
    type: 'function_call',
    index,
    add(delta) {
      json += delta
      emit?.({ type: 'response.function_call_arguments.delta', ...where, delta })
    },
    close(ended) {
      status = ended
      emit?.({ type: 'response.function_call_arguments.done', ...where, name, arguments: json })
      emit?.(itemDone(index, show()))
    },
    toJson: show,
  }
}

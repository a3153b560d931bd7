import type { ExtraPart, JsonObject, ReplyPart, Target, ToolStart } from '../../core/contract/index.ts'
import { encodeReasoning, ReasoningCollector } from '../../core/dialects/carried-reasoning.ts'
import { parseJson } from '../../core/util/json.ts'
import { addToChecksum, EMPTY_CHECKSUM } from '../../core/util/text-checksum.ts'

/** An event of a content block, as streams send it. */
export type BlockEvent = JsonObject & { readonly type: string; readonly index: number }

/** A block to which parts are added. */
interface OpenBlock {
  readonly type: string
  readonly index: number
  /** Checksum of its thinking. */
  checksum: number
}

interface HeldCall {
  readonly start: ToolStart
  json: string
}

/** Converts the parts of one reply to the events of its content blocks. Blocks follow one another. */
export class BlockEvents {
  /** Whether thinking is shown that no provider of Anthropic's format produced. */
  readonly #showsReasoning: boolean
  readonly #isNamed: boolean
  readonly #collector: ReasoningCollector
  #count = 0
  #open: OpenBlock | undefined
  /** Fields of the next block. */
  #start: JsonObject | undefined
  /** The call that fills the open block, and calls that began before it was complete. */
  #calls: HeldCall[] = []
  #currentCall: HeldCall | undefined
  hasCalls = false

  /**
   * `target` is the one that replies. If the request has not named it, signatures say for which model they
   * are.
   */
  constructor(showsReasoning: boolean, target?: Target, isNamed = true) {
    this.#showsReasoning = showsReasoning
    this.#isNamed = isNamed
    this.#collector = new ReasoningCollector(target)
  }

  add(part: ReplyPart): readonly BlockEvent[] {
    switch (part.type) {
      case 'text':
        return part.text === '' ? [] : this.#addText('text', 'text_delta', 'text', part.text)
      case 'reasoning':
        return this.#addReasoning(part.text)
      case 'tool-start':
        return this.#startCall(part)
      case 'tool-json':
        return this.#addArguments(part.index, part.json)
      case 'extra':
        return this.#addExtra(part)
      default:
        return []
    }
  }

  /** Ends the last block. */
  close(): readonly BlockEvent[] {
    const events = [...this.#closeBlock()]
    this.#currentCall = undefined
    for (const call of this.#calls.splice(0)) events.push(...this.#openCall(call), ...this.#closeBlock())
    return events
  }

  /** The index of the open text block; undefined if another delta of text needs more than one event. */
  get openText(): number | undefined {
    return this.#open?.type === 'text' && this.#start === undefined ? this.#open.index : undefined
  }

  #addText(type: string, deltaType: string, field: string, text: string): readonly BlockEvent[] {
    const events = this.#enter(type)
    return [...events, this.#delta({ type: deltaType, [field]: text })]
  }

  #addReasoning(text: string): readonly BlockEvent[] {
    const isNative = this.#start?.type === 'thinking' || this.#open?.type === 'thinking'
    if (text === '' || !(isNative || this.#showsReasoning)) return []
    const events = this.#addText('thinking', 'thinking_delta', 'thinking', text)
    if (this.#open) this.#open.checksum = addToChecksum(this.#open.checksum, text)
    if (!this.#isNamed) this.#collector.add({ type: 'reasoning', text })
    return events
  }

  /** Opens a text or thinking block, unless one is open. */
  #enter(type: 'text' | 'thinking' | string): readonly BlockEvent[] {
    const start = this.#start?.type === type ? this.#start : undefined
    if (this.#open?.type === type && start === undefined) return []
    const events = this.close()
    const empty = type === 'text' ? { text: '' } : { thinking: '', signature: '' }
    return [...events, this.#openBlock({ ...start, type, ...empty })]
  }

  /** A call is complete when its arguments are JSON. Until then, calls that follow wait. */
  #startCall(start: ToolStart): readonly BlockEvent[] {
    this.hasCalls = true
    const call = { start, json: '' }
    const current = this.#currentCall
    if (current !== undefined && (current.json === '' || parseJson(current.json) === undefined)) {
      this.#calls.push(call)
      return []
    }
    return [...this.#sealReasoning(start), ...this.close(), ...this.#openCall(call)]
  }

  #openCall(call: HeldCall): readonly BlockEvent[] {
    const { id, name, extra_content } = call.start
    const extra = this.#start?.type === 'tool_use' ? this.#start : {}
    this.#currentCall = call
    const block = {
      caller: { type: 'direct' },
      ...extra,
      type: 'tool_use',
      id,
      name,
      input: {},
      ...(extra_content && { extra_content }),
    }
    const opened = this.#openBlock(block)
    return call.json === '' ? [opened] : [opened, this.#jsonDelta(call.json)]
  }

  #addArguments(index: number, json: string): readonly BlockEvent[] {
    const current = this.#currentCall
    if (json === '') return []
    if (current?.start.index === index) {
      current.json += json
      return [this.#jsonDelta(json)]
    }
    const held = this.#calls.find(({ start }) => start.index === index)
    if (held !== undefined) held.json += json
    return []
  }

  #addExtra(part: ExtraPart): readonly BlockEvent[] {
    const { place, content, textChecksum } = part
    const { anthropic } = content
    if (anthropic === undefined) return this.#sealReasoning(part)
    if (place === 'message') return []
    if (place === 'start') {
      this.#start = anthropic
      if (!this.#isNamed) this.#collector.add(part)
      // Thinking may be omitted, and only its signature sent.
      return anthropic.type === 'thinking' ? this.#enter('thinking') : []
    }
    if (place === 'block') return [...this.close(), ...this.#wholeBlock(anthropic)]
    if (anthropic.type !== 'signature_delta') return [...this.#enter('text'), this.#delta(anthropic)]
    // A signature is not valid for thinking that a rule has changed.
    const isUnchanged = this.#open?.type === 'thinking' && this.#open.checksum === textChecksum
    if (!isUnchanged) return []
    return [this.#delta(this.#isNamed ? anthropic : this.#toEncodedSignature(part))]
  }

  #toEncodedSignature(part: ExtraPart): JsonObject {
    this.#collector.add(part)
    return { type: 'signature_delta', signature: encodeReasoning(this.#collector.take()) }
  }

  /** What another provider wants back with its reasoning is the signature of the thinking. */
  #sealReasoning(part: ExtraPart | ToolStart): readonly BlockEvent[] {
    if (!this.#showsReasoning) return []
    this.#collector.add(part)
    const data = this.#collector.take()
    if (data.length === 0) return []
    const events = this.#enter('thinking')
    const signature = this.#delta({ type: 'signature_delta', signature: encodeReasoning(data) })
    return [...events, signature, ...this.#closeBlock()]
  }

  /** Clients expect the input of a call in deltas. */
  #wholeBlock({ input, ...block }: JsonObject): readonly BlockEvent[] {
    if (input === undefined) return [this.#openBlock(block), ...this.#closeBlock()]
    const opened = this.#openBlock({ ...block, input: {} })
    return [opened, this.#jsonDelta(JSON.stringify(input)), ...this.#closeBlock()]
  }

  #openBlock(content_block: JsonObject): BlockEvent {
    const index = this.#count++
    this.#open = { type: String(content_block.type), index, checksum: EMPTY_CHECKSUM }
    this.#start = undefined
    return { type: 'content_block_start', index, content_block }
  }

  #closeBlock(): readonly BlockEvent[] {
    if (this.#open === undefined) return []
    const { index } = this.#open
    this.#open = undefined
    return [{ type: 'content_block_stop', index }]
  }

  #jsonDelta(json: string): BlockEvent {
    return this.#delta({ type: 'input_json_delta', partial_json: json })
  }

  #delta(delta: JsonObject): BlockEvent {
    return { type: 'content_block_delta', index: this.#open?.index ?? 0, delta }
  }
}

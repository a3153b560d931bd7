import type { ReplyPart } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { StreamReader } from '../../core/contract/provider.ts'
import { eventsOf } from '../shared/batches.ts'
import { asObject, asString, parseObject } from '../shared/fields.ts'
import { RepeatedText } from '../shared/repeated-record.ts'
import { readFailureRecord } from './errors.ts'
import { readBlock, readExplanation, readStopReason, readUsage, say } from './reply.ts'

const NOTHING: readonly ReplyPart[] = []

/** Reads the events of a message (docs/providers.md, "Anthropic streams"). What it does not know is passed over; finish and usage come last. */
export function openStream(): StreamReader {
  const tools = createToolReader()
  const repeated = new RepeatedText('text')
  let usage: JsonObject = {}
  let end: JsonObject = {}
  let done = false

  function readParts(event: JsonObject): readonly ReplyPart[] {
    switch (event.type) {
      case 'message_start':
        return start(asObject(event.message))
      case 'content_block_start':
        return startBlock(event, asObject(event.content_block))
      case 'content_block_delta':
        return readDelta(event, asObject(event.delta))
      case 'content_block_stop':
        return tools.stop(event.index)
      case 'message_delta':
        return noteEnd(event)
      case 'message_stop':
        return finish()
      case 'error':
        throw readFailureRecord(event)
      default:
        return NOTHING
    }
  }

  function start(message: JsonObject): readonly ReplyPart[] {
    usage = asObject(message.usage)
    return [{ type: 'start', id: asString(message.id), model: asString(message.model) }]
  }

  function startBlock({ index }: JsonObject, block: JsonObject): readonly ReplyPart[] {
    return block.type === 'tool_use' ? tools.start(index, block) : readBlock(block)
  }

  function readDelta({ index }: JsonObject, delta: JsonObject): readonly ReplyPart[] {
    switch (delta.type) {
      case 'text_delta':
        return say('text', delta.text)
      case 'thinking_delta':
        return say('reasoning', delta.thinking)
      case 'input_json_delta':
        return tools.grow(index, asString(delta.partial_json))
      default:
        return NOTHING
    }
  }

  /** The counts are totals: each report replaces what was known, but for the fields that it leaves out. */
  function noteEnd(event: JsonObject): readonly ReplyPart[] {
    const known = Object.entries(asObject(event.usage)).filter(([, count]) => count !== null)
    usage = { ...usage, ...Object.fromEntries(known) }
    end = asObject(event.delta)
    return NOTHING
  }

  function finish(): readonly ReplyPart[] {
    done = true
    return [
      ...readExplanation(end),
      { type: 'finish', reason: readStopReason(end.stop_reason) },
      { type: 'usage', usage: readUsage(usage) },
    ]
  }

  return {
    isDone: () => done,
    read({ data }) {
      if (done || data === '') return []
      const text = repeated.read(data)
      if (text !== undefined) return eventsOf(say('text', text))
      const event = parseObject(data)
      if (!event) throw new GatewayError('provider_error', 'The provider sent a malformed record.')
      const parts = readParts(event)
      if (event.type === 'content_block_delta') repeated.learn(data, parts)
      return eventsOf(parts)
    },
    end() {
      if (done) return []
      throw new GatewayError('provider_error', 'The provider stopped before the end of its reply.')
    },
  }
}

/** Reads the tool calls of one stream, by the index of their block. It keeps state: one reader per reply. */
interface ToolReader {
  start(block: unknown, content: JsonObject): readonly ReplyPart[]
  grow(block: unknown, json: string): readonly ReplyPart[]
  /** A call without arguments sends none; clients expect `{}`. */
  stop(block: unknown): readonly ReplyPart[]
}

interface OpenCall {
  readonly index: number
  readonly input: unknown
  hasJson: boolean
}

/** Counts calls from 0 without gaps: blocks of text and thoughts lie between them. */
function createToolReader(): ToolReader {
  const calls = new Map<unknown, OpenCall>()
  let count = 0
  return {
    start(block, { id, name, input }) {
      const index = count++
      calls.set(block, { index, input, hasJson: false })
      return [{ type: 'tool-start', index, id: asString(id), name: asString(name) }]
    },
    grow(block, json) {
      const call = calls.get(block)
      if (!call || json === '') return []
      call.hasJson = true
      return [{ type: 'tool-json', index: call.index, json }]
    },
    stop(block) {
      const call = calls.get(block)
      if (!call || call.hasJson) return []
      return [{ type: 'tool-json', index: call.index, json: JSON.stringify(call.input ?? {}) }]
    },
  }
}

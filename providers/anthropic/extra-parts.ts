import type { ExtraPart, ReplyPart } from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import { parseJson } from '../../core/util/json.ts'
import { asObject, asString } from '../shared/fields.ts'

// What a message holds besides texts, tool calls, usage and finish reason, for clients of Anthropic's format.

export function toExtraPart(place: ExtraPart['place'], anthropic: JsonObject): ExtraPart {
  return { type: 'extra', place, content: { anthropic } }
}

/** The signature of a thinking block, which is valid together with its text only. */
export function toSignaturePart(signature: unknown, textChecksum: number): readonly ExtraPart[] {
  if (asString(signature) === '') return []
  return [{ ...toExtraPart('delta', { type: 'signature_delta', signature }), textChecksum }]
}

/** Fields of text, thinking and tool blocks that other parts describe. */
const BLOCK_FIELDS: ReadonlySet<string> = new Set(
  'type text citations thinking signature id name input'.split(' '),
)

/**
 * Marks the start of a block where that is not obvious: of thinking, of a text behind another text, and of a
 * block with additional fields.
 */
export function toBlockStart(block: JsonObject, previousType: unknown): readonly ExtraPart[] {
  const { type } = block
  const extra = pick(block, (name) => !BLOCK_FIELDS.has(name))
  const isPlain = Object.keys(extra).length === 0 || isDirectCall(extra)
  if (isPlain && type !== 'thinking' && !(type === 'text' && previousType === 'text')) return []
  return [toExtraPart('start', { type, ...extra })]
}

/** Every ordinary call is direct. */
function isDirectCall({ caller, ...others }: JsonObject): boolean {
  return asObject(caller).type === 'direct' && Object.keys(others).length === 0
}

/** Fields of a message that other parts describe, or that clients get from the gateway. */
const MESSAGE_FIELDS: ReadonlySet<string> = new Set('id type role content model usage stop_reason'.split(' '))

const COUNTS: ReadonlySet<string> = new Set(
  'input_tokens output_tokens cache_creation_input_tokens cache_read_input_tokens'.split(' '),
)

/** The stop reasons that the finish reason of the canonical form does not tell. */
const FURTHER_REASONS: ReadonlySet<unknown> = new Set([
  ...['stop_sequence', 'pause_turn', 'model_context_window_exceeded', 'compaction'],
])

/** Further fields of a message and its usage; none if there are no others than usual. */
export function toMessageParts(message: JsonObject): readonly ExtraPart[] {
  const usage = pick(asObject(message.usage), (name) => !COUNTS.has(name))
  const { stop_reason } = message
  const fields = {
    ...pick(message, (name) => !MESSAGE_FIELDS.has(name) && name !== 'stop_details'),
    ...toStopDetails(message),
    ...(FURTHER_REASONS.has(stop_reason) && { stop_reason }),
    ...(Object.keys(usage).length > 0 && { usage }),
  }
  return Object.keys(fields).length === 0 ? [] : [toExtraPart('message', fields)]
}

/** The explanation is a part of its own. */
function toStopDetails({ stop_details }: JsonObject): JsonObject {
  const { explanation: _, ...details } = asObject(stop_details)
  return Object.keys(details).length === 0 ? {} : { stop_details: details }
}

/** The fields that are not null and whose name fulfils the condition. */
function pick(value: JsonObject, isWanted: (name: string) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([name, field]) => field != null && isWanted(name)))
}

/** Collects the blocks of a stream that no other part describes, such as those of Anthropic's own tools. */
interface ExtraBlockReader {
  onStart(blockIndex: unknown, block: JsonObject): void
  onDelta(blockIndex: unknown, delta: JsonObject): void
  /** Returns the complete block, so that rules inspect it as a whole. */
  onStop(blockIndex: unknown): readonly ReplyPart[]
}

interface OpenBlock {
  fields: JsonObject
  json: string
}

export function createExtraBlockReader(): ExtraBlockReader {
  const blocks = new Map<unknown, OpenBlock>()
  return {
    onStart(blockIndex, block) {
      blocks.set(blockIndex, { fields: block, json: '' })
    },
    onDelta(blockIndex, { type: _, partial_json, ...fields }) {
      const block = blocks.get(blockIndex)
      if (block === undefined) return
      block.json += asString(partial_json)
      block.fields = appendFields(block.fields, fields)
    },
    onStop(blockIndex) {
      const block = blocks.get(blockIndex)
      if (block === undefined) return []
      blocks.delete(blockIndex)
      const input = block.json === '' ? undefined : parseJson(block.json)
      return [toExtraPart('block', { ...block.fields, ...(input !== undefined && { input }) })]
    },
  }
}

/** Texts of deltas continue those of the block. */
function appendFields(block: JsonObject, delta: JsonObject): JsonObject {
  const appended: Record<string, unknown> = { ...block }
  for (const [name, value] of Object.entries(delta)) {
    const earlier = appended[name]
    appended[name] = typeof earlier === 'string' && typeof value === 'string' ? earlier + value : value
  }
  return appended
}

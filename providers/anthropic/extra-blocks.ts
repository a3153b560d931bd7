import type { ReplyPart } from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import { parseJson } from '../../core/util/json.ts'
import { asString } from '../shared/fields.ts'
import { toExtraPart } from './extra-parts.ts'

/** Collects the blocks of a stream that no other part describes, such as those of Anthropic's own tools. */
export interface ExtraBlockReader {
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

import type { JsonObject } from '../../core/contract/json.ts'
import type { ReplyPart } from '../../core/contract/reply.ts'
import { readString } from '../read-fields.ts'

/** Reads the tool calls of one stream, by the index of their block. It keeps state: one reader per reply. */
export interface ToolReader {
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
export function createToolReader(): ToolReader {
  const calls = new Map<unknown, OpenCall>()
  let count = 0
  return {
    start(block, { id, name, input }) {
      const index = count++
      calls.set(block, { index, input, hasJson: false })
      return [{ type: 'tool-start', index, id: readString(id), name: readString(name) }]
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

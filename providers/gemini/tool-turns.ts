import type { Message, ToolCall } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import { parseObject, readString } from '../read-fields.ts'
import type { Family } from './family.ts'
import { ANYWHERE, type Piece } from './pieces.ts'
import { readSignature } from './thought-signature.ts'
import type { FunctionCallPart, FunctionResponsePart } from './wire.ts'
import { writeTexts } from './write-parts.ts'

/** Stands for a signature that is lost: https://ai.google.dev/gemini-api/docs/thought-signatures */
const NO_SIGNATURE = 'skip_thought_signature_validator'

/**
 * Writes the calls and results of one conversation, to be given its messages in order. A result needs the function's
 * name, which only the call tells, and goes in the place of its call. From Gemini 3 on calls have ids, and the first
 * call of each step needs a thought signature.
 */
export function createToolTurns(family: Family) {
  const isCurrent = family === 'gemini'
  const calls = new Map<string, { readonly name: string; readonly place: number }>()
  let count = 0

  function writeCall(call: ToolCall, position: number, path: string): FunctionCallPart {
    const { id } = call
    const { name } = call.function
    const thoughtSignature = readSignature(call) ?? (isCurrent && position === 0 ? NO_SIGNATURE : undefined)
    calls.set(id, { name, place: count++ })
    return {
      functionCall: { ...(isCurrent && { id }), name, args: readArguments(call, path) },
      ...(thoughtSignature && { thoughtSignature }),
    }
  }

  function writeCalls({ tool_calls }: Message, path: string): readonly Piece[] {
    return (tool_calls ?? []).map((call, position) => {
      const part = writeCall(call, position, `${path}.tool_calls[${position}]`)
      return { role: 'model', part, place: ANYWHERE }
    })
  }

  function writeResult({ tool_call_id, content }: Message, path: string): Piece {
    const id = readString(tool_call_id)
    const call = calls.get(id)
    if (!call) throw invalid(`${path}.tool_call_id`, `names no earlier tool call: "${id}".`)
    const response = readResponse(writeTexts(content, `${path}.content`))
    const functionResponse = { ...(isCurrent && { id }), name: call.name, response }
    return { role: 'user', part: { functionResponse } satisfies FunctionResponsePart, place: call.place }
  }

  return { writeCalls, writeResult }
}

function readArguments(call: ToolCall, path: string): JsonObject {
  const args = parseObject(call.function.arguments.trim() || '{}')
  if (args) return args
  throw invalid(`${path}.function.arguments`, 'must be a JSON object.')
}

/** Gemini takes objects only: any other result goes into one. */
function readResponse(parts: ReturnType<typeof writeTexts>): JsonObject {
  const output = parts.map(({ text }) => text).join('\n')
  return parseObject(output) ?? { output }
}

function invalid(param: string, reason: string): GatewayError {
  return new GatewayError('invalid_value', `${param} ${reason}`, { param })
}

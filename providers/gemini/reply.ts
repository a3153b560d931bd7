import type { FinishReason, ReplyEvent, ReplyPart, ToolCall, Usage } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { asNumber, asObject, asObjects, asString } from '../shared/fields.ts'
import { readFailureRecord } from './errors.ts'

import type { Content, Part } from './wire.ts'

/** Reads a whole reply, which is a stream of one record. Throws a `GatewayError` when the body is anything else. */
export function readReply(body: unknown): ReplyEvent {
  const response = isJsonObject(body) ? body : {}
  if (response.error != null) throw readFailureRecord(response)
  const reader = createResponseReader()
  return { parts: [...reader.read(response), ...reader.end()] }
}

/** Reads one response, whole or fragment by fragment. */
interface ResponseReader {
  /** Throws a `GatewayError` when the model failed before it answered anything. */
  read(fragment: JsonObject): readonly ReplyPart[]
  /** What only the end tells: why it ended, and the usage. Throws a `GatewayError` when it had not ended. */
  end(): readonly ReplyPart[]
}

/** https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse */
export function createResponseReader(): ResponseReader {
  const readParts = createPartReader()
  let started = false
  let hasAnswered = false
  let hasCalled = false
  let finishReason = ''
  let usage: Usage | undefined

  function readAnswer(candidate: JsonObject, responseId: string): readonly ReplyPart[] {
    const parts = readParts(candidate, responseId)
    hasAnswered ||= parts.some(({ type }) => type !== 'reasoning')
    hasCalled ||= parts.some(({ type }) => type === 'tool-start')
    finishReason = asString(candidate.finishReason) || finishReason
    if (hasAnswered || !isFailure(finishReason)) return parts
    throw new GatewayError('provider_error', `The model failed to answer: ${finishReason}.`)
  }

  function readFragment(fragment: JsonObject, responseId: string): readonly ReplyPart[] | undefined {
    const candidate = asObjects(fragment.candidates).find(({ index = 0 }) => index === 0)
    if (candidate) return readAnswer(candidate, responseId)
    const blockReason = asString(asObject(fragment.promptFeedback).blockReason)
    if (blockReason === '') return undefined
    // A blocked prompt is answered with status 200, without a candidate to give a reason.
    finishReason = 'PROHIBITED_CONTENT'
    return [{ type: 'refusal', text: `blocked: ${blockReason}` }]
  }

  return {
    read(fragment) {
      const id = asString(fragment.responseId)
      const parts = readFragment(fragment, id)
      usage = readUsage(fragment.usageMetadata) ?? usage
      if (!parts) return []
      const start: ReplyPart = { type: 'start', id, model: asString(fragment.modelVersion) }
      const all = started ? parts : [start, ...parts]
      started = true
      return all
    },
    end() {
      if (finishReason === '') {
        throw new GatewayError('provider_error', 'The provider stopped before the end of its reply.')
      }
      const finish: ReplyPart = { type: 'finish', reason: readFinishReason(finishReason, hasCalled) }
      return usage ? [finish, { type: 'usage', usage }] : [finish]
    },
  }
}

/** Reads the parts of a candidate, or of one fragment of it after another. It keeps state: one reader per response. */
type PartReader = (candidate: JsonObject, responseId: string) => readonly ReplyPart[]

/** A candidate may have no content: blocked, or all its tokens spent on thoughts. */
function createPartReader(): PartReader {
  let calls = 0

  /** A call comes whole, from Gemini 3 on with an id. */
  function readCall(part: JsonObject, call: JsonObject, responseId: string): readonly ReplyPart[] {
    const index = calls++
    const id = asString(call.id) || `call_${responseId}_${index}`
    const signature = asString(part.thoughtSignature)
    const extra = signature === '' ? {} : { extra_content: writeSignature(signature) }
    return [
      { type: 'tool-start', index, id, name: asString(call.name), ...extra },
      { type: 'tool-json', index, json: JSON.stringify(call.args ?? {}) },
    ]
  }

  return ({ content }, responseId) =>
    asObjects(asObject(content).parts).flatMap((part) => {
      if (isJsonObject(part.functionCall)) return readCall(part, part.functionCall, responseId)
      const text = asString(part.text)
      if (text === '') return []
      return { type: part.thought === true ? 'reasoning' : 'text', text }
    })
}

/** Token counts, as in `usageMetadata`: thoughts are not among the candidates' tokens, and zeros are left out. */
function readUsage(value: unknown): Usage | undefined {
  if (!isJsonObject(value)) return undefined
  const cached = asNumber(value.cachedContentTokenCount)
  const reasoning = asNumber(value.thoughtsTokenCount)
  return {
    input: (asNumber(value.promptTokenCount) ?? 0) + (asNumber(value.toolUsePromptTokenCount) ?? 0),
    output: (asNumber(value.candidatesTokenCount) ?? 0) + (reasoning ?? 0),
    ...(cached !== undefined && { cached }),
    ...(reasoning !== undefined && { reasoning }),
  }
}

/** https://ai.google.dev/api/generate-content#FinishReason; one that we do not know counts as `stop`. */
function readFinishReason(reason: string, hasCalled: boolean): FinishReason {
  if (LENGTH.has(reason)) return 'length'
  if (FILTERED.has(reason)) return 'content_filter'
  return hasCalled ? 'tool_calls' : 'stop'
}

/** `CONTINUATION`: there is more, on another request (docs/providers.md, "Gemini long decodes"). */
const LENGTH = new Set(['MAX_TOKENS', 'CONTINUATION'])

const FILTERED = new Set(
  `SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII
  IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION IMAGE_OTHER NO_IMAGE`.split(/\s+/),
)

/** True where the model made nothing that can be sent, and another try may do better. */
function isFailure(reason: string): boolean {
  return FAILED.has(reason)
}

const FAILED = new Set([
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MALFORMED_RESPONSE',
])

/** A part with whose it is. Within one content, parts are ordered by `place`; those of the same place stay as they came. */
export interface Piece {
  readonly role: Content['role']
  readonly part: Part
  readonly place: number
}

/** The place of a part that is no tool result: after all of those. */
export const ANYWHERE = Number.MAX_SAFE_INTEGER

/** Neighbours of the same role become one content: Gemini wants all results of one model turn together. */
export function mergePieces(pieces: readonly Piece[]): readonly Content[] {
  const turns: { readonly role: Content['role']; readonly pieces: Piece[] }[] = []
  for (const piece of pieces) {
    const last = turns.at(-1)
    if (last?.role === piece.role) last.pieces.push(piece)
    else turns.push({ role: piece.role, pieces: [piece] })
  }
  return turns.map((turn) => ({
    role: turn.role,
    parts: turn.pieces.toSorted((one, other) => one.place - other.place).map(({ part }) => part),
  }))
}

/** What a tool call carries to the client and back, in the form of Google's own OpenAI-compatible endpoint. */
function writeSignature(signature: string): JsonObject {
  return { google: { thought_signature: signature } }
}

export function readSignature({ extra_content }: ToolCall): string | undefined {
  const { google } = asObject(extra_content)
  return asString(asObject(google).thought_signature) || undefined
}

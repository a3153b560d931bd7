import type { ContentPart, Message, ToolCall } from '../../core/contract/chat.ts'
import { type ErrorCode, GatewayError } from '../../core/contract/errors.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import { asObject, asString, parseDataUrl, parseObject } from '../shared/fields.ts'
import { ANYWHERE, mergePieces, type Piece, readSignature } from './reply.ts'
import type {
  Content,
  Family,
  FunctionCallPart,
  FunctionResponsePart,
  GenerateBody,
  MediaPart,
  Part,
  TextPart,
} from './wire.ts'

/**
 * The conversation as turns of `user` and `model`, system messages apart (docs/providers.md, "Gemini requests"). Gemma knows no system
 * messages, and a conversation of nothing else is none: there they are what the user says first.
 */
export function writeContents(
  messages: readonly Message[],
  family: Family,
): Pick<GenerateBody, 'contents' | 'systemInstruction'> {
  const system = writeSystem(messages)
  const pieces = writePieces(messages, family)
  if (system.length === 0) return { contents: mergePieces(pieces) }
  if (family !== 'gemma' && pieces.length > 0) {
    return { systemInstruction: { parts: system }, contents: mergePieces(pieces) }
  }
  const first = system.map((part): Piece => ({ role: 'user', part, place: 0 }))
  return { contents: mergePieces([...first, ...pieces]) }
}

function writeSystem(messages: readonly Message[]): readonly TextPart[] {
  return messages.flatMap(({ role, content }, index) =>
    role === 'system' || role === 'developer' ? writeTexts(content, `messages[${index}].content`) : [],
  )
}

function writePieces(messages: readonly Message[], family: Family): readonly Piece[] {
  const { writeCalls, writeResult } = createToolTurns(family)

  function writeMessage(message: Message, index: number): readonly Piece[] {
    const path = `messages[${index}]`
    switch (message.role) {
      case 'system':
      case 'developer':
        return []
      case 'user':
        return say('user', message, path)
      case 'assistant':
        return [...say('model', message, path), ...writeCalls(message, path)]
      case 'tool':
        return [writeResult(message, path)]
      case 'function':
        throw new GatewayError('unsupported_parameter', `${path}: use the role tool in place of function.`, {
          param: `${path}.role`,
        })
      default:
        message.role satisfies never
        return []
    }
  }

  return messages.flatMap(writeMessage)
}

function say(role: Content['role'], { content }: Message, path: string): readonly Piece[] {
  return writeParts(content, `${path}.content`).map((part) => ({ role, part, place: ANYWHERE }))
}

type MessageContent = Message['content']

/**
 * The parts of what somebody says; empty texts are left out. `path` is where it stands in the request, such as
 * `messages[2].content`, for the error about a part that Gemini cannot take.
 */
function writeParts(content: MessageContent, path: string): readonly Part[] {
  if (typeof content === 'string') return writeText(content)
  return (content ?? []).flatMap((part, index) => writePart(part, `${path}[${index}]`))
}

function writePart(part: ContentPart, path: string): readonly Part[] {
  switch (part.type) {
    case 'text':
      return writeText(asString(part.text))
    case 'refusal':
      return writeText(asString(part.refusal))
    case 'image_url':
      return [writeImage(part.image_url, path)]
    case 'input_audio':
      return [writeAudio(asObject(part.input_audio), path)]
    case 'file':
      return [writeFile(asObject(part.file), path)]
    default:
      throw new GatewayError('unsupported_parameter', `${path}: gemini takes no ${part.type} part.`, {
        param: path,
      })
  }
}

function writeText(text: string): readonly TextPart[] {
  return text === '' ? [] : [{ text }]
}

/** `image` is `{url}`, or the URL itself, as some clients have it. */
function writeImage(image: unknown, path: string): MediaPart {
  return writeUrl(asString(asObject(image).url ?? image), `${path}.image_url`)
}

/** `{data, format}`, with the data as base64. */
function writeAudio(audio: JsonObject, path: string): MediaPart {
  const data = asString(audio.data)
  const format = asString(audio.format)
  if (data === '' || format === '')
    throw refuse('invalid_value', `${path}.input_audio`, 'needs data and format.')
  return writeInline(`audio/${format}`, data)
}

/** `{file_data}`, a URL or the base64 of a PDF. A `file_id` is one of OpenAI's, and means nothing here. */
function writeFile(file: JsonObject, path: string): MediaPart {
  const data = asString(file.file_data)
  if (data === '') throw refuse('unsupported_parameter', `${path}.file`, 'needs file_data for gemini.')
  return data.includes(':') ? writeUrl(data, `${path}.file`) : writeInline('application/pdf', data)
}

function writeUrl(url: string, path: string): MediaPart {
  const data = parseDataUrl(url)
  if (data?.mediaType) return writeInline(data.mediaType, data.base64)
  if (!/^https?:\/\//i.test(url)) {
    throw refuse('invalid_value', path, 'must be a https: URL, or a data: URL with a media type.')
  }
  const mimeType = guessType(url)
  return { fileData: { fileUri: url, ...(mimeType && { mimeType }) } }
}

function writeInline(mimeType: string, data: string): MediaPart {
  return { inlineData: { mimeType, data } }
}

const TYPES = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['webp', 'image/webp'],
  ['gif', 'image/gif'],
  ['heic', 'image/heic'],
  ['heif', 'image/heif'],
  ['pdf', 'application/pdf'],
])

/** From the end of the URL's path; undefined where that tells nothing. */
function guessType(url: string): string | undefined {
  const [path = ''] = url.split(/[?#]/, 1)
  return TYPES.get(path.slice(path.lastIndexOf('.') + 1).toLowerCase())
}

function refuse(code: ErrorCode, param: string, reason: string): GatewayError {
  return new GatewayError(code, `${param} ${reason}`, { param })
}

/** Stands for a signature that is lost: https://ai.google.dev/gemini-api/docs/thought-signatures */
const NO_SIGNATURE = 'skip_thought_signature_validator'

/**
 * Writes the calls and results of one conversation, to be given its messages in order. A result needs the function's
 * name, which only the call tells, and goes in the place of its call. From Gemini 3 on calls have ids, and the first
 * call of each step needs a thought signature.
 */
function createToolTurns(family: Family) {
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
    const id = asString(tool_call_id)
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

/** The same where Gemini takes text only. */
function writeTexts(content: MessageContent, path: string): readonly TextPart[] {
  return writeParts(content, path).map((part) => {
    if ('text' in part) return part
    throw new GatewayError('unsupported_parameter', `${path}: gemini takes text only here.`, { param: path })
  })
}

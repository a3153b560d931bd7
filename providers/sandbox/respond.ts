import { anthropicFormat } from './anthropic/format.ts'
import { deepseekFormat } from './deepseek/format.ts'
import { stripMarkers } from './faults.ts'
import { SandboxError, type WireFormat } from './format.ts'
import { geminiFormat } from './gemini/format.ts'
import { mistralFormat } from './mistral/format.ts'
import { buildModelRefusal, buildModelReply } from './model-reply.ts'
import { MAX_BODY_BYTES, type ReplyStamp } from './model-request.ts'
import { openaiFormat } from './openai/format.ts'
import type { ReceivedRequest } from './recorder.ts'
import {
  buildErrorScript,
  buildJsonScript,
  buildReplyScript,
  type PickFault,
  type ResponseScript,
} from './response-script.ts'

const WIRE_FORMATS: readonly WireFormat[] = [
  openaiFormat,
  anthropicFormat,
  mistralFormat,
  deepseekFormat,
  geminiFormat,
]

/** Decides how a request is answered; what goes wrong is told in the provider's error shape. */
export function buildResponse(
  received: ReceivedRequest,
  stamp: ReplyStamp,
  pickFault: PickFault,
): ResponseScript {
  // Paths of no format are OpenAI's, which then refuses them.
  const format = WIRE_FORMATS.find(({ name }) => received.path.startsWith(`/${name}/`)) ?? openaiFormat
  try {
    return buildEndpointResponse(format, received, stamp, pickFault)
  } catch (error) {
    return buildErrorScript(format, toSandboxError(error))
  }
}

function buildEndpointResponse(
  format: WireFormat,
  received: ReceivedRequest,
  stamp: ReplyStamp,
  pickFault: PickFault,
): ResponseScript {
  const path = received.path.slice(format.name.length + 1)
  const endpoint = format.findEndpoint(received.method, path)
  if (!endpoint) {
    throw new SandboxError(404, `Invalid URL (${received.method} ${received.path})`, { code: 'unknown_url' })
  }
  checkApiKey(format.getApiKey(received.headers))
  checkBodySize(received.size)
  if (endpoint === 'models') return buildJsonScript(200, format.buildModelList())

  const call = format.parseCall(path, received.body, received.headers)
  const { request: question } = call
  const fault = pickFault(question.userText, question.model)
  const said = { ...question, userText: stripMarkers(question.userText) }
  const reply = fault.isRefusal ? buildModelRefusal(said, stamp) : buildModelReply(said, stamp)
  return buildReplyScript(format, call, reply, fault)
}

function checkApiKey(key: string): void {
  if (key !== '' && key !== 'invalid') return
  throw new SandboxError(
    401,
    `${key === '' ? 'No' : 'A wrong'} API key was sent. The sandbox takes any but "invalid".`,
  )
}

function checkBodySize(size: number): void {
  if (size > MAX_BODY_BYTES) throw new SandboxError(413, `The body is larger than ${MAX_BODY_BYTES} bytes.`)
}

function toSandboxError(error: unknown): SandboxError {
  return error instanceof SandboxError ? error : new SandboxError(500, `The sandbox failed: ${String(error)}`)
}

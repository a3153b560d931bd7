import { anthropicFormat } from './anthropic/format.ts'
import { deepseekFormat } from './deepseek/format.ts'
import { type Fault, type PickFault, stripMarkers } from './faults.ts'
import { geminiFormat } from './gemini/format.ts'
import { mistralFormat } from './mistral/format.ts'
import { openaiFormat } from './openai/format.ts'
import { MAX_BODY_BYTES, type ReceivedRequest } from './received-request.ts'
import {
  buildErrorScript,
  buildJsonScript,
  buildReplyScript,
  type ResponseScript,
} from './response-script.ts'
import { buildModelRefusal, buildModelReply, type ModelReply, type ReplyStamp } from './shared/model-reply.ts'
import { findProviderError } from './shared/provider-errors.ts'
import { SandboxError, type WireFormat } from './shared/wire-format.ts'

const WIRE_FORMATS: readonly WireFormat[] = [
  openaiFormat,
  anthropicFormat,
  mistralFormat,
  deepseekFormat,
  geminiFormat,
]

/** Builds the response to a request. Errors become error responses in the provider's wire format. */
export function buildResponse(
  received: ReceivedRequest,
  stamp: ReplyStamp,
  pickFault: PickFault,
): ResponseScript {
  // Requests for paths of no provider get OpenAI's 404.
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
  const key = format.getApiKey(received.headers)
  checkApiKey(key)
  checkBodySize(received.size)
  if (endpoint === 'models') return buildJsonScript(200, format.buildModelList())

  const call = format.parseCall(path, received.body, received.headers)
  const { model, userText } = call.request
  const picked = pickFault(userText, model)
  const fault = { ...picked, ...(picked.error && findProviderError(picked.error, format.name)) }
  if (fault.reasoning !== undefined) call.checkReasoning?.()
  const request = {
    ...call.request,
    userText: stripMarkers(userText),
    wantsReasoning: call.request.wantsReasoning || fault.reasoning !== undefined,
  }
  const reply = fault.isRefusal ? buildModelRefusal(request, stamp) : buildModelReply(request, stamp, fault)
  const { media } = fault
  const named = {
    ...reply,
    ...(fault.reasoning === 'renamed' && { reasoningField: 'reasoning' as const }),
    ...(media && { media, text: media === 'unknown' ? '' : reply.text }),
  }
  return buildReplyScript(format, call, withPriceTerms(named, fault), fault, key)
}

/** What a provider charges for besides tokens. */
function withPriceTerms(reply: ModelReply, { tier, searches }: Fault): ModelReply {
  if (tier === undefined && searches === 0) return reply
  const terms = { ...(tier && { tier }), ...(searches > 0 && { toolCalls: { web_search: searches } }) }
  return { ...reply, usage: { ...reply.usage, ...terms } }
}

function checkApiKey(key: string): void {
  if (key === '') throw new SandboxError(401, 'Missing API key. Send any key except "invalid".')
  if (key === 'invalid') throw new SandboxError(401, 'Invalid API key. Send any key except "invalid".')
}

function checkBodySize(size: number): void {
  if (size > MAX_BODY_BYTES) {
    throw new SandboxError(413, `The request body exceeds the limit of ${MAX_BODY_BYTES} bytes.`)
  }
}

function toSandboxError(error: unknown): SandboxError {
  return error instanceof SandboxError ? error : new SandboxError(500, `Internal error: ${String(error)}`)
}

import type { ChatRequest } from '../../core/contract/chat.ts'
import type { ProviderAdapter, ProviderRequest, Target } from '../../core/contract/provider.ts'
import { parseNativeFields } from '../anthropic/native.ts'
import { parseAnthropicReply } from '../anthropic/reply.ts'
import { buildAnthropicRequest } from '../anthropic/request.ts'
import type { AnthropicBody } from '../anthropic/wire.ts'
import { ANTHROPIC_LIMITS } from '../shared/api-limits.ts'
import { findAwsEndpoint } from '../shared/aws-endpoint.ts'
import { asObject } from '../shared/fields.ts'
import { ANTHROPIC_QUIRKS } from '../shared/quirks.ts'
import { isConverseReply, toAnthropicMessage } from './converse-reply.ts'
import { buildConverseRequest } from './converse-request.ts'
import { bedrockEmbeddings, isCohere } from './embeddings.ts'
import { parseBedrockError } from './errors.ts'
import { eventStreamFrames } from './frames.ts'
import { withIntervention } from './guardrails.ts'
import { modelPath } from './model-path.ts'
import { createBedrockStreamReader } from './stream.ts'

const LIMITS = { ...ANTHROPIC_LIMITS, toolNames: { pattern: /^[\w-]{1,64}$/, maxChars: 64 } }

const general = {
  format: 'bedrock',
  // Titan takes one text per request.
  limits: { ...LIMITS, embeddings: { inputs: 1 } },
  quirks: ANTHROPIC_QUIRKS,
  reads: ['anthropic'],
  frames: eventStreamFrames,
  baseUrl: ({ region }) => findAwsEndpoint('bedrock-runtime', region),
  // An API key of Bedrock, in place of `auth: aws`.
  buildAuthHeaders: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
  buildRequest: (request, target) =>
    isClaude(target.model) ? buildInvokeRequest(request, target) : buildConverseRequest(request, target),
  parseReply: (body) =>
    parseAnthropicReply(isConverseReply(body) ? toAnthropicMessage(asObject(body)) : withIntervention(body)),
  createStreamReader: createBedrockStreamReader,
  parseError: parseBedrockError,
  operations: { embeddings: bedrockEmbeddings },
} satisfies ProviderAdapter

const cohere: ProviderAdapter = { ...general, limits: { ...LIMITS, embeddings: { inputs: 96 } } }

/**
 * Amazon Bedrock's runtime: Claude in Anthropic's own format by InvokeModel, other models by Converse
 * (docs/providers.md, "Bedrock"): https://docs.aws.amazon.com/bedrock/latest/APIReference/.
 */
export const bedrock: ProviderAdapter = {
  ...general,
  forModel: (model) => (isCohere(model) ? cohere : general),
}

/** Ids, inference profiles and ARNs with the name. The ARN of an application's profile does not have it. */
function isClaude(model: string): boolean {
  return /(?:^|[./])anthropic\.claude-/.test(model)
}

/** https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html */
function buildInvokeRequest(request: ChatRequest, target: Target): ProviderRequest {
  const native = parseNativeFields(request, target).headers
  const betas = native['anthropic-beta']?.split(',')
  const built = buildAnthropicRequest(request, target, {
    pathOf: (model, isStream) => modelPath(model, isStream ? 'invoke-with-response-stream' : 'invoke'),
    bodyOf: ({ model: _, stream: _stream, service_tier: _tier, ...body }: AnthropicBody) => ({
      anthropic_version: 'bedrock-2023-05-31',
      ...(betas && { anthropic_beta: betas }),
      ...body,
    }),
  })
  const accept = request.stream ? 'application/vnd.amazon.eventstream' : 'application/json'
  return { ...built, headers: { 'content-type': 'application/json', accept } }
}

import type { ChatRequest } from '../../core/contract/chat.ts'
import type { ProviderRequest, Target } from '../../core/contract/provider.ts'
import { findOmitted, type Renamed } from '../chat-format/find-omitted.ts'
import { readFamily } from './family.ts'
import type { GenerateBody } from './wire.ts'
import { writeContents } from './write-contents.ts'
import { writeGenerationConfig } from './write-generation-config.ts'
import { writeTools } from './write-tools.ts'

/** A body made of what Gemini takes only: it refuses fields that it does not know. */
export function writeCall(request: ChatRequest, target: Target, apiKey: string): ProviderRequest {
  const family = readFamily(target.model)
  const body: GenerateBody = {
    ...writeContents(request.messages, family),
    ...writeTools(request, family),
    generationConfig: writeGenerationConfig(request, target, family),
  }
  return {
    path: writePath(target.model, request.stream === true),
    headers: {
      'content-type': 'application/json',
      accept: request.stream ? 'text/event-stream' : 'application/json',
      'x-goog-api-key': apiKey,
    },
    body: JSON.stringify(body),
    omitted: findOmitted(request, { ...body, ...body.generationConfig }, RENAMED),
  }
}

const RENAMED: Renamed = {
  max_tokens: ['maxOutputTokens'],
  max_completion_tokens: ['maxOutputTokens'],
  stop: ['stopSequences'],
  top_p: ['topP'],
  presence_penalty: ['presencePenalty'],
  frequency_penalty: ['frequencyPenalty'],
  tool_choice: ['toolConfig'],
  response_format: ['responseMimeType'],
  reasoning_effort: ['thinkingConfig'],
}

/** Without `alt=sse` a stream comes as one JSON array. */
function writePath(model: string, streams: boolean): string {
  const method = streams ? 'streamGenerateContent?alt=sse' : 'generateContent'
  return `/v1beta/models/${encodeURIComponent(model)}:${method}`
}

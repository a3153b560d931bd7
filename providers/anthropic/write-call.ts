import type { ChatRequest } from '../../core/contract/chat.ts'
import type { ProviderRequest, Target } from '../../core/contract/provider.ts'
import { findOmitted } from './find-omitted.ts'
import { writeBody } from './write-body.ts'

/** `POST /v1/messages`, by the base URL `https://api.anthropic.com` (reference 5.1). */
export function writeCall(request: ChatRequest, target: Target, apiKey: string): ProviderRequest {
  const body = writeBody(request, target)
  return {
    path: '/v1/messages',
    headers: {
      'content-type': 'application/json',
      accept: request.stream ? 'text/event-stream' : 'application/json',
      'x-api-key': apiKey,
      'anthropic-version': '2023-06-01',
    },
    body: JSON.stringify(body),
    omitted: findOmitted(request, body),
  }
}

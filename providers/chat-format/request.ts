import type { ProviderRequest } from '../../core/contract/provider.ts'

/** The request headers that all providers of this format expect. */
export function buildChatHeaders(isStream: boolean): ProviderRequest['headers'] {
  return {
    'content-type': 'application/json',
    accept: isStream ? 'text/event-stream' : 'application/json',
  }
}

export function buildBearerAuth(apiKey: string): ProviderRequest['headers'] {
  return { authorization: `Bearer ${apiKey}` }
}

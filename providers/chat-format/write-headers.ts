import type { ProviderRequest } from '../../core/contract/provider.ts'

/** The headers that every vendor of this format wants. */
export function chatHeaders(apiKey: string, streams: boolean): ProviderRequest['headers'] {
  return {
    'content-type': 'application/json',
    accept: streams ? 'text/event-stream' : 'application/json',
    authorization: `Bearer ${apiKey}`,
  }
}

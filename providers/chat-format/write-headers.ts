import type { HttpCall } from '../../core/contract/provider.ts'

/** The headers that every vendor of this format wants. */
export function writeHeaders(apiKey: string, streams: boolean): HttpCall['headers'] {
  return {
    'content-type': 'application/json',
    accept: streams ? 'text/event-stream' : 'application/json',
    authorization: `Bearer ${apiKey}`,
  }
}

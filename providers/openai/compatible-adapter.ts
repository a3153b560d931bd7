import type { ChatRequest } from '../../core/contract/chat.ts'
import type { CompatibleFormat, ProviderAdapter } from '../../core/contract/provider.ts'
import { openai } from './adapter.ts'

/** Returns the adapter of a provider that is compatible with OpenAI but for the names of some fields. */
export function createCompatibleAdapter({ format, fields }: CompatibleFormat): ProviderAdapter {
  const quirks = Object.entries(fields)
  return {
    ...openai,
    format,
    buildRequest(request, target) {
      const sent: Record<string, unknown> = { ...request }
      const omitted: string[] = []
      for (const [name, other] of quirks) {
        const value = sent[name]
        if (value === undefined) continue
        delete sent[name]
        if (other === null) omitted.push(name)
        else sent[other] = value
      }
      // The cast is safe: fields that requests do not have are sent as they are.
      const built = openai.buildRequest(sent as unknown as ChatRequest, target)
      return { ...built, omitted: [...omitted, ...built.omitted] }
    },
  }
}

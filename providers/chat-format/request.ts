import type { ChatRequest, Message } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import type { ProviderRequest } from '../../core/contract/provider.ts'
import { asString } from '../shared/fields.ts'

/** The headers that every provider of this format wants. */
export function chatHeaders(apiKey: string, streams: boolean): ProviderRequest['headers'] {
  return {
    'content-type': 'application/json',
    accept: streams ? 'text/event-stream' : 'application/json',
    authorization: `Bearer ${apiKey}`,
  }
}

/** Under which names a provider's body carries a field of the request, where that is not its own. */
export type Renamed = Readonly<Record<string, readonly string[]>>

/** The fields that a request sets and that its call does not carry, so that the caller can be told. */
export function findOmitted(request: ChatRequest, body: object, renamed: Renamed = {}): readonly string[] {
  const sent = new Set(Object.entries(body).flatMap(([name, value]) => (value === undefined ? [] : [name])))
  const isSent = (field: string) => (renamed[field] ?? [field]).some((name) => sent.has(name))
  return Object.keys(request).filter(
    (field) => !BESIDES.has(field) && asksFor(field, request[field]) && !isSent(field),
  )
}

/** Fields that the answer does not depend on: how it is sent, stored, accounted and sped up. */
const BESIDES = new Set(
  `model messages stream stream_options user safety_identifier metadata store service_tier
  prompt_cache_key prompt_cache_retention prediction`.split(/\s+/),
)

/** Values that ask for what is the case without them. */
const USUAL: Readonly<Record<string, readonly unknown[]>> = {
  n: [1],
  logprobs: [false],
  presence_penalty: [0],
  frequency_penalty: [0],
  parallel_tool_calls: [true],
  tool_choice: ['auto', 'none'],
  reasoning_effort: ['none'],
}

function asksFor(field: string, value: unknown): boolean {
  if (value == null || (Array.isArray(value) && value.length === 0)) return false
  return !USUAL[field]?.includes(value)
}

/** JSON mode wants the word in the prompt, and answers 400 or endless white space without it (docs/providers.md, "Mistral requests" and "DeepSeek requests"). */
export function mentionJson(messages: readonly Message[]): readonly Message[] {
  const isMentioned = messages.some(({ content }) => /json/i.test(joinText(content)))
  return isMentioned ? messages : [{ role: 'system', content: 'Answer in JSON.' }, ...messages]
}

/** The error for what a message holds and a provider cannot be given: left out, the answer would be to something else. */
export function refuseMessage(format: string, what: string): GatewayError {
  const message = `Messages to ${format} cannot hold ${what}. Leave it out or choose another model.`
  return new GatewayError('unsupported_parameter', message, { param: 'messages' })
}

/** The text of a message: a string as it is, the text parts of a list one per line, refusals among them. */
export function joinText(content: Message['content']): string {
  if (typeof content === 'string') return content
  const texts = (content ?? []).map((part) => asString(part.text) || asString(part.refusal))
  return texts.filter((text) => text !== '').join('\n')
}

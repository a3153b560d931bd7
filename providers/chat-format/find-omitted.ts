import type { ChatRequest } from '../../core/contract/chat.ts'

/** Under which names a vendor's body carries a field of the request, where that is not its own. */
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

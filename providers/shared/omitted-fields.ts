import type { ChatRequest, Message } from '../../core/contract/chat.ts'

/**
 * Names the fields of a request that ask for something but are not sent, so that the caller can be warned.
 * Fields that do not affect the reply, and values that are the default anyway, are not reported. `among`: an
 * object with the names of the fields to look at.
 */
export function findOmittedFields(
  request: ChatRequest,
  isSent: (field: string) => boolean,
  among: object = request,
): readonly string[] {
  return Object.keys(among).filter(
    (field) => !UNRELATED_FIELDS.has(field) && !isDefaultValue(field, request[field]) && !isSent(field),
  )
}

/** Names the authors of messages, if they are not sent but for messages of `namedRole`. */
export function findLostAuthors({ messages }: ChatRequest, namedRole?: Message['role']): readonly string[] {
  // The name of a tool is that of its call.
  const losesName = ({ role, name }: Message) => name != null && role !== 'tool' && role !== namedRole
  return messages.some(losesName) ? ['name in messages'] : []
}

/** The names of a request field in a provider's body, for fields that are named differently there. */
export type RenamedFields = Readonly<Record<string, readonly string[]>>

/** Creates the `isSent` of `findOmittedFields` for a body. */
export function isSentIn(body: object, renamed: RenamedFields = {}): (field: string) => boolean {
  const sent = new Set(Object.entries(body).flatMap(([name, value]) => (value === undefined ? [] : [name])))
  const namesOf = (field: string) => (Object.hasOwn(renamed, field) ? renamed[field] : undefined) ?? [field]
  return (field) => namesOf(field).some((name) => sent.has(name))
}

/** Fields about delivery, storage, accounting, caching and speed. */
export const UNRELATED_FIELDS: ReadonlySet<string> = new Set(
  `model messages stream stream_options user safety_identifier metadata store service_tier prompt_cache_key
  prompt_cache_retention prompt_cache_options cache_control prediction extra_content`.split(/\s+/),
)

const DEFAULTS: Readonly<Record<string, readonly unknown[]>> = {
  n: [1],
  logprobs: [false],
  presence_penalty: [0],
  frequency_penalty: [0],
  parallel_tool_calls: [true],
  tool_choice: ['auto', 'none'],
  reasoning_effort: ['none'],
}

/** Whether a field has no value, or the value that it has by default. */
export function isDefaultValue(field: string, value: unknown): boolean {
  if (value == null || (Array.isArray(value) && value.length === 0)) return true
  if (field === 'modalities' && Array.isArray(value)) return value.every((each) => each === 'text')
  return Object.hasOwn(DEFAULTS, field) && DEFAULTS[field]?.includes(value) === true
}

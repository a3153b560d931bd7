import type { ChatRequest, Message } from '../../core/contract/chat.ts'
import type { Model, ParameterChange } from '../../core/contract/provider.ts'

/**
 * Names the fields of a request that ask for something but are not sent, so that the caller can be warned.
 * Fields that do not affect the reply, and values that are the default anyway, are not reported. `among`: the
 * fields to look at.
 */
export function findOmittedFields(
  request: ChatRequest,
  isSent: (field: string) => boolean,
  among: readonly string[] = Object.keys(request),
): readonly string[] {
  return among.filter(
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

const NO_CHANGES: readonly ParameterChange[] = []

/**
 * Compares fields of a request with the values that are sent for them. A value of undefined is not sent, or
 * has no counterpart.
 */
export function findChangedFields(
  request: ChatRequest,
  sent: Readonly<Record<string, unknown>>,
): readonly ParameterChange[] {
  let changes: ParameterChange[] | undefined
  for (const param in sent) {
    const from = request[param]
    const to = sent[param]
    if (from == null || to === undefined || from === to) continue
    changes ??= []
    changes.push({ param, from, to })
  }
  return changes ?? NO_CHANGES
}

/** The limit of output tokens that the caller set, and the name of its field. */
export function outputLimitOf(request: ChatRequest): { field: string; limit: number | undefined } {
  const { max_completion_tokens: limit } = request
  if (limit != null) return { field: 'max_completion_tokens', limit }
  return { field: 'max_tokens', limit: request.max_tokens ?? undefined }
}

/** The caller's limit of output tokens, at most the model's: providers reject higher ones. */
export function clampOutputLimit(request: ChatRequest, entry: Model | undefined): number | undefined {
  const { limit } = outputLimitOf(request)
  return limit === undefined || entry === undefined ? limit : Math.min(limit, entry.max_output)
}

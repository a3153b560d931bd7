import type { JsonObject } from '../../../core/contract/index.ts'
import { asObject, asObjects } from '../../shared/fields.ts'
import { isIssuedReasoning } from '../shared/issued-reasoning.ts'
import { fieldSet, findUnknownField } from '../shared/unknown-fields.ts'
import { SandboxError } from '../shared/wire-format.ts'

// From the API reference of November 2026.
const BODY_FIELDS = fieldSet(
  `model messages max_tokens system stream tools tool_choice temperature top_p top_k stop_sequences metadata
  thinking output_config service_tier cache_control container diagnostics inference_geo speed`,
)
const MESSAGE_FIELDS = fieldSet('role content')
const BLOCK_FIELDS = new Map(
  Object.entries({
    text: fieldSet('type text cache_control citations'),
    image: fieldSet('type source cache_control transformations'),
    document: fieldSet('type source cache_control citations context title'),
    tool_use: fieldSet('type id name input cache_control caller toolset_name'),
    tool_result: fieldSet('type tool_use_id content is_error cache_control toolset_name'),
  }),
)

/** Fields of the body that a beta must be named for in `anthropic-beta`, with the start of its name. */
const BETA_FIELDS = new Map([
  ['context_management', 'context-management-'],
  ['mcp_servers', 'mcp-client-'],
  ['output_format', 'structured-outputs-'],
])

/** Throws a `SandboxError` (400) for the first field that Anthropic does not know, with these betas. */
export function checkAnthropicFields(body: JsonObject, betas: readonly string[]): void {
  const isEnabled = (field: string) => {
    const start = BETA_FIELDS.get(field)
    return start !== undefined && betas.some((beta) => beta.startsWith(start))
  }
  const enabled = Object.keys(body).filter(isEnabled)
  checkKnownFields(body, new Set([...BODY_FIELDS, ...enabled]), '')
  for (const [index, message] of asObjects(body.messages).entries()) {
    checkKnownFields(message, MESSAGE_FIELDS, `messages.${index}.`)
    for (const [blockIndex, block] of asObjects(message.content).entries()) {
      const knownFields = BLOCK_FIELDS.get(String(block.type))
      if (knownFields) checkKnownFields(block, knownFields, `messages.${index}.content.${blockIndex}.`)
    }
  }
}

const MAX_CACHE_MARKS = 4

/** Throws a `SandboxError` (400) for names, ids, schemas and marks that Anthropic refuses. */
export function checkAnthropicLimits(body: JsonObject): void {
  for (const [index, tool] of asObjects(body.tools).entries()) checkTool(tool, `tools.${index}.custom`)
  for (const [index, message] of asObjects(body.messages).entries())
    for (const [blockIndex, { type, id, name, tool_use_id }] of asObjects(message.content).entries()) {
      const path = `messages.${index}.content.${blockIndex}.${type}`
      if (type === 'tool_use') {
        checkPattern(id, `${path}.id`, '^[a-zA-Z0-9_-]+$')
        checkPattern(name, `${path}.name`, NAME)
      } else if (type === 'tool_result') checkPattern(tool_use_id, `${path}.tool_use_id`, '^[a-zA-Z0-9_-]+$')
    }
  const marks = countMarks(body)
  if (marks <= MAX_CACHE_MARKS) return
  const message = `A maximum of ${MAX_CACHE_MARKS} blocks with cache_control may be provided. Found ${marks}.`
  throw new SandboxError(400, message)
}

const NAME = '^[a-zA-Z0-9_-]{1,128}$'

function checkTool({ type = 'custom', name, input_schema: schema }: JsonObject, path: string): void {
  if (type !== 'custom') return
  checkPattern(name, `${path}.name`, NAME)
  const root = asObject(schema)
  if (root.oneOf === undefined && root.allOf === undefined && root.anyOf === undefined) return
  const message = 'input_schema does not support oneOf, allOf, or anyOf at the top level'
  throw new SandboxError(400, `${path}.input_schema: ${message}`)
}

function checkPattern(value: unknown, path: string, pattern: string): void {
  if (typeof value === 'string' && new RegExp(pattern).test(value)) return
  throw new SandboxError(400, `${path}: String should match pattern '${pattern}'`)
}

/** Counts the blocks and tools with `cache_control`, those of tool results included. */
function countMarks(value: JsonObject): number {
  const inner = ['tools', 'system', 'messages', 'content'].flatMap((field) => asObjects(value[field]))
  return (value.cache_control == null ? 0 : 1) + inner.reduce((sum, each) => sum + countMarks(each), 0)
}

function checkKnownFields(value: JsonObject, knownFields: ReadonlySet<string>, path: string): void {
  const unknown = findUnknownField(value, knownFields)
  if (unknown === undefined) return
  throw new SandboxError(400, `${path}${unknown}: Extra inputs are not permitted`)
}

/** Throws a `SandboxError` (400) for thinking that Anthropic did not sign as it is. */
export function checkSignatures({ messages }: JsonObject): void {
  for (const [index, { content }] of asObjects(messages).entries())
    for (const [position, { type, thinking, signature }] of asObjects(content).entries()) {
      if (type !== 'thinking' || isIssuedReasoning('anthropic', signature, String(thinking))) continue
      const path = `messages.${index}.content.${position}`
      throw new SandboxError(400, `${path}: Invalid \`signature\` in \`thinking\` block`)
    }
}

/** Throws a `SandboxError` (400) if a reply with tool calls does not begin with its thinking. */
export function checkThinking({ messages: list }: JsonObject): void {
  const messages = asObjects(list)
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const [first, ...others] = asObjects(messages[last]?.content)
  const isCall = (block: JsonObject | undefined) => block?.type === 'tool_use'
  if (!(isCall(first) || others.some(isCall)) || THINKING.has(first?.type)) return
  throw new SandboxError(
    400,
    `messages.${last}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found ` +
      `\`${first?.type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a ` +
      'thinking block.',
  )
}

const THINKING: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking'])

/** A message, reduced to what the sandbox uses. */
export interface SandboxMessage {
  readonly role: 'user' | 'assistant' | 'system'
  readonly texts: readonly string[]
  /** The texts of its tool results. */
  readonly results: readonly string[]
  /** The ids of its tool calls. */
  readonly callIds: readonly string[]
  /** The ids of the tool calls that its tool results belong to. */
  readonly resultIds: readonly string[]
  /** Whether another block precedes a tool result. */
  readonly hasLateResult: boolean
}

/** Throws a `SandboxError` (400) unless each tool call has one result, at the start of the next message. */
export function checkAnthropicToolResults(messages: readonly SandboxMessage[]): void {
  for (const [index, message] of messages.entries()) {
    const callIds = messages[index - 1]?.callIds ?? []
    const path = `messages.${index}`
    if (message.hasLateResult) {
      throw new SandboxError(400, `${path}: tool_result blocks must come first`)
    }
    const unexpected = message.resultIds.find((id) => !callIds.includes(id))
    if (unexpected !== undefined) {
      throw new SandboxError(
        400,
        `${path}: unexpected tool_use_id found in tool_result blocks: ${unexpected}`,
      )
    }
    checkResultIds(callIds, message.resultIds, path)
  }
  checkResultIds(messages.at(-1)?.callIds ?? [], [], 'messages')
}

function checkResultIds(callIds: readonly string[], resultIds: readonly string[], path: string): void {
  const wrong = callIds.find((callId) => resultIds.filter((id) => id === callId).length !== 1)
  if (wrong === undefined) return
  throw new SandboxError(
    400,
    `${path}: each tool_use must have a single tool_result right after it: ${wrong}`,
  )
}

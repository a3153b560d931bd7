// Compiled against the types that openapi-typescript generates: see test/release/openapi-clients.test.ts.
import type { components, operations } from './generated/openapi-typescript.js'

type Schemas = components['schemas']
type Json<Operation extends keyof operations, Status extends number> = operations[Operation] extends {
  responses: { [status in Status]: { content: { 'application/json': infer Body } } }
}
  ? Body
  : never

/** The text, calls and arguments of a chat completion. */
export function readCompletion({ choices, usage, signalbox }: Json<'createChatCompletion', 200>) {
  const message = choices[0]?.message
  const calls = message?.tool_calls?.map(({ id, function: called }) => [id, called.name, called.arguments])
  const warnings: string[] = (signalbox.warnings ?? []).map(
    (warning) => `${warning.code}: ${warning.message}`,
  )
  const tokens: number = usage?.total_tokens ?? 0
  const text: string | null | undefined = message?.content
  return { text, calls, warnings, tokens }
}

/** The text and call fragments of a chunk. */
export function readChunk(record: Schemas['ChatStreamRecord']) {
  if ('error' in record) throw new Error(record.error.message)
  const delta = record.choices[0]?.delta
  const json: (string | undefined)[] = delta?.tool_calls?.map((call) => call.function?.arguments) ?? []
  return { text: delta?.content ?? '', json }
}

/** The texts and calls of a response. */
export function readResponse({ output, usage }: Json<'createResponse', 200>) {
  const texts: string[] = []
  const calls: [string, string][] = []
  for (const item of output) {
    switch (item.type) {
      case 'message':
        for (const part of item.content) texts.push(part.type === 'refusal' ? part.refusal : part.text)
        break
      case 'function_call':
        calls.push([item.name, item.arguments])
        break
      case 'custom_tool_call':
        calls.push([item.name, item.input])
        break
      case 'tool_search_call':
        calls.push([item.type, JSON.stringify(item.arguments)])
        break
      case 'image_generation_call':
        texts.push(item.result ?? '')
        break
      case 'reasoning':
        for (const { text } of item.summary) texts.push(text)
        break
      default:
        item satisfies never
    }
  }
  const tokens: number = usage?.output_tokens_details.reasoning_tokens ?? 0
  return { texts, calls, tokens }
}

/** What a stream event adds. */
export function readEvent(event: Schemas['ResponseStreamEvent']): string {
  switch (event.type) {
    case 'response.output_text.delta':
    case 'response.function_call_arguments.delta':
      return event.delta
    case 'response.completed':
      return event.response.id
    case 'response.output_item.added':
      return event.item.id
    default:
      return String(event.sequence_number)
  }
}

export const question: Schemas['ChatCompletionRequest'] = {
  model: 'auto:cost',
  messages: [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,', detail: 'low' } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'a', content: 'a cat' },
  ],
}

export const items: Schemas['ModelResponseRequest'] = {
  input: [
    { role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,' }] },
    { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' },
    { type: 'function_call_output', call_id: 'a', output: 'a cat' },
  ],
}

/** The rules as of a moment. */
export function readRules({ data }: Json<'listFirewallRules', 200>): string[] {
  const query: operations['listFirewallRules']['parameters']['query'] = { as_of: '2026-03-01T09:30:00Z' }
  return data.map(({ id, pattern, action }) => `${query.as_of} ${id} ${pattern} ${action}`)
}

export const changes: Schemas['RuleBatch'] = {
  operations: [
    { op: 'create', kind: 'routing', data: { name: 'A' } },
    { op: 'delete', kind: 'firewall', id: 7, revision: 1 },
  ],
}

export const code: Schemas['ErrorCode'] = 'firewall_blocked'

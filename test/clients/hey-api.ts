// Compiled against the client that @hey-api/openapi-ts generates: see test/release/openapi-clients.test.ts.

import { client } from './generated/hey-api/client.gen.js'
import {
  createChatCompletion,
  createResponse,
  listRoutingRules,
  listUsers,
  type OutputItem,
  type ResponseStreamEvent,
} from './generated/hey-api/index.js'

client.setConfig({ baseUrl: 'http://127.0.0.1:8080', auth: 'tr_…' })

/** The text and calls of a chat completion about an image. */
export async function askAboutImage(url: string) {
  const { data, error, response } = await createChatCompletion({
    body: {
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
      tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }],
    },
  })
  if (error !== undefined) throw new Error(`${response?.headers.get('x-error-code')}: ${error.error.message}`)
  const message = data.choices[0]?.message
  const calls = message?.tool_calls?.map((call) => [call.function.name, call.function.arguments]) ?? []
  return { text: message?.content ?? '', calls, tokens: data.usage?.total_tokens ?? 0 }
}

export async function respond(input: string): Promise<string[]> {
  const { data } = await createResponse({ body: { input }, throwOnError: true })
  return data.output.flatMap(readItem)
}

function readItem(item: OutputItem): string[] {
  switch (item.type) {
    case 'message':
      return item.content.map((part) => (part.type === 'refusal' ? part.refusal : part.text))
    case 'function_call':
      return [`${item.name}(${item.arguments})`]
    case 'custom_tool_call':
      return [`${item.name}(${item.input})`]
    case 'tool_search_call':
      return [`${item.type}(${JSON.stringify(item.arguments)})`]
    case 'image_generation_call':
      return [item.result ?? '']
    case 'reasoning':
      return item.summary.map(({ text }) => text)
    default:
      return item satisfies never
  }
}

export function readEvent(event: ResponseStreamEvent): string {
  return event.type === 'response.output_text.delta' ? event.delta : String(event.sequence_number)
}

/** The routing rules as of a moment. */
export async function rulesAsOf(moment: string): Promise<number[]> {
  const { data } = await listRoutingRules({ query: { as_of: moment }, throwOnError: true })
  return data.data.map(({ id }) => id)
}

export async function allUsers(): Promise<string[]> {
  const names: string[] = []
  for (let cursor: string | undefined; ; ) {
    const { data } = await listUsers({ query: { limit: 100, ...(cursor && { cursor }) }, throwOnError: true })
    names.push(...data.data.map(({ name }) => name))
    if (data.next_cursor === null) return names
    cursor = data.next_cursor
  }
}

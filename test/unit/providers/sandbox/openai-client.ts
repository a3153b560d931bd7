import { expect } from 'chai'
import OpenAI, { APIError } from 'openai'
import type {
  ChatCompletionChunk,
  ChatCompletionCreateParams,
  ChatCompletionMessageParam,
  ChatCompletionTool,
} from 'openai/resources/chat/completions'
import type { Sandbox } from '../../../../providers/sandbox/server.ts'

export type Options = Partial<Omit<ChatCompletionCreateParams, 'stream'>>

export type OpenAiClient = ReturnType<typeof createOpenAiClient>

/** Calls a sandbox in OpenAI's format, without retries. */
export function createOpenAiClient({ url }: Sandbox, apiKey = 'test') {
  const sdk = new OpenAI({ baseURL: `${url}/openai/v1`, apiKey, maxRetries: 0 })

  function complete(messages: ChatCompletionMessageParam[], options: Options = {}, signal?: AbortSignal) {
    return sdk.chat.completions.create({ model: 'gpt-test', messages, ...options }, signal && { signal })
  }

  function ask(text: string, options: Options = {}, signal?: AbortSignal) {
    return complete([{ role: 'user', content: text }], options, signal)
  }

  function stream(text: string, options: Options = {}) {
    const messages = [{ role: 'user' as const, content: text }]
    return sdk.chat.completions.create({ model: 'gpt-test', messages, ...options, stream: true })
  }

  function post(body: string): Promise<Response> {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
    return fetch(`${url}/openai/v1/chat/completions`, { method: 'POST', headers, body })
  }

  async function fetchText(text: string, options: object): Promise<string> {
    return (await post(buildBody(text, options))).text()
  }

  return { sdk, complete, ask, stream, post, fetchText }
}

export function buildBody(text: string, options: object = {}): string {
  return JSON.stringify({ model: 'gpt-test', messages: [{ role: 'user', content: text }], ...options })
}

export function defineTool(name: string, parameters: Record<string, unknown>): ChatCompletionTool {
  return { type: 'function', function: { name, parameters } }
}

/** Returns the error of a request that is expected to fail. */
export async function errorOf(request: PromiseLike<unknown>): Promise<APIError> {
  try {
    await request
  } catch (error) {
    expect(error).to.be.instanceOf(APIError)
    return error as APIError
  }
  throw new Error('The request should have failed.')
}

export async function collect(stream: AsyncIterable<ChatCompletionChunk>): Promise<ChatCompletionChunk[]> {
  const { chunks, error } = await collectUntilError(stream)
  if (error) throw error
  return chunks
}

export async function collectUntilError(stream: AsyncIterable<ChatCompletionChunk>) {
  const chunks: ChatCompletionChunk[] = []
  try {
    for await (const chunk of stream) chunks.push(chunk)
  } catch (error) {
    return { chunks, error }
  }
  return { chunks, error: undefined }
}

export function textOf(chunks: readonly ChatCompletionChunk[]): string {
  return chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
}

/** Returns name and parsed arguments of each tool call. */
export function toolCallsOf({ tool_calls = [] }: OpenAI.ChatCompletionMessage): [string, unknown][] {
  return tool_calls.map((call) => {
    if (call.type !== 'function') throw new Error(`Not a function call: ${call.type}`)
    return [call.function.name, JSON.parse(call.function.arguments)]
  })
}

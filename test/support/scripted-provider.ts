import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'

/** What a provider answers: a body, or the chunks of a stream; in OpenAI's format or another one. */
export interface Script {
  /** A text is sent as it is. */
  readonly body?: object | string
  /** Of a body; default 200. */
  readonly status?: number
  /** Further headers of a body. */
  readonly headers?: Readonly<Record<string, string>>
  /** A text is written as it is: one or several records. */
  readonly chunks?: readonly (object | string)[]
  /** Milliseconds before a body, and between two chunks. */
  readonly delayMs?: number
  /** Called before each chunk, when the one before was written. The chunk follows when it resolves. */
  readonly beforeChunk?: () => void | Promise<void>
  /** Called with each request that is received. */
  readonly onRequest?: (request: ScriptedRequest) => void
  /** The answer begins when this resolves. */
  readonly until?: Promise<unknown>
}

/** A request as the provider received it. */
export interface ScriptedRequest {
  /** Such as `/v1/chat/completions`. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: a body of any format
  readonly body: any
}

/** A provider that answers every request with its current script. */
export interface ScriptedProvider {
  /** For `OPENAI_BASE_URL`. */
  readonly url: string
  /** The last request, as it was received. */
  last(): ScriptedRequest | undefined
  /** The body of the last request. */
  lastText(): string
  /** How many requests there were, and how many at once at most. */
  readonly counts: { requests: number; inFlight: number; mostInFlight: number }
  play(script: Script): void
  close(): void
}

export async function startScriptedProvider(): Promise<ScriptedProvider> {
  let current: Script = {}
  let last: ScriptedRequest | undefined
  let lastText = ''
  const counts = { requests: 0, inFlight: 0, mostInFlight: 0 }
  const server = createServer(async (request, response) => {
    counts.requests += 1
    counts.inFlight += 1
    counts.mostInFlight = Math.max(counts.mostInFlight, counts.inFlight)
    let isInFlight = true
    const leave = () => {
      if (isInFlight) counts.inFlight -= 1
      isInFlight = false
    }
    response.on('close', leave)
    let text = ''
    for await (const piece of request) text += piece
    last = {
      path: request.url ?? '',
      headers: request.headers,
      body: text === '' ? undefined : JSON.parse(text),
    }
    lastText = text
    current.onRequest?.(last)
    const { body, chunks = [], delayMs = 0, beforeChunk, until, status = 200, headers } = current
    await until
    if (body !== undefined) {
      if (delayMs > 0) await setTimeout(delayMs)
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      // The client may have its answer before the server hears that it was sent.
      leave()
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const chunk of chunks) {
      if (delayMs > 0) await setTimeout(delayMs)
      await beforeChunk?.()
      response.write(typeof chunk === 'string' ? chunk : `data: ${JSON.stringify(chunk)}\n\n`)
    }
    leave()
    response.end('data: [DONE]\n\n')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    counts,
    last: () => last,
    lastText: () => lastText,
    play(script) {
      current = script
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

const BASE = { id: 'chatcmpl-1', created: 1, model: 'gpt-4o' }

/** A whole reply with these choices. */
export function completion(...messages: readonly object[]) {
  const choices = messages.map((message, index) => ({
    index,
    message: { role: 'assistant', content: null, refusal: null, ...message },
    logprobs: null,
    finish_reason: 'stop',
  }))
  return { ...BASE, object: 'chat.completion', choices, usage: { prompt_tokens: 1, completion_tokens: 1 } }
}

/** A whole reply that used these tokens. */
export function completionOf(prompt_tokens: number, completion_tokens: number): object {
  return { ...completion({ content: 'Hi' }), usage: { prompt_tokens, completion_tokens } }
}

/** A chunk of a stream, of the choice with this index. */
export function chunk(delta: object, finish_reason: string | null = null, index = 0): object {
  return { ...BASE, object: 'chat.completion.chunk', choices: [{ index, delta, finish_reason }] }
}

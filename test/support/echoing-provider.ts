import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A provider in OpenAI's format that blabs: whatever it answers quotes the key and the prompt that it was
 * sent.
 */
export interface EchoingProvider {
  /** For `OPENAI_BASE_URL`. */
  readonly url: string
  close(): void
}

/** What it does, by the word in double brackets that the prompt holds; a number is a status. */
export const MISDEEDS = [
  '401',
  '403',
  '429',
  '500',
  '503',
  'stream',
  'mid',
  'json',
  'sse',
  'garbage',
  'gone',
] as const

export async function startEchoingProvider(): Promise<EchoingProvider> {
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  for await (const piece of request) body += piece
  const [, misdeed = ''] = /\[\[(\w+)\]\]/.exec(body) ?? []
  const said = `${request.headers.authorization} is not welcome with ${body}`
  const error = JSON.stringify({ error: { message: said, type: 'server_error', code: 'server_error' } })
  const json = { 'content-type': 'application/json' }
  const sse = { 'content-type': 'text/event-stream' }
  switch (misdeed) {
    case 'stream':
      response.writeHead(200, sse).end(`data: ${error}\n\n`)
      return
    case 'mid':
      response.writeHead(200, sse).write(`data: ${FIRST}\n\n`)
      response.end(`data: ${error}\n\n`)
      return
    case 'json':
      response.writeHead(200, json).end(`${said} {`)
      return
    case 'sse':
      response.writeHead(200, sse).end(`data: ${said} {\n\n`)
      return
    case 'garbage':
      response.socket?.end(`${said}\r\n\r\n`)
      return
    case 'gone':
      response.writeHead(200, json).write(said)
      response.socket?.destroySoon()
      return
    default:
      response.writeHead(Number(misdeed) || 200, json).end(misdeed === '' ? WHOLE : error)
  }
}

const base = { id: 'chatcmpl-1', created: 1, model: 'gpt-4o' }

const FIRST = JSON.stringify({
  ...base,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { role: 'assistant', content: 'Well' }, finish_reason: null }],
})

const WHOLE = JSON.stringify({
  ...base,
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Well' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})

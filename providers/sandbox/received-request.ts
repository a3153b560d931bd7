import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { parseJson } from '../../core/util/json.ts'

export const MAX_BODY_BYTES = 32 * 1024 * 1024

/** A request whose body was read completely. */
export interface ReceivedRequest {
  readonly method: string
  /** The URL path without the query string. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The parsed JSON body, or its text if it is not JSON. */
  readonly body: unknown
  /** The size of the body in bytes. */
  readonly size: number
}

/** Reads a request to its end. Rejects if the client disconnects first. */
export async function readRequest(
  message: IncomingMessage,
): Promise<{ readonly received: ReceivedRequest; readonly text: string }> {
  const { text, size } = await readRequestBody(message)
  const { method = '', url = '/', headers } = message
  const [path = '/'] = url.split('?', 1)
  return { received: { method, path, headers, body: parseJsonOrText(text), size }, text }
}

interface RequestBody {
  /** Empty if the body exceeds `MAX_BODY_BYTES`. */
  readonly text: string
  /** In bytes. */
  readonly size: number
}

/** Reads oversized bodies to their end, without buffering: some clients read no response before that. */
function readRequestBody(message: IncomingMessage): Promise<RequestBody> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = []
    let size = 0
    message.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= MAX_BODY_BYTES) chunks.push(chunk)
      else chunks = []
    })
    message.once('end', () => resolve({ text: Buffer.concat(chunks).toString(), size }))
    message.once('error', reject)
  })
}

function parseJsonOrText(text: string): unknown {
  const value = parseJson(text)
  return value === undefined ? text : value
}

import type { IncomingMessage } from 'node:http'

/** 32 MB. */
export const BODY_LIMIT = 32 * 1024 * 1024

export interface Body {
  /** Empty when the body is over the limit: it is read to its end, for a client that listens only then, but not kept. */
  readonly text: string
  /** In bytes. */
  readonly size: number
}

/** Reads a request's body. Rejects when the client leaves before its end. */
export function readBody(request: IncomingMessage): Promise<Body> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= BODY_LIMIT) chunks.push(chunk)
      else chunks = []
    })
    request.once('end', () => resolve({ text: Buffer.concat(chunks).toString(), size }))
    request.once('error', reject)
  })
}

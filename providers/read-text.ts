import type { Readable } from 'node:stream'

/** Reads a body as UTF-8 text up to `limit` bytes; `complete` is false when there was more, which is dropped. */
export async function readText(
  body: Readable,
  limit: number,
  onBytes: () => void,
): Promise<{ readonly text: string; readonly complete: boolean }> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const bytes of body as AsyncIterable<Uint8Array>) {
    onBytes()
    chunks.push(bytes)
    length += bytes.length
    if (length > limit) break
  }
  const text = decoder.decode(Buffer.concat(chunks).subarray(0, limit))
  return { text, complete: length <= limit }
}

/** Unlike `Buffer.toString` it takes a byte order mark away. */
const decoder = new TextDecoder('utf-8')

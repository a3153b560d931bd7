/** Where bytes come from: what came since the last read, or undefined at the end. */
export interface ByteSource {
  read(): Promise<readonly Buffer[] | undefined>
}

/** Reads a body as UTF-8 text up to `limit` bytes; `complete` is false when there was more, which is not read. */
export async function readText(
  body: ByteSource,
  limit: number,
  onBytes: () => void,
): Promise<{ readonly text: string; readonly complete: boolean }> {
  const chunks: Buffer[] = []
  let length = 0
  for (let pieces = await body.read(); pieces !== undefined; pieces = await body.read()) {
    onBytes()
    for (const bytes of pieces) {
      chunks.push(bytes)
      length += bytes.length
    }
    if (length > limit) break
  }
  const whole = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
  return { text: decoder.decode(whole.subarray(0, limit)), complete: length <= limit }
}

/** Unlike `Buffer.toString` it takes a byte order mark away. */
const decoder = new TextDecoder('utf-8')

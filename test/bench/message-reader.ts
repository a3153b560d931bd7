const LAST_CHUNK = '0\r\n\r\n'

/**
 * Reads consecutive HTTP/1.1 messages, parsing only what is needed to find their ends: a full parser would
 * cost as much as the servers under test.
 */
export class MessageReader {
  /** Start line and headers of the current message. */
  head = ''
  /** Bytes received after the headers. */
  bodyBytes = 0
  private early: Buffer | undefined
  private length = 0
  private tail = ''

  /**
   * Reads received bytes. Returns true if they complete the message. `onBody` receives the bytes of the body,
   * including chunk sizes.
   */
  take(bytes: Buffer, onBody?: (bytes: Buffer) => void): boolean {
    let body = bytes
    if (this.head === '') {
      const all = this.early === undefined ? bytes : Buffer.concat([this.early, bytes])
      const end = all.indexOf('\r\n\r\n')
      this.early = end === -1 ? all : undefined
      if (end === -1) return false
      this.open(all.toString('latin1', 0, end))
      body = all.subarray(end + 4)
    }
    this.bodyBytes += body.length
    onBody?.(body)
    return this.length === -1 ? this.sawLastChunk(body) : this.bodyBytes >= this.length
  }

  /** Prepares for the next message. */
  reset(): void {
    this.head = ''
    this.bodyBytes = 0
    this.tail = ''
  }

  private open(head: string): void {
    this.head = head
    const length = /\ncontent-length: *(\d+)/i.exec(head)?.[1]
    this.length = length === undefined ? -1 : Number(length)
  }

  private sawLastChunk(body: Buffer): boolean {
    const { length } = LAST_CHUNK
    this.tail = (this.tail + body.toString('latin1', Math.max(0, body.length - length))).slice(-length)
    return this.tail === LAST_CHUNK
  }
}

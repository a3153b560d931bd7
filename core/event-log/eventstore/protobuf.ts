/** Reads the fields of a protobuf message. Throws a `RangeError` if it is cut off. */
export class ProtobufReader {
  readonly bytes: Buffer
  #at: number
  readonly #end: number
  #wireType = 0

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    if (end > bytes.length) throw new RangeError('the message is cut off')
    this.bytes = bytes
    this.#at = start
    this.#end = end
  }

  /** Advances to the next field. Returns its number; 0 at the end. */
  next(): number {
    if (this.#at >= this.#end) return 0
    const tag = this.varint()
    this.#wireType = tag & 7
    return tag >>> 3
  }

  /** Reads a varint. Values above 2^53 lose precision. */
  varint(): number {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      if (this.#at >= this.#end) throw new RangeError('the message is cut off')
      const byte = this.bytes[this.#at++] ?? 0
      value += (byte & 127) * factor
      if (byte < 128) return value
    }
  }

  message(): ProtobufReader {
    const [start, end] = this.#range()
    return new ProtobufReader(this.bytes, start, end)
  }

  string(): string {
    const [start, end] = this.#range()
    return this.bytes.toString('utf8', start, end)
  }

  skip(): void {
    if (this.#wireType === 0) this.varint()
    else if (this.#wireType === 2) this.#range()
    else this.#at += this.#wireType === 1 ? 8 : 4
  }

  /** Start and end of a field with a length. */
  #range(): [start: number, end: number] {
    const length = this.varint()
    const start = this.#at
    this.#at += length
    if (this.#at > this.#end) throw new RangeError('the message is cut off')
    return [start, this.#at]
  }
}

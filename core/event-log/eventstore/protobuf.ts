/** Reads the fields of a protobuf message. Throws a `RangeError` if it is cut off. */
export class ProtobufReader {
  readonly bytes: Buffer
  #at = 0
  #end: number
  #wireType = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
    this.#end = bytes.length
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

  /** Reads the message that is the field's value. What `read` leaves of it is skipped. */
  message<Value>(read: (reader: ProtobufReader) => Value): Value {
    const end = this.#endOfField()
    const outer = this.#end
    this.#end = end
    const value = read(this)
    this.#at = end
    this.#end = outer
    return value
  }

  string(): string {
    const end = this.#endOfField()
    const text = this.bytes.toString('utf8', this.#at, end)
    this.#at = end
    return text
  }

  skip(): void {
    if (this.#wireType === 0) this.varint()
    else if (this.#wireType === 2) this.#at = this.#endOfField()
    else this.#at += this.#wireType === 1 ? 8 : 4
  }

  /** Advances to the value of a field with a length. Returns where it ends. */
  #endOfField(): number {
    const length = this.varint()
    const end = this.#at + length
    if (end > this.#end) throw new RangeError('the message is cut off')
    return end
  }
}

const INITIAL_BYTES = 2048
const MAX_VARINT_BYTES = 10

/** Writes the fields of a protobuf message. */
export class ProtobufWriter {
  #bytes = Buffer.allocUnsafe(INITIAL_BYTES)
  #length = 0

  /** Writes an integer up to 2^53. */
  integer(field: number, value: number): void {
    this.#reserve(2 * MAX_VARINT_BYTES)
    this.#varint(field << 3)
    this.#varint(value)
  }

  string(field: number, value: string): void {
    const length = Buffer.byteLength(value)
    this.#reserve(2 * MAX_VARINT_BYTES + length)
    this.#varint((field << 3) | 2)
    this.#varint(length)
    this.#length += this.#bytes.write(value, this.#length)
  }

  /** Writes a message, whose fields `write` writes. */
  message(field: number, write: () => void): void {
    this.#reserve(2 * MAX_VARINT_BYTES)
    this.#varint((field << 3) | 2)
    const start = this.#length
    // Room for the length of most events, which is known only afterwards.
    this.#length += 2
    write()
    const length = this.#length - start - 2
    const shift = varintBytes(length) - 2
    this.#reserve(MAX_VARINT_BYTES)
    if (shift !== 0) this.#bytes.copyWithin(start + 2 + shift, start + 2, this.#length)
    this.#length = start
    this.#varint(length)
    this.#length += length
  }

  /** The message. The writer must not be used afterwards. */
  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  #varint(value: number): void {
    let rest = value
    while (rest > 127) {
      this.#bytes[this.#length++] = (rest % 128) | 128
      rest = Math.floor(rest / 128)
    }
    this.#bytes[this.#length++] = rest
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + bytes))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}

function varintBytes(value: number): number {
  let bytes = 1
  for (let rest = value; rest > 127; rest = Math.floor(rest / 128)) bytes += 1
  return bytes
}

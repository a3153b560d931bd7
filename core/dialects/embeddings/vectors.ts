import { endianness } from 'node:os'
import type { Vector } from '../../contract/index.ts'

/** Converts a vector to the form that a client asked for. */
export function toVectorForm(vector: Vector, format: unknown): Vector {
  if (format === 'base64') return typeof vector === 'string' ? vector : encodeVector(vector)
  return typeof vector === 'string' ? decodeVector(vector) : vector
}

/** Encodes numbers as base64 of 32-bit floats in little-endian order. */
export function encodeVector(vector: readonly number[]): string {
  return toLittleEndian(Buffer.from(Float32Array.from(vector).buffer)).toString('base64')
}

/** Decodes base64 of 32-bit floats. */
export function decodeVector(base64: string): readonly number[] {
  const bytes = toLittleEndian(Buffer.from(base64, 'base64'))
  // Copied, because a view needs an aligned offset.
  const { buffer } = new Uint8Array(bytes.subarray(0, bytes.length - (bytes.length % 4)))
  return Array.from(new Float32Array(buffer))
}

function toLittleEndian(bytes: Buffer): Buffer {
  return endianness() === 'BE' ? bytes.swap32() : bytes
}

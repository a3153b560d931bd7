import { endianness } from 'node:os'
import type { ReplyPart } from '../../core/contract/chat.ts'
import type { Vector } from '../../core/contract/index.ts'

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

type EmbeddingPart = Extract<ReplyPart, { type: 'embedding' }>

/** The numbers of a vector as a provider wrote them: a JSON array, without its brackets. */
export class VectorText {
  readonly numbers: string

  constructor(numbers: string) {
    this.numbers = numbers
  }
}

/** By part, so that a copy of a part with another vector has no text. */
const texts = new WeakMap<ReplyPart, VectorText>()

/** Creates a part whose vector is parsed when it is first read. */
export function createTextPart(index: number, text: VectorText): EmbeddingPart {
  let vector: Vector | undefined
  const part: EmbeddingPart = {
    type: 'embedding',
    index,
    get vector() {
      vector ??= JSON.parse(`[${text.numbers}]`) as readonly number[]
      return vector
    },
  }
  texts.set(part, text)
  return part
}

/** Returns the text of a part of `createTextPart`. */
export function vectorTextOf(part: ReplyPart): VectorText | undefined {
  return texts.get(part)
}

const NUMBER = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?`

/** In a JSON string, the quotes around the name would follow a backslash. */
const VECTORS = new RegExp(String.raw`("embedding"\s*:\s*)\[(\s*${NUMBER}(?:\s*,\s*${NUMBER})*\s*)\]`, 'g')

/** A JSON text without its vectors: in their places are indexes of `vectors`. */
interface TextWithoutVectors {
  readonly text: string
  readonly vectors: readonly VectorText[]
}

/**
 * Takes the vectors out of a reply in OpenAI's format, and checks the syntax of their numbers. Undefined if
 * the reply is too large for that. See docs/decisions/replies.md, "Vectors of numbers stay text".
 */
export function extractVectors(json: string): TextWithoutVectors | undefined {
  const vectors: VectorText[] = []
  try {
    const text = json.replace(VECTORS, (_, name: string, numbers: string) => {
      vectors.push(new VectorText(numbers))
      return `${name}${vectors.length - 1}`
    })
    return { text, vectors }
  } catch (error) {
    // V8 limits the memory of a regular expression.
    if (error instanceof RangeError) return undefined
    throw error
  }
}

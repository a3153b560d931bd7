import { isUtf8 } from 'node:buffer'

type RewriteText = (text: string) => string

/** How the bytes of a text file are read. */
type TextEncoding = 'utf8' | 'latin1' | 'utf16le' | 'utf16be'

/** A reading of a file that has changed. */
interface ChangedReading {
  readonly encoding: TextEncoding
  /** In UTF-16 without a byte order mark, zero bytes stand between the letters: models read across them. */
  readonly isWithoutZeros: boolean
  readonly text: string
}

/**
 * Rewrites a text file in base64. Providers do not agree on what base64 with a `=` inside means, and on the
 * encoding of a text that is not UTF-8, so all readings are rewritten. Returns undefined if none changes.
 */
export function rewriteTextFile(base64: string, rewrite: RewriteText): string | undefined {
  const changed: ChangedReading[] = []
  for (const bytes of decodeBase64(base64)) {
    for (const { encoding, text } of readingsOf(bytes)) {
      const reading = rewriteReading(text, encoding, rewrite)
      if (reading !== undefined) changed.push(reading)
    }
  }
  const [first] = changed
  if (first === undefined) return undefined
  const bytes = encodeText(first.text, first.isWithoutZeros ? 'utf8' : first.encoding)
  // In UTF-8, the text has one reading, so no other one keeps its match.
  const isCovered = changed.every((reading) => isReadAs(bytes, reading))
  return (isCovered ? bytes : Buffer.from(first.text)).toString('base64')
}

function rewriteReading(
  text: string,
  encoding: TextEncoding,
  rewrite: RewriteText,
): ChangedReading | undefined {
  const rewritten = rewrite(text)
  if (rewritten !== text) return { encoding, isWithoutZeros: false, text: rewritten }
  if (!text.includes('\0')) return undefined
  const letters = withoutZeros(text)
  const rewrittenLetters = rewrite(letters)
  if (rewrittenLetters === letters) return undefined
  return { encoding, isWithoutZeros: true, text: rewrittenLetters }
}

function isReadAs(bytes: Buffer, { encoding, isWithoutZeros, text }: ChangedReading): boolean {
  const read = decodeText(bytes, encoding)
  return (isWithoutZeros ? withoutZeros(read) : read) === text
}

function withoutZeros(text: string): string {
  return text.replaceAll('\0', '')
}

/** Some decoders end at a `=`, some skip it. */
function decodeBase64(base64: string): readonly Buffer[] {
  const bytes = Buffer.from(base64, 'base64')
  const end = base64.indexOf('=')
  if (end === -1 || /^[=\s]*$/.test(base64.slice(end))) return [bytes]
  const parts = base64.split(/=+/)
  return [bytes, Buffer.from(parts.join(''), 'base64'), Buffer.concat(parts.map(toBytes))]
}

function toBytes(base64: string): Buffer {
  return Buffer.from(base64, 'base64')
}

/** Control characters that texts in UTF-8 do not have. */
const CONTROL = /[^\t-\r -\uffff]/

interface Reading {
  readonly encoding: TextEncoding
  readonly text: string
}

const SINGLE: readonly TextEncoding[] = ['latin1', 'utf8']
const WIDE: readonly TextEncoding[] = ['utf16le', 'utf16be']

/** How a provider may read the bytes; the likely ones, and those that keep every byte, come first. */
function* readingsOf(bytes: Buffer): Generator<Reading> {
  const utf8: Reading = { encoding: 'utf8', text: bytes.toString() }
  const isValidUtf8 = isUtf8(bytes)
  if (isValidUtf8 && !CONTROL.test(utf8.text)) {
    yield utf8
    return
  }
  const isWide = hasUtf16Mark(bytes) || utf8.text.includes('\0')
  const encodings = isWide ? [...WIDE, ...SINGLE] : [...SINGLE, ...WIDE]
  for (const encoding of encodings) {
    if (encoding === 'utf8') yield utf8
    else if (encoding !== 'latin1' || !isValidUtf8) yield { encoding, text: decodeText(bytes, encoding) }
  }
}

export function hasUtf16Mark(bytes: Buffer): boolean {
  return (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)
}

function decodeText(bytes: Buffer, encoding: TextEncoding): string {
  if (encoding !== 'utf16be') return bytes.toString(encoding)
  // Swapping takes pairs of bytes, and happens in place.
  return Buffer.from(bytes.subarray(0, bytes.length & ~1))
    .swap16()
    .toString('utf16le')
}

function encodeText(text: string, encoding: TextEncoding): Buffer {
  return encoding === 'utf16be' ? Buffer.from(text, 'utf16le').swap16() : Buffer.from(text, encoding)
}

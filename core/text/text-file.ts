import { isUtf8 } from 'node:buffer'

type RewriteText = (text: string) => string

/** How the bytes of a text file are read. */
type TextEncoding = 'utf8' | 'latin1' | 'utf16le' | 'utf16be'

/** What a provider may read in a file. */
interface Reading {
  readonly encoding: TextEncoding
  /** In UTF-16 without a byte order mark, zero bytes stand between the letters: models read across them. */
  readonly isWithoutZeros: boolean
  readonly text: string
}

/**
 * Rewrites a text file in base64, given in each form that a provider may decode. Providers do not agree on
 * what base64 with other characters inside means, and on the encoding of a text that is not UTF-8, so all
 * readings are rewritten. Returns undefined if none changes.
 */
export function rewriteTextFile(forms: readonly string[], rewrite: RewriteText): string | undefined {
  const changed: Reading[] = []
  for (const bytes of forms.flatMap(decodeBase64)) {
    for (const reading of readingsOf(bytes)) {
      const text = rewrite(reading.text)
      if (text !== reading.text) changed.push({ ...reading, text })
    }
  }
  const [first] = changed
  if (first === undefined) return undefined
  const bytes = encodeText(first.text, first.isWithoutZeros ? 'utf8' : first.encoding)
  // In UTF-8 without zeros, a text has one reading, so no other one keeps its match.
  const isCovered = changed.every((reading) => isReadAs(bytes, reading))
  const { text } = changed.find(({ isWithoutZeros }) => isWithoutZeros) ?? first
  return (isCovered ? bytes : Buffer.from(text)).toString('base64')
}

function isReadAs(bytes: Buffer, { encoding, isWithoutZeros, text }: Reading): boolean {
  return decodeText(isWithoutZeros ? withoutByte(bytes, 0) : bytes, encoding) === text
}

/** A file has one. */
const MAX_PADDINGS = 1000

/** Some decoders end at a `=`, some skip it, and some go on with the next four characters. */
function decodeBase64(base64: string): readonly Buffer[] {
  const bytes = toBytes(base64)
  const end = base64.indexOf('=')
  if (end === -1 || /^[=\s]*$/.test(base64.slice(end))) return [bytes]
  const parts = base64.split(/=+/, MAX_PADDINGS + 1)
  const joined = parts.length > MAX_PADDINGS ? [] : [Buffer.concat(parts.map(toBytes))]
  return [bytes, toBytes(withoutCharacters(base64, '=')), ...joined]
}

function toBytes(base64: string): Buffer {
  return Buffer.from(base64, 'base64')
}

/** A large file may have millions of them, which replacing in a text would take seconds for. */
export function withoutCharacters(text: string, ascii: string): string {
  let bytes: Buffer = Buffer.from(text)
  for (const character of ascii) bytes = withoutByte(bytes, character.charCodeAt(0))
  return bytes.toString()
}

function withoutByte(bytes: Buffer, byte: number): Buffer {
  const kept = Buffer.allocUnsafe(bytes.length)
  let length = 0
  for (let index = 0; index < bytes.length; index++) {
    const each = bytes[index] as number
    if (each !== byte) kept[length++] = each
  }
  return kept.subarray(0, length)
}

/** Control characters that texts in UTF-8 do not have. */
const CONTROL = /[^\t-\r -\uffff]/

const SINGLE: readonly TextEncoding[] = ['latin1', 'utf8']
const WIDE: readonly TextEncoding[] = ['utf16le', 'utf16be']

/** How a provider may read the bytes; the likely ones, and those that keep every byte, come first. */
function* readingsOf(bytes: Buffer): Generator<Reading> {
  const utf8: Reading = { encoding: 'utf8', isWithoutZeros: false, text: bytes.toString() }
  const isValidUtf8 = isUtf8(bytes)
  if (isValidUtf8 && !CONTROL.test(utf8.text)) {
    yield utf8
    return
  }
  const hasZeros = bytes.includes(0)
  const single = SINGLE.filter((encoding) => encoding === 'utf8' || !isValidUtf8)
  const encodings = hasUtf16Mark(bytes) || hasZeros ? [...WIDE, ...single] : [...single, ...WIDE]
  for (const encoding of encodings)
    yield encoding === 'utf8' ? utf8 : { encoding, isWithoutZeros: false, text: decodeText(bytes, encoding) }
  if (!hasZeros) return
  const letters = withoutByte(bytes, 0)
  for (const encoding of single) yield { encoding, isWithoutZeros: true, text: decodeText(letters, encoding) }
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

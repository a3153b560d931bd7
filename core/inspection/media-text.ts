import { isUtf8 } from 'node:buffer'
import { decodePercent, parseDataUrl } from './data-url.ts'

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
function rewriteTextFile(forms: readonly string[], rewrite: RewriteText): string | undefined {
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
function withoutCharacters(text: string, ascii: string): string {
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

function hasUtf16Mark(bytes: Buffer): boolean {
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

/** Servers decode a URL once, and some that pass it on once more. */
const MAX_DECODINGS = 3

/**
 * Rewrites a URL that a provider fetches, as it stands and percent-decoded. A URL whose decoded form
 * changes is encoded again.
 */
export function rewriteUrl(url: string, rewrite: (text: string) => string): string {
  let rewritten = rewrite(url)
  if (!ENCODED.test(url)) return rewritten
  for (const decoded of decodedForms(url)) {
    const text = rewrite(decoded)
    if (text !== decoded) rewritten = encodeURI(text.toWellFormed())
  }
  return rewritten
}

const ENCODED = /%[\da-f]{2}|\+/i

function decodedForms(url: string): readonly string[] {
  const forms: string[] = []
  // In a query, `+` is a space for most servers.
  for (const form of url.includes('+') ? [url, url.replaceAll('+', ' ')] : [url]) {
    let decoded = form
    for (let round = 0; round < MAX_DECODINGS; round++) {
      const next = decodePercent(decoded, 'utf8')
      if (next === decoded) break
      decoded = next
      forms.push(decoded)
    }
    if (form !== url && decoded === form) forms.push(form)
  }
  return forms
}

type RewriteText = (text: string) => string

/**
 * Rewrites a media value: a URL, a `data:` URL or base64. A text file is decoded, rewritten and encoded
 * again. Binary media is returned unchanged. Anything else is rewritten as text.
 */
export function rewriteMedia(value: string, rewrite: RewriteText): string {
  const file = openFile(value)
  if (file === undefined) return rewriteUrl(value, rewrite)
  const isMedia = isBinary(file) && isPlausibleBase64(file.base64)
  if (!isMedia && isShortBase64(file)) {
    const rewrittenValue = rewrite(value)
    if (rewrittenValue !== value) return rewrittenValue
  }
  const head = isKnownHead(file.head) ? file.head : rewriteUrl(file.head, rewrite)
  const unchanged = head === file.head ? value : head + value.slice(file.head.length)
  if (isMedia) return unchanged
  if (isBinary(file)) return rewrite(value)
  const rewritten = rewriteTextFile(formsOf(file), rewrite)
  if (rewritten !== undefined) return toBase64Head(head) + rewritten
  // Decoders skip what is not base64, so readable text between it is inspected, too.
  return (head === '' ? /\s/ : /[ \t]/).test(file.base64) ? rewrite(unchanged) : unchanged
}

/** Whether the value is binary media, which rules do not inspect. */
export function isBinaryMedia(value: string): boolean {
  const file = openFile(value)
  return file !== undefined && isBinary(file) && isPlausibleBase64(file.base64)
}

interface MediaFile {
  /** A `data:` URL up to its comma; empty for plain base64. */
  readonly head: string
  readonly mediaType: string
  readonly base64: string
  /** The data in base64 as other decoders read it. */
  readonly others?: readonly string[]
}

/** The base64 in each form that a provider may decode. `length`: how much of it. */
function formsOf({ base64, others = [] }: MediaFile, length?: number): readonly string[] {
  const forms = [base64, ...others].map((form) => form.slice(0, length))
  const skipping = withoutSkipped(forms.at(-1) ?? '')
  return skipping === undefined ? forms : [...forms, skipping]
}

/** What Python's decoder reads; others read `-` and `_` as `+` and `/`. Undefined if that is the same. */
function withoutSkipped(base64: string): string | undefined {
  return /[%_-]/.test(base64) ? withoutCharacters(base64, '%_-') : undefined
}

/** Undefined if the value is neither a `data:` URL nor base64. */
function openFile(value: string): MediaFile | undefined {
  const url = parseDataUrl(value)
  if (url !== undefined) {
    const comma = value.indexOf(',')
    const head = value.slice(0, comma + 1)
    return { ...url, head, others: otherReadings(head, value.slice(comma + 1)) }
  }
  const isBase64 = isPlausibleBase64(value) || SHORT_BASE64.test(value)
  return isBase64 ? { head: '', mediaType: '', base64: value } : undefined
}

/**
 * Some decoders skip `%` in base64. Decoders do not agree either on data whose head names `base64` in
 * another place than the last one.
 */
function otherReadings(head: string, data: string): readonly string[] {
  const isLast = BASE64_HEAD.test(head)
  if (isLast && data.includes('%')) return [data]
  if (isLast || !/base64/i.test(decodePercent(head + data.slice(0, MAX_HEAD_LENGTH), 'utf8'))) return []
  // A comma in quotes may belong to the head.
  const comma = data.slice(0, MAX_HEAD_LENGTH).lastIndexOf(',')
  return [data, decodePercent(data, 'base64'), data.slice(comma + 1)]
}

const BASE64_HEAD = /;\s*base64\s*,$/i
const MAX_HEAD_LENGTH = 500

/** A word may look like base64, so it is also inspected as it stands. */
function isShortBase64({ head, base64 }: MediaFile): boolean {
  return head === '' && SHORT_BASE64.test(base64)
}

const SHORT_BASE64 = /^[A-Za-z0-9+/_-]{4,127}={0,2}$/

/** Checks the first characters only, because media can have megabytes. */
function isPlausibleBase64(value: string): boolean {
  return BASE64_START.test(value.slice(0, 200).replace(/[\r\n]+/g, '')) && !value.includes(' ')
}

const BASE64_START = /^[A-Za-z0-9+/_-]{4,}(?:={0,2}$|(?<=.{128}))/

/** The usual heads are exempt, so that a rule about the word "image" does not refuse every image. */
function isKnownHead(head: string): boolean {
  return head === '' || KNOWN_HEAD.test(head)
}

const KNOWN_TYPES = [
  'image/(?:png|jpe?g|gif|webp|svg\\+xml|heic|heif|bmp|tiff)',
  'audio/(?:wav|x-wav|mpeg|mp3|mp4|aac|ogg|flac|webm)',
  'video/(?:mp4|mpeg|webm|quicktime)',
  'application/(?:pdf|json|xml|octet-stream)',
  'text/(?:plain|csv|html|markdown|xml|css|javascript)',
]

const KNOWN_HEAD = new RegExp(
  `^data:(?:${KNOWN_TYPES.join('|')})?(?:;charset=(?:utf-8|us-ascii|iso-8859-1))?(?:;base64)?,$`,
  'i',
)

/**
 * A percent-encoded URL becomes base64 when its text changes, and a head that is read in several ways a
 * plain one.
 */
function toBase64Head(head: string): string {
  if (head === '' || /;base64,$/i.test(head)) return head
  const plain = /base64|["%]/i.test(head) ? head.replace(/;.*/s, ',') : head
  return `${plain.slice(0, -1)};base64,`
}

/** Characters of base64 that decide whether a file is text: 66 bytes. */
const SNIFFED_CHARS = 88

/**
 * Whether a file is in a binary format. A control character alone proves nothing: a provider that reads the
 * file as text would read what follows it.
 */
function isBinary(file: MediaFile): boolean {
  const { mediaType } = file
  if (mediaType !== '' && !BINARY_TYPE.test(mediaType)) return false
  const starts = formsOf(file, SNIFFED_CHARS)
  return starts.every((start) => isBinaryStart(mediaType, Buffer.from(start, 'base64')))
}

function isBinaryStart(mediaType: string, start: Buffer): boolean {
  if (looksLikeText(start) || hasUtf16Mark(start)) return false
  return /^(?:image|audio|video)\//.test(mediaType) || SIGNATURE.test(start.toString('latin1'))
}

/** Files of other types are text, however they begin. So are SVG images. */
const BINARY_TYPE = new RegExp(
  [
    '^(?:image|audio|video)/(?!.*(?:xml|json)$)',
    '^application/(?:octet-stream|pdf|msword|vnd\\.(?:ms-|openxmlformats-|oasis\\.)[\\w.-]+)$',
    '^application/(?:(?:x-)?(?:zip|gzip|zip-compressed|7z-compressed|rar-compressed)|epub\\+zip)$',
  ].join('|'),
)

/** How files of the usual formats begin, in Latin-1. */
const SIGNATURE = new RegExp(
  `^(?:${[
    ...['%PDF', 'PK\\x03\\x04', '\\xd0\\xcf\\x11\\xe0', '\\x1f\\x8b\\x08', '7z\\xbc\\xaf', 'Rar!'],
    ...['\\x89PNG', '\\xff\\xd8\\xff', 'GIF8', 'BM.{4}\\0{4}', 'II\\*\\0', 'MM\\0\\*', '\\0\\0\\x01\\0'],
    ...['RIFF', 'ID3', '\\xff[\\xf1-\\xf3\\xf9-\\xfb]', 'OggS', 'fLaC'],
    ...['\\x1aE\\xdf\\xa3', '\\0\\0\\x01[\\xb3\\xba]'],
    // MP4, and the formats made from it, have a length in front.
    '.{4}ftyp',
  ].join('|')})`,
  's',
)

/** Whether the first bytes are those of a text: no control characters, and no PDF. */
function looksLikeText(start: Buffer): boolean {
  if (start.length === 0 || start.subarray(0, 5).toString('latin1') === '%PDF-') return false
  return start.every((byte) => byte >= 0x20 || (byte >= 0x09 && byte <= 0x0d) || byte === 0x1b)
}

import { parseDataUrl } from './data-url.ts'

type RewriteText = (text: string) => string

/** How the bytes of a text file are decoded, so that encoding them again gives the same bytes. */
type TextEncoding = 'utf8' | 'utf16le' | 'utf16be' | 'latin1'

/**
 * Rewrites a media value: a URL, a `data:` URL or base64. A text file is decoded, rewritten and encoded
 * again. Binary media is returned unchanged. Anything else is rewritten as text.
 */
export function rewriteMedia(value: string, rewrite: RewriteText): string {
  const file = openFile(value)
  if (file === undefined) return rewrite(value)
  if (isShortBase64(file)) {
    const rewrittenValue = rewrite(value)
    if (rewrittenValue !== value) return rewrittenValue
  }
  const head = isKnownHead(file.head) ? file.head : rewrite(file.head)
  const encoding = detectTextEncoding(file)
  const unchanged = head === file.head ? value : head + value.slice(file.head.length)
  if (encoding === undefined) return isPlausibleBase64(file.base64) ? unchanged : rewrite(value)
  const text = decodeText(Buffer.from(file.base64, 'base64'), encoding)
  const rewritten = rewriteDecoded(text, rewrite)
  // Decoders skip what is not base64, so readable text between it is inspected, too.
  if (rewritten === text) return file.base64.includes(' ') ? rewrite(unchanged) : unchanged
  // A replacement may hold characters that Latin-1 does not have.
  const target = encoding === 'latin1' ? 'utf8' : encoding
  return toBase64Head(head) + encodeText(rewritten, target).toString('base64')
}

/** In UTF-16 without a byte order mark, zero bytes stand between the letters: models read across them. */
function rewriteDecoded(text: string, rewrite: RewriteText): string {
  const rewritten = rewrite(text)
  if (rewritten !== text || !text.includes('\0')) return rewritten
  const letters = text.replaceAll('\0', '')
  const rewrittenLetters = rewrite(letters)
  return rewrittenLetters === letters ? text : rewrittenLetters
}

function decodeText(bytes: Buffer, encoding: TextEncoding): string {
  if (encoding !== 'utf16be') return bytes.toString(encoding)
  // Swapping takes pairs of bytes.
  return bytes
    .subarray(0, bytes.length & ~1)
    .swap16()
    .toString('utf16le')
}

function encodeText(text: string, encoding: TextEncoding): Buffer {
  return encoding === 'utf16be' ? Buffer.from(text, 'utf16le').swap16() : Buffer.from(text, encoding)
}

/** Whether the value is binary media, which rules do not inspect. */
export function isBinaryMedia(value: string): boolean {
  const file = openFile(value)
  return file !== undefined && detectTextEncoding(file) === undefined && isPlausibleBase64(file.base64)
}

interface MediaFile {
  /** A `data:` URL up to its comma; empty for plain base64. */
  readonly head: string
  readonly mediaType: string
  readonly base64: string
}

/** Undefined if the value is neither a `data:` URL nor base64. */
function openFile(value: string): MediaFile | undefined {
  const url = parseDataUrl(value)
  if (url !== undefined) return { ...url, head: value.slice(0, value.indexOf(',') + 1) }
  const isBase64 = isPlausibleBase64(value) || SHORT_BASE64.test(value)
  return isBase64 ? { head: '', mediaType: '', base64: value } : undefined
}

/** A word may look like base64, so it is also inspected as it stands. */
function isShortBase64({ head, base64 }: MediaFile): boolean {
  return head === '' && SHORT_BASE64.test(base64)
}

const SHORT_BASE64 = /^[A-Za-z0-9+/_-]{4,127}={0,2}$/

/** Checks the first characters only, because media can have megabytes. A short word is not media. */
function isPlausibleBase64(value: string): boolean {
  return BASE64_START.test(value) && !value.includes(' ')
}

const BASE64_START = /^[A-Za-z0-9+/_-]{128}/

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

/** A percent-encoded URL becomes base64 when its text changes. */
function toBase64Head(head: string): string {
  return head === '' || /;base64,$/i.test(head) ? head : `${head.slice(0, -1)};base64,`
}

/** Bytes that decide whether a file is text. */
const SNIFFED_BYTES = 66

/** Undefined for a binary file. */
function detectTextEncoding({ mediaType, base64 }: MediaFile): TextEncoding | undefined {
  const start = Buffer.from(base64.slice(0, (SNIFFED_BYTES / 3) * 4), 'base64')
  if (start[0] === 0xff && start[1] === 0xfe) return 'utf16le'
  if (start[0] === 0xfe && start[1] === 0xff) return 'utf16be'
  if (!isDeclaredText(mediaType) && isBinary(mediaType, start)) return undefined
  const bytes = Buffer.from(base64, 'base64')
  return isUtf8(bytes) ? 'utf8' : 'latin1'
}

/**
 * Whether a file is in a binary format. A control character alone proves nothing: a provider that reads the
 * file as text would read what follows it.
 */
function isBinary(mediaType: string, start: Buffer): boolean {
  if (looksLikeText(start)) return false
  return /^(?:image|audio|video)\//.test(mediaType) || hasSignature(start.toString('hex'))
}

/** How files of the usual formats begin, in hexadecimal digits. */
const SIGNATURES: readonly string[] = [
  ...['25504446', '504b0304', 'd0cf11e0', '1f8b', '377abcaf', '52617221'], // PDF, documents, archives
  ...['89504e47', 'ffd8ff', '47494638', '424d', '49492a00', '4d4d002a', '00000100'], // images
  ...['52494646', '494433', 'fff1', 'fff2', 'fff3', 'fff9', 'fffa', 'fffb', '4f676753', '664c6143'], // audio
  ...['1a45dfa3', '000001ba', '000001b3'], // video
]

function hasSignature(hex: string): boolean {
  // MP4, and the formats made from it, have a length in front.
  return SIGNATURES.some((signature) => hex.startsWith(signature)) || hex.startsWith('66747970', 8)
}

function isDeclaredText(mediaType: string): boolean {
  return mediaType.startsWith('text/') || /^application\/(?:[\w.-]+\+)?(?:json|xml)$/.test(mediaType)
}

/** Whether the first bytes are those of a text: no control characters, and no PDF. */
function looksLikeText(start: Buffer): boolean {
  if (start.length === 0 || start.subarray(0, 5).toString('latin1') === '%PDF-') return false
  return start.every((byte) => byte >= 0x20 || (byte >= 0x09 && byte <= 0x0d) || byte === 0x1b)
}

function isUtf8(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}

import { decodePercent, parseDataUrl } from './data-url.ts'
import { hasUtf16Mark, rewriteTextFile, withoutCharacters } from './text-file.ts'
import { rewriteUrl } from './url-text.ts'

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

import { isJsonObject, type JsonObject } from '../contract/json.ts'
import type { Tokenizer } from './text-tokens.ts'

interface Size {
  readonly width: number
  readonly height: number
}

/** Larger than the limit of every provider: for images whose size is not known, such as those by URL. */
const UNKNOWN_SIZE: Size = { width: 10_000, height: 10_000 }

/**
 * Tokens of an `image_url` part, by the formulas that the providers publish (docs/guides/costs.md,
 * "Estimates"). The
 * size is read from the first bytes of a data URL.
 */
export function imageTokens({ image_url }: JsonObject, tokenizer: Tokenizer, model: string): number {
  const { url, detail } = isJsonObject(image_url) ? image_url : { url: image_url, detail: undefined }
  const size = (typeof url === 'string' ? readImageSize(url) : undefined) ?? UNKNOWN_SIZE
  return IMAGE_FORMULAS[tokenizer](size, model, detail)
}

/** Tokens of an image block of Anthropic's format. */
export function imageBlockTokens({ source }: JsonObject, tokenizer: Tokenizer, model: string): number {
  const { media_type, data, url } = isJsonObject(source) ? source : {}
  return imageTokens(
    { image_url: data === undefined ? url : `data:${media_type};base64,${data}` },
    tokenizer,
    model,
  )
}

const IMAGE_FORMULAS: Readonly<Record<Tokenizer, (size: Size, model: string, detail: unknown) => number>> = {
  // https://platform.openai.com/docs/guides/images-vision#calculating-costs
  o200k: (size, model, detail) =>
    PATCH_MODELS.test(model) ? patchTokens(size, model) : tileTokens(size, detail),
  // https://docs.claude.com/en/docs/build-with-claude/vision#calculate-image-costs
  claude: (size, model) => {
    const isLarge = LARGE_IMAGE_MODELS.test(model)
    const { width, height } = fitWithin(size, isLarge ? 2576 : 1568)
    return Math.min(isLarge ? 4784 : 1600, Math.ceil((width * height) / 750))
  },
  // https://ai.google.dev/gemini-api/docs/tokens#multimodal-tokens
  gemini: ({ width, height }, model) => {
    if (!/gemini-[12]/.test(model)) return 1120
    if (width <= 384 && height <= 384) return 258
    const unit = Math.min(768, Math.max(256, Math.floor(Math.min(width, height) / 1.5)))
    const { width: w, height: h } = fitWithin({ width, height }, 3072)
    return 258 * Math.ceil(w / unit) * Math.ceil(h / unit)
  },
  // https://docs.mistral.ai/capabilities/vision
  mistral: (size) => countPatches(fitWithin(size, 1540), 28),
  deepseek: (size) => countPatches(fitWithin(size, 1024), 28),
}

/** Models that count squares of 32 pixels; others count tiles of 512. */
const PATCH_MODELS = /gpt-5-(mini|nano)|gpt-4\.1-(mini|nano)|o4-mini|gpt-5\.\d|gpt-([6-9]|\d\d)/
const LARGE_IMAGE_MODELS = /claude-(opus-4-[7-9]|[a-z]+-([5-9]|\d\d))/

function patchTokens(size: Size, model: string): number {
  const most = /gpt-5\.[4-9]|gpt-([6-9]|\d\d)/.test(model) ? 2500 : 1536
  const factor = /nano/.test(model) ? 2.46 : /o4-mini/.test(model) ? 1.72 : /mini/.test(model) ? 1.62 : 1
  return Math.ceil(factor * Math.min(most, countPatches(size, 32)))
}

function tileTokens(size: Size, detail: unknown): number {
  if (detail === 'low') return 85
  const { width, height } = fitWithin(size, 2048)
  const scale = Math.min(1, 768 / Math.min(width, height))
  return 85 + 170 * countPatches({ width: width * scale, height: height * scale }, 512)
}

function countPatches({ width, height }: Size, side: number): number {
  return Math.ceil(width / side) * Math.ceil(height / side)
}

function fitWithin({ width, height }: Size, side: number): Size {
  const scale = Math.min(1, side / Math.max(width, height))
  return { width: width * scale, height: height * scale }
}

/** Enough for the sizes of most JPEGs, whose metadata comes first. */
const MAX_HEADER_CHARACTERS = 128 * 1024

/** Reads the size of a PNG, GIF, WebP or JPEG from a data URL. Undefined for anything else. */
export function readImageSize(url: string): Size | undefined {
  const comma = url.startsWith('data:') ? url.indexOf(',') : -1
  if (comma === -1) return undefined
  const start = comma + 1
  const first = Buffer.from(url.slice(start, start + 64), 'base64')
  if (first.length < 30) return undefined
  if (first.readUInt32BE(0) === 0x89504e47) return toSize(first.readUInt32BE(16), first.readUInt32BE(20))
  const name = first.toString('latin1', 0, 16)
  if (name.startsWith('GIF8')) return toSize(first.readUInt16LE(6), first.readUInt16LE(8))
  if (name.startsWith('RIFF') && name.startsWith('WEBP', 8)) return webpSize(first)
  if (first.readUInt16BE(0) !== 0xffd8) return undefined
  return jpegSize(Buffer.from(url.slice(start, start + MAX_HEADER_CHARACTERS), 'base64'))
}

function toSize(width: number, height: number): Size | undefined {
  return width > 0 && height > 0 ? { width, height } : undefined
}

function webpSize(bytes: Buffer): Size | undefined {
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return toSize(bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff)
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21)
      return toSize((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1)
    }
    case 'VP8X':
      return toSize(bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1)
    default:
      return undefined
  }
}

/** Walks from segment to segment up to the frame, which has the size. */
function jpegSize(bytes: Buffer): Size | undefined {
  for (let at = 2; at + 9 < bytes.length && bytes[at] === 0xff; ) {
    const marker = bytes[at + 1] ?? 0
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return toSize(bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5))
    at += 2 + bytes.readUInt16BE(at + 2)
  }
  return undefined
}

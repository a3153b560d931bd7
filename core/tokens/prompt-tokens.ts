import {
  type ChatRequest,
  type ContentPart,
  isJsonObject,
  type JsonObject,
  type Message,
  type Model,
  type Operation,
  type Target,
  TokenIds,
} from '../contract/index.ts'
import {
  estimateScriptTokens,
  estimateTextTokens,
  type ScriptTokens,
  type Tokenizer,
  tokenizerOf,
  tokensOfScripts,
} from './text-tokens.ts'

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
function imageTokens({ image_url }: JsonObject, tokenizer: Tokenizer, model: string): number {
  const { url, detail } = isJsonObject(image_url) ? image_url : { url: image_url, detail: undefined }
  const size = (typeof url === 'string' ? readImageSize(url) : undefined) ?? UNKNOWN_SIZE
  return IMAGE_FORMULAS[tokenizer](size, model, detail)
}

/** Tokens of an image block of Anthropic's format. */
function imageBlockTokens({ source }: JsonObject, tokenizer: Tokenizer, model: string): number {
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

/** For a model without a catalogue entry and a request without a limit. */
const UNKNOWN_MODEL = { context: 2_000_000, max_output: 16_384 }

/** Tokens that Anthropic's adapter may add to the limit of a request for thinking. */
const THINKING_TOKENS = 63_000

/** What a file, audio or video counts as where no upper bound is needed: its tokens are not known before. */
const TYPICAL_FILE_TOKENS = 5000

/**
 * What providers add to the texts of a request: for each request, message, request with tools, tool, property
 * of its schema, and description. Measured by ai-tokenizer 1.0 from replies of the providers.
 */
const OVERHEADS: Readonly<Record<Tokenizer, Overhead>> = {
  o200k: { request: 3, message: 4, tools: 18, tool: 6, property: 3, description: 2 },
  claude: { request: 6, message: 2, tools: 400, tool: 53, property: 12, description: 5 },
  gemini: { request: 0, message: 0, tools: 0, tool: 0, property: 2, description: 0 },
  mistral: { request: 2, message: 2, tools: 60, tool: 57, property: 11, description: 1 },
  deepseek: { request: 4, message: 2, tools: 143, tool: 50, property: 11, description: 0 },
}

interface Overhead {
  readonly request: number
  readonly message: number
  readonly tools: number
  readonly tool: number
  readonly property: number
  readonly description: number
}

/**
 * The tokens of a prompt, for each model that may get it. See docs/decisions/limits.md, "What a request may
 * use".
 */
export class PromptTokens {
  /** Everything that a model reads as text. */
  readonly texts: string[] = []
  readonly #request: ChatRequest
  readonly #operation: Operation
  readonly #images: ((tokenizer: Tokenizer, model: string) => number)[] = []
  /** Files, and tools that the provider runs: what they add to the prompt is not known before. */
  #unknownParts = 0
  #tokenIds = 0
  #properties = 0
  #descriptions = 0
  #scripts: ScriptTokens | undefined

  constructor(request: ChatRequest, operation: Operation = 'chat') {
    this.#request = request
    this.#operation = operation
    for (const message of request.messages) this.#addMessage(message)
    for (const tool of request.tools ?? []) this.#addSchema(tool)
    if (request.response_format?.json_schema !== undefined)
      this.#addSchema(request.response_format.json_schema)
    if (runsProviderTools(request)) this.#unknownParts++
  }

  /**
   * Estimates the tokens for a model, with `unknown` for each file. `textTokens`: the tokens of the texts in
   * o200k, if they have been counted.
   */
  of(model = '', unknown: number = TYPICAL_FILE_TOKENS, textTokens?: number): number {
    const tokenizer = tokenizerOf(model)
    const { request, message, tools, tool, property, description } = OVERHEADS[tokenizer]
    const toolCount = this.#request.tools?.length ?? 0
    let tokens = this.#tokenIds
    // Texts to embed or to judge are sent as they are.
    if (this.#operation === 'chat') tokens += request + this.#request.messages.length * message
    tokens += this.#textTokens(tokenizer, textTokens)
    if (toolCount > 0) tokens += tools + toolCount * tool
    tokens += this.#properties * property + this.#descriptions * description
    for (const image of this.#images) tokens += image(tokenizer, model)
    return Math.ceil(this.#unknownParts === 0 ? tokens : tokens + this.#unknownParts * unknown)
  }

  #textTokens(tokenizer: Tokenizer, counted: number | undefined): number {
    this.#scripts ??= estimateScriptTokens(this.texts)
    const estimate = tokensOfScripts(this.#scripts, tokenizer)
    if (counted === undefined || estimate === 0) return estimate
    return (counted * estimate) / tokensOfScripts(this.#scripts, 'o200k')
  }

  #addMessage(message: Message): void {
    const { content, tool_calls } = message
    this.#addText(content)
    for (const field of MESSAGE_TEXTS) this.#addText(message[field])
    if (Array.isArray(content)) for (const part of content) this.#addPart(part)
    for (const { function: called, custom } of tool_calls ?? []) {
      this.#addText(called?.name)
      this.#addText(called?.arguments)
      if (custom !== undefined) this.#addSchema(custom)
    }
  }

  #addPart(part: ContentPart): void {
    const block = part.type === 'extra_content' ? part.extra_content?.anthropic : undefined
    if (block !== undefined) {
      if (TEXT_BLOCKS.has(block.type)) this.#addJson(block)
      else if (block.type === 'image')
        this.#images.push((tokenizer, model) => imageBlockTokens(block, tokenizer, model))
      else this.#unknownParts++
    } else if (part.token_ids instanceof TokenIds) this.#tokenIds += part.token_ids.length
    else if (part.type === 'image_url')
      this.#images.push((tokenizer, model) => imageTokens(part, tokenizer, model))
    else if (FILE_PARTS.has(part.type)) this.#unknownParts++
    else {
      this.#addText(part.text)
      this.#addText(part.refusal)
    }
  }

  #addText(text: unknown): void {
    if (typeof text === 'string' && text !== '') this.texts.push(text)
  }

  /** Adds the strings of a block of Anthropic's format, without the names of its fields. */
  #addJson(value: unknown): void {
    if (typeof value === 'string') this.#addText(value)
    else if (Array.isArray(value)) for (const item of value) this.#addJson(item)
    else if (isJsonObject(value))
      for (const name in value)
        if (name === 'input') this.#addText(JSON.stringify(value[name]))
        else if (!UNREAD_FIELDS.has(name)) this.#addJson(value[name])
  }

  /** Adds the values of a tool or a schema, without the names of keywords. Counts the properties. */
  #addSchema(value: unknown): void {
    if (typeof value === 'string') this.#addText(value)
    else if (typeof value === 'number') this.#addText(String(value))
    else if (Array.isArray(value)) for (const item of value) this.#addSchema(item)
    else if (isJsonObject(value)) {
      for (const name in value) {
        const field = value[name]
        if (NAMED_SCHEMAS.has(name) && isJsonObject(field)) this.#addProperties(field)
        else {
          if (name === 'description') this.#descriptions++
          if (name.length > MAX_KEYWORD_CHARACTERS) this.#addText(name)
          this.#addSchema(field)
        }
      }
    }
  }

  #addProperties(properties: JsonObject): void {
    for (const name in properties) {
      this.#properties++
      this.#addText(name)
      this.#addSchema(properties[name])
    }
  }
}

/** Texts of a message besides its content, by the providers that read them. */
const MESSAGE_TEXTS = ['reasoning_content', 'reasoning', 'refusal', 'name'] as const

/** Fields of schemas that hold schemas by name. */
const NAMED_SCHEMAS: ReadonlySet<string> = new Set([
  'properties',
  '$defs',
  'definitions',
  'patternProperties',
])

/** Longer names are none of JSON Schema, but texts of the caller. */
const MAX_KEYWORD_CHARACTERS = 'unevaluatedProperties'.length

/** Fields that models do not read: signatures and encrypted content. */
const UNREAD_FIELDS = new Set([
  'signature',
  'encrypted_content',
  'data',
  'cache_control',
  'tool_use_id',
  'id',
])

/** Blocks of Anthropic's format that hold all of their content; others may refer to files. */
const TEXT_BLOCKS: ReadonlySet<unknown> = new Set([
  ...['text', 'thinking', 'redacted_thinking', 'tool_use', 'server_tool_use', 'search_result'],
  ...['web_search_tool_result', 'web_fetch_tool_result'],
])

const FILE_PARTS = new Set(['file', 'input_audio', 'video_url', 'document'])

/** Whether the provider runs tools of its own, such as a web search, while it answers. */
function runsProviderTools({ tools, extra_content }: Partial<ChatRequest>): boolean {
  const fields = extra_content?.anthropic?.fields
  const hasServers = isJsonObject(fields) && (fields.mcp_servers != null || fields.container != null)
  return hasServers || (tools ?? []).some(({ type }) => type === 'extra_content')
}

type ModelLimits = Pick<Model, 'context' | 'max_output'> & Partial<Pick<Model, 'quirks'>>

/**
 * Returns the tokens to reserve for the prompt: at most the context of the model, which reads each message by
 * itself unless it chats.
 */
export function promptTokensOf(
  prompt: PromptTokens,
  { messages }: Pick<ChatRequest, 'messages'>,
  { model, entry = UNKNOWN_MODEL }: { readonly model: string; readonly entry?: Pick<ModelLimits, 'context'> },
  operation: Operation = 'chat',
  unknown?: number,
): number {
  const count = operation === 'chat' ? 1 : messages.length
  return Math.min(prompt.of(model, unknown), entry.context * count)
}

/** Estimates the input tokens of a request as the target counts them. */
export function estimateInputTokens(
  request: ChatRequest,
  target?: Pick<Target, 'model'>,
  operation?: Operation,
): number {
  return new PromptTokens(request, operation).of(target?.model)
}

/** Returns the most tokens that the reply can have: the limit of the request, or else that of the model. */
export function maxReplyTokens(
  request: ChatRequest,
  model: ModelLimits = UNKNOWN_MODEL,
  operation: Operation = 'chat',
): number {
  // Vectors and scores are not made of tokens.
  if (operation !== 'chat') return 0
  const { max_completion_tokens, max_tokens, reasoning_effort } = request
  const limit = max_completion_tokens ?? max_tokens
  const predicted = isJsonObject(request.prediction) ? predictedTokens(request.prediction) : 0
  if (limit == null) return model.max_output + predicted
  const addsThinking = model.quirks?.thinking === 'budget' && reasoning_effort != null
  const most = limit + (addsThinking ? THINKING_TOKENS : 0)
  return (model === UNKNOWN_MODEL ? most : Math.min(most, model.max_output)) + predicted
}

/** Tokens of a prediction are billed as output even where the reply is another one. */
function predictedTokens({ content }: JsonObject): number {
  const texts = Array.isArray(content)
    ? content.map((part) => (isJsonObject(part) ? part.text : ''))
    : [content]
  return estimateTextTokens(texts.filter((text) => typeof text === 'string').join(''))
}

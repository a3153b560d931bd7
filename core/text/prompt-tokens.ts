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
import { imageBlockTokens, imageTokens } from './image-tokens.ts'
import {
  estimateScriptTokens,
  estimateTextTokens,
  type ScriptTokens,
  type Tokenizer,
  tokenizerOf,
  tokensOfScripts,
} from './text-tokens.ts'

/** For a model without a catalogue entry and a request without a limit. */
const UNKNOWN_MODEL = { context: 2_000_000, max_output: 16_384 }

/** Tokens that Anthropic's adapter may add to the limit of a request for thinking. */
const THINKING_TOKENS = 63_000

/** What a file, audio or video counts as where no upper bound is needed: its tokens are not known before. */
export const TYPICAL_FILE_TOKENS = 5000

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
export function runsProviderTools({ tools, extra_content }: Partial<ChatRequest>): boolean {
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

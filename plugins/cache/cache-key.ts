import { hash } from 'node:crypto'
import {
  type Exchange,
  isJsonObject,
  type JsonObject,
  type Message,
  type Tool,
} from '../../core/contract/index.ts'
import { hasTokenIds } from '../../core/inspection/request-texts.ts'

/**
 * Fields of a request that do not change the reply: how it is delivered, who asks, and what the provider does
 * with it beside answering. `model` is in the key as the route.
 */
const IRRELEVANT_FIELDS: ReadonlySet<string> = new Set([
  ...['model', 'stream', 'stream_options'],
  ...['user', 'metadata', 'safety_identifier'],
  ...['store', 'service_tier', 'prompt_cache_key', 'prompt_cache_retention'],
])

/** The same of what only Anthropic's API has. Marks of its own cache change what a request costs. */
const IRRELEVANT_TO_ANTHROPIC: ReadonlySet<string> = new Set(['metadata', 'service_tier', 'cache_control'])

/** The version of Anthropic's API that every client names. */
const USUAL_VERSION = '2023-06-01'

/** Longer requests are not cached: hashing them would hold up others. In characters. */
const MAX_REQUEST_LENGTH = 2_000_000

/**
 * Returns the key of a request: the hash of the request as it would be sent, where it would be sent, and the
 * caller. Undefined for a request that is too long, or has token ids in place of texts. See
 * docs/decisions/cache.md, "The key is what would be sent, where, and for whom".
 */
export function buildCacheKey(exchange: Exchange, isShared: boolean): string | undefined {
  const { account, request, operation } = exchange
  if (hasTokenIds(request)) return undefined
  const { messages, tools, extra_content, max_tokens, max_completion_tokens } = request
  const relevant = {
    ...request,
    messages: messages.map(withoutMarks),
    tools: tools?.map(withoutMarks),
    extra_content: relevantExtra(extra_content),
    max_tokens: max_completion_tokens ?? max_tokens,
    max_completion_tokens: undefined,
  }
  const fields = Object.entries(relevant).filter(
    ([name, value]) => value != null && !IRRELEVANT_FIELDS.has(name),
  )
  const text = stringifySorted([
    ...(operation ? [operation] : []),
    describeRoute(exchange),
    Object.fromEntries(fields),
  ])
  if (text.length > MAX_REQUEST_LENGTH) return undefined
  const scope = isShared ? 'shared' : `user-${account.userId}`
  return `${scope}:${hash('sha256', text, 'base64url')}`
}

/** A message or tool without marks of Anthropic's cache, which any part of it may have. */
function withoutMarks(value: Message | Tool | JsonObject): JsonObject {
  const { cache_control, content, ...rest } = value as JsonObject
  const extra_content = relevantExtra(rest.extra_content)
  return {
    ...rest,
    ...(content !== undefined && {
      content: Array.isArray(content) ? withoutMarksOfParts(content) : content,
    }),
    extra_content,
  }
}

/** A list of one text is that text. */
function withoutMarksOfParts(parts: readonly JsonObject[]): unknown {
  const marked = parts.map(withoutMarks)
  const [{ type, text, ...more } = {}] = marked
  const isText = marked.length === 1 && type === 'text' && Object.values(more).every((each) => each == null)
  return isText ? text : marked
}

/** What an `extra_content` holds that may change the reply; undefined if that is nothing. */
function relevantExtra(extra: unknown): unknown {
  if (!isJsonObject(extra) || !isJsonObject(extra.anthropic)) return extra
  const { version, fields, ...more } = withoutIrrelevant(extra.anthropic)
  const anthropic = {
    ...more,
    ...(version !== USUAL_VERSION && { version }),
    ...(isJsonObject(fields) ? withoutIrrelevant(fields) : {}),
  }
  const isEmpty = Object.values(anthropic).every((value) => value === undefined)
  const others = { ...extra, anthropic: isEmpty ? undefined : anthropic }
  return Object.values(others).every((value) => value === undefined) ? undefined : others
}

function withoutIrrelevant(value: JsonObject): JsonObject {
  const entries = Object.entries(value).filter(
    ([name, field]) => field != null && !IRRELEVANT_TO_ANTHROPIC.has(name),
  )
  return Object.fromEntries(entries)
}

/**
 * What the routing rules, the request and the catalogue decided, except the order of an automatic choice:
 * that follows the measured latency.
 */
function describeRoute({ route, requires, preferences }: Exchange): readonly unknown[] {
  if (route === undefined) return []
  const { isFixed, mode, targets } = route
  if (isFixed) {
    const [{ provider, model, alias = null }] = targets
    return [provider, model, alias, requires ?? null]
  }
  const candidates = route.candidates().map(({ provider, id }) => `${provider}/${id}`)
  return [mode, requires ?? null, preferences, candidates]
}

/** The JSON text of a value, with the keys of all objects in order. */
function stringifySorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(stringifySorted).join()}]`
  return isJsonObject(value) ? stringifyObject(value) : JSON.stringify(value)
}

function stringifyObject(object: JsonObject): string {
  let text = ''
  for (const name of Object.keys(object).sort()) {
    if (object[name] !== undefined) text += `,${JSON.stringify(name)}:${stringifySorted(object[name])}`
  }
  return `{${text.slice(1)}}`
}

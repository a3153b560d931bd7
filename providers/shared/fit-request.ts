import { createHash } from 'node:crypto'
import type { ChatRequest, Message } from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { ApiLimits, ParameterChange } from '../../core/contract/provider.ts'
import { fitNames } from './fit-names.ts'
import { fitResponseFormat, fitTools } from './fit-schemas.ts'

/** A request that an API accepts, and what was changed for it. */
export interface FittedRequest {
  readonly request: ChatRequest
  readonly changed: readonly ParameterChange[]
  /** The caller's names of tools by those that were sent, if any was replaced. */
  readonly renamed: ReadonlyMap<unknown, string> | undefined
}

/**
 * Adapts a request to the limits of an API (docs/providers.md, "Limits"). Returns the same request if it
 * keeps to them, which takes a look at each field, message and tool.
 */
export function fitRequest(request: ChatRequest, limits: ApiLimits): FittedRequest {
  const changed: ParameterChange[] = []
  const named = fitNames(request, limits)
  const messages = fitAuthors(named.request.messages, limits)
  const tools = fitTools(named.request, limits, changed)
  const format = fitResponseFormat(request, limits, changed)
  const fields = fitFields(request, limits, changed)
  const isSame = messages === named.request.messages && !tools && !format && !fields
  return {
    request: isSame ? named.request : { ...named.request, messages, ...tools, ...format, ...fields },
    changed,
    renamed: named.renamed,
  }
}

function fitAuthors(messages: readonly Message[], { authorNames }: ApiLimits): readonly Message[] {
  if (authorNames === undefined) return messages
  const { pattern, maxChars } = authorNames
  const isMisfit = ({ role, name }: Message) =>
    typeof name === 'string' && role !== 'tool' && !pattern.test(name)
  if (!messages.some(isMisfit)) return messages
  const toName = (name: unknown) =>
    String(name)
      .replace(/[^\w-]+/g, '_')
      .slice(0, maxChars) || undefined
  return messages.map((message) => (isMisfit(message) ? { ...message, name: toName(message.name) } : message))
}

const ID_FIELDS = ['user', 'safety_identifier', 'prompt_cache_key'] as const

/** The fields that are sent with another value; undefined if there are none. */
function fitFields(
  request: ChatRequest,
  limits: ApiLimits,
  changed: ParameterChange[],
): Partial<ChatRequest> | undefined {
  let fields: Record<string, unknown> | undefined
  const set = (param: string, to: unknown) => {
    fields ??= {}
    fields[param] = to
  }
  const change = (param: string, to: unknown, reason?: string) => {
    set(param, to)
    changed.push({ param, from: request[param], to, ...(reason && { reason }) })
  }
  const { stop, seed, metadata } = request
  const { ids, stops, seeds } = limits
  if (ids !== undefined)
    for (const field of ID_FIELDS) {
      const id = request[field]
      if (typeof id === 'string' && id !== '' && !ids.pattern.test(id)) set(field, hashId(id))
    }
  if (Array.isArray(stop)) {
    if (stop.length === 0) set('stop', undefined)
    else if (stops !== undefined && stop.length > stops) change('stop', stop.slice(0, stops))
  }
  if (seed != null && seeds !== undefined && (seed < seeds.min || seed > seeds.max))
    change('seed', mapInto(seed, seeds))
  if (request.store === true && limits.metadata !== undefined && metadata != null) {
    const kept = fitMetadata(metadata, limits.metadata)
    if (kept !== metadata) change('metadata', kept)
  }
  return fields
}

/** Returns the same id for the same user, without what it says. */
function hashId(id: string): string {
  return createHash('sha256').update(id).digest('base64url')
}

/** The same seed is always mapped to the same one. */
function mapInto(seed: number, { min, max }: NonNullable<ApiLimits['seeds']>): number {
  const size = max - min + 1
  return min + ((((seed - min) % size) + size) % size)
}

function fitMetadata(
  metadata: JsonObject,
  { entries, keyChars, valueChars }: NonNullable<ApiLimits['metadata']>,
): JsonObject {
  const all = Object.entries(metadata)
  const kept = all.filter(
    ([key, value]) => key.length <= keyChars && typeof value === 'string' && value.length <= valueChars,
  )
  if (kept.length === all.length && all.length <= entries) return metadata
  return Object.fromEntries(kept.slice(0, entries))
}

import { type ChatRequest, isJsonObject, type JsonObject, TokenIds } from '../contract/index.ts'
import { createCooperativeYield } from '../util/cooperative-yield.ts'
import {
  INSPECTED,
  type Inspection,
  inspectionOfItems,
  isExemptNumber,
  isExemptText,
  type ScalarRule,
} from './inspection.ts'
import {
  MAX_IMMEDIATE_JSON,
  type RewrittenDocuments,
  rewriteJsonText,
  rewriteLongJsonText,
} from './json-text.ts'
import { isBinaryMedia, rewriteMedia, rewriteUrl } from './media-text.ts'
import { REQUEST } from './request-inspection.ts'
import { visitTexts } from './visit-texts.ts'

/** Rewrites the inspected texts of a request. */
export interface TextRewriter {
  /** Returns the replacement of a text; the same text if it stays. */
  rewrite(text: string): string
  /** Called for a replacement that cannot be applied, such as a text in place of a numeric parameter. */
  refuse?(): void
  /** Called with each text that is a JSON document, after its parts were rewritten. */
  document?(source: string): void
  /** Long documents that were rewritten before, in time slices; by their source. */
  readonly rewrittenDocuments?: RewrittenDocuments
}

/**
 * Rewrites every text of a request that rules inspect; see `REQUEST`. Returns the same object if nothing
 * changed.
 */
export function mapRequest(request: ChatRequest, rewriter: TextRewriter): ChatRequest {
  // The cast is safe, because every field keeps its type: `refuse` is called for one that would not.
  return mapValue(request, REQUEST, rewriter) as ChatRequest
}

function mapValue(value: unknown, inspection: Inspection, rewriter: TextRewriter): unknown {
  switch (typeof value) {
    case 'string':
      return mapText(value, inspection.scalar, rewriter)
    case 'number':
      return mapNumber(value, inspection.scalar, rewriter)
    case 'object':
      if (inspection.scalar === 'unsent') return value
      if (Array.isArray(value)) return mapItems(value, inspection, rewriter)
      return isJsonObject(value) ? mapFields(value, inspection, rewriter) : value
    default:
      return value
  }
}

function mapItems(
  items: readonly unknown[],
  inspection: Inspection,
  rewriter: TextRewriter,
): readonly unknown[] {
  const itemInspection = inspectionOfItems(inspection)
  return mapList(items, (item) => mapValue(item, itemInspection, rewriter))
}

/** Returns the same object if nothing changed. */
function mapFields(value: JsonObject, base: Inspection, rewriter: TextRewriter): JsonObject {
  const inspection = base.select?.(value) ?? base
  const { fields, others = INSPECTED, names = 'text' } = inspection
  let changed: Record<string, unknown> | undefined
  let renamed: Map<string, string> | undefined
  // Half the cost of Object.entries, for every message of every request. Parsed JSON inherits no fields.
  for (const name in value) {
    const field = value[name]
    const known = fields?.get(name)
    if (known === undefined) {
      const mappedName = mapText(name, names, rewriter)
      if (mappedName !== name) renamed = (renamed ?? new Map<string, string>()).set(name, mappedName)
    }
    const mapped = mapValue(field, known ?? others, rewriter)
    if (mapped === field) continue
    changed ??= { ...value }
    changed[name] = mapped
  }
  if (inspection.seal !== undefined && (changed ?? renamed) !== undefined)
    changed = { ...(changed ?? value), [inspection.seal]: undefined }
  return renamed === undefined ? (changed ?? value) : renameFields(changed ?? value, renamed, rewriter)
}

function mapText(text: string, rule: ScalarRule, rewriter: TextRewriter): string {
  if (rule === 'json') return mapJson(text, rewriter)
  if (rule === 'media') return rewriteMedia(text, rewriter.rewrite)
  if (rule === 'url') return rewriteUrl(text, rewriter.rewrite)
  return isExemptText(text, rule) ? text : rewriter.rewrite(text)
}

function mapNumber(value: number, rule: ScalarRule, rewriter: TextRewriter): number | string {
  const text = String(value)
  if (isExemptNumber(text, rule)) return value
  const rewritten = rewriter.rewrite(text)
  if (rewritten === text) return value
  if (rule === 'parameter') rewriter.refuse?.()
  return rewritten
}

/** A text that is not a JSON document is rewritten as plain text. */
function mapJson(text: string, rewriter: TextRewriter): string {
  const { rewrittenDocuments } = rewriter
  const rewritten = rewrittenDocuments?.has(text)
    ? rewrittenDocuments.get(text)
    : rewriteJsonText(text, rewriter.rewrite)
  if (rewritten === undefined) return rewriter.rewrite(text)
  if (rewritten.hasKeyCollision) rewriter.refuse?.()
  rewriter.document?.(rewritten.text)
  return rewritten.text
}

/** Refuses a change that makes two names equal. */
function renameFields(
  value: JsonObject,
  renamed: ReadonlyMap<string, string>,
  { refuse }: TextRewriter,
): JsonObject {
  const entries = Object.entries(value).map(([name, field]) => [renamed.get(name) ?? name, field] as const)
  if (new Set(entries.map(([name]) => name)).size < entries.length) refuse?.()
  return Object.fromEntries(entries)
}

/** Like `Array.map`, but returns the same array if no item changed. */
function mapList<T>(items: readonly T[], rewrite: (item: T) => T): readonly T[] {
  let changed: T[] | undefined
  for (let index = 0; index < items.length; index++) {
    // The cast is safe, because the index is within the bounds.
    const item = items[index] as T
    const mapped = rewrite(item)
    if (mapped === item) continue
    changed ??= [...items]
    changed[index] = mapped
  }
  return changed ?? items
}

/**
 * Rewrites the long JSON documents of a request in time slices, for a later call of `mapRequest` with the
 * same `rewrite`.
 */
export async function rewriteLongDocuments(
  request: ChatRequest,
  rewrite: (text: string) => string,
): Promise<RewrittenDocuments> {
  const documents = new Map<string, Awaited<ReturnType<typeof rewriteLongJsonText>>>()
  const slice = createCooperativeYield()
  for (const source of longJsonTexts(request))
    documents.set(source, await rewriteLongJsonText(source, rewrite, slice))
  return documents
}

function longJsonTexts(request: ChatRequest): ReadonlySet<string> {
  const found = new Set<string>()
  let length = 0
  visitTexts(request, REQUEST, {
    visitText: () => undefined,
    visitJson(source) {
      length += source.length
      if (length > MAX_IMMEDIATE_JSON) found.add(source)
    },
  })
  return found
}

/**
 * Returns the request with empty texts in place of binary media: images, audio and files that rules do not
 * inspect; and of token ids. Text files stay. Returns the same object if there is none.
 */
export function withoutMedia(request: ChatRequest): ChatRequest {
  // Media is in the parts of a message, or in the audio of a reply that the client sent back.
  if (!request.messages.some(({ content, audio }) => Array.isArray(content) || audio)) return request
  // The cast is safe, because texts stay texts.
  return removeMedia(request, REQUEST) as ChatRequest
}

function removeMedia(value: unknown, inspection: Inspection): unknown {
  if (typeof value === 'string') return inspection.scalar === 'media' && isBinaryMedia(value) ? '' : value
  if (value instanceof TokenIds) return ''
  if (Array.isArray(value)) {
    const itemInspection = inspectionOfItems(inspection)
    const items = value.map((item) => removeMedia(item, itemInspection))
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  return isJsonObject(value) ? removeFromFields(value, inspection) : value
}

function removeFromFields(value: JsonObject, base: Inspection): JsonObject {
  const { fields, others = INSPECTED } = base.select?.(value) ?? base
  let changed: Record<string, unknown> | undefined
  for (const [name, field] of Object.entries(value)) {
    const kept = removeMedia(field, fields?.get(name) ?? others)
    if (kept === field) continue
    changed ??= { ...value }
    changed[name] = kept
  }
  return changed ?? value
}

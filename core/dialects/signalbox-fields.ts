import {
  type EndedExchange,
  isJsonObject,
  type JsonObject,
  type KeptChoice,
  slot,
  type Warning,
} from '../contract/index.ts'
import type { ResponseForm } from './response-form.ts'

/** The provider shown if a plugin answered the request itself. */
export const NO_PROVIDER = 'signalbox'

/** Fields that a plugin adds to `signalbox`. */
export const AddedFields = slot<Readonly<Record<string, string>>>('signalbox-fields')

/**
 * Builds the field `signalbox` of an answer: how the request was decided, as typed values (docs/api.md,
 * "Metadata and warnings"). Provider and mode are null if the request failed before they were known.
 */
export function buildSignalboxFields(exchange: EndedExchange): JsonObject {
  const { target, route, reply, rulesPosition, costUsd, warnings, trace, headers } = exchange
  const includesTrace = headers['x-include-trace']?.toString().toLowerCase() === 'true'
  const fields: Record<string, unknown> = {
    provider: target?.provider ?? (reply === undefined ? null : NO_PROVIDER),
    routing_mode: route?.mode ?? (reply === undefined ? null : 'balance'),
    rules_position: rulesPosition,
  }
  if (target?.deployment !== undefined) fields.deployment = target.deployment
  if (costUsd !== undefined) fields.cost_usd = costUsd
  Object.assign(fields, AddedFields.of(exchange))
  const { version = 0, probability = null } = route?.router ?? {}
  if (version > 0) fields.router = { version, p: probability }
  if (route?.kept !== undefined) fields.kept_for_prompt_cache = showKept(route.kept)
  if (warnings.length > 0) fields.warnings = warnings
  if (includesTrace) fields.rule_trace = trace
  return fields
}

function showKept({ insteadOf, cachedTokens, savingUsd }: KeptChoice): JsonObject {
  return { instead_of: insteadOf, cached_tokens: cachedTokens, saving_usd: savingUsd }
}

/** OpenAI's limits of `metadata`. */
const MAX_ENTRIES = 16
const MAX_TEXT = 512

/** The fields that `metadata` repeats as strings. Traces are usually longer than its values may be. */
const REPEATED = ['provider', 'routing_mode', 'rules_position', 'cost_usd', 'warnings']

/**
 * Builds the `metadata` of an answer: the caller's own entries as they were sent, then the fields of
 * `signalbox` whose names are free. OpenAI's clients read it as at most 16 strings, or fail; in the
 * interface's form values keep their types.
 */
export function buildMetadata(own: unknown, fields: JsonObject, form: ResponseForm): JsonObject {
  const ownEntries = isJsonObject(own) ? own : {}
  if (form === 'interface') return { ...ownEntries, ...fields, ...ownEntries }
  const metadata = { ...ownEntries }
  let freeEntries = MAX_ENTRIES - Object.keys(ownEntries).length
  for (const name of REPEATED) {
    const value = fields[name]
    if (freeEntries <= 0 || value == null || Object.hasOwn(ownEntries, name) || isTooLong(value)) continue
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    if (text.length > MAX_TEXT) continue
    metadata[name] = text
    freeEntries--
  }
  return metadata
}

/** Whether a list is longer than metadata may be, without writing it as JSON. False is not certain. */
function isTooLong(value: unknown): boolean {
  if (!Array.isArray(value)) return false
  let length = 0
  for (const warning of value as readonly Warning[]) length += warning.message.length
  return length > MAX_TEXT
}

/**
 * Writes an answer, or a record of a stream, with the extension fields as JSON. Joining two texts takes half
 * the time of writing an object with the fields of both. `known`: the record as JSON text without white space
 * around it, if there is one; the fields of both have the same names.
 */
export function writeDecorated(
  record: JsonObject,
  extension: JsonObject | undefined,
  known?: string,
): string {
  if (extension === undefined) return known ?? JSON.stringify(record)
  for (const name in extension)
    if (name in record)
      return JSON.stringify({ ...(known === undefined ? record : JSON.parse(known)), ...extension })
  const fields = JSON.stringify(extension)
  const text = known ?? JSON.stringify(record)
  return fields === '{}' ? text : `${text.slice(0, -1)},${fields.slice(1)}`
}

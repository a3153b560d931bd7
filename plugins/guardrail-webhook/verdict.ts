import { isJsonObject } from '../../core/contract/index.ts'
import { parseUniqueJson } from '../../core/util/json.ts'

/** What the guardrail decides (docs/guides/guardrail-webhook.md, "The answer"). */
export type Verdict =
  | { readonly action: 'allow' }
  | { readonly action: 'block'; readonly reason: string | undefined }
  /** Replacements by the index of the text. */
  | { readonly action: 'mask'; readonly replacements: ReadonlyMap<number, string> }

const MAX_REASON_LENGTH = 500

/** Parses an answer; undefined if it is none, so that an answer is never taken for less than it says. */
export function parseVerdict(body: string, textCount: number): Verdict | undefined {
  const answer = parseUniqueJson(body)
  if (!isJsonObject(answer)) return undefined
  const { action, reason, replacements } = answer
  switch (action) {
    case 'allow':
      return replacements === undefined ? { action } : undefined
    case 'block':
      if (reason !== undefined && typeof reason !== 'string') return undefined
      return { action, reason: reason?.slice(0, MAX_REASON_LENGTH) }
    case 'mask': {
      const parsed = parseReplacements(replacements, textCount)
      return parsed && { action, replacements: parsed }
    }
    default:
      return undefined
  }
}

function parseReplacements(value: unknown, textCount: number): ReadonlyMap<number, string> | undefined {
  if (!Array.isArray(value)) return undefined
  const replacements = new Map<number, string>()
  for (const item of value) {
    const { index, text }: Readonly<Record<string, unknown>> = isJsonObject(item) ? item : {}
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= textCount)
      return undefined
    if (typeof text !== 'string' || replacements.has(index)) return undefined
    replacements.set(index, text)
  }
  return replacements
}

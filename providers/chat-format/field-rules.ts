import type { ChatRequest } from '../../core/contract/chat.ts'
import type { FieldRule, FieldRules } from '../../core/contract/chat-format.ts'
import type { Target } from '../../core/contract/provider.ts'

export type Body = Record<string, unknown>

export interface RuledField {
  readonly field: string
  readonly rule: FieldRule
}

/** The fields that a request has, with their rules. Most requests have few of those that have a rule. */
export function findRuled(request: ChatRequest, rules: FieldRules): readonly RuledField[] {
  if (!hasRuled(request, rules)) return NONE
  const ruled: RuledField[] = []
  for (const field in rules)
    if (request[field] !== undefined) ruled.push({ field, rule: rules[field] as FieldRule })
  return ruled
}

const NONE: readonly RuledField[] = []

/** Most requests have fewer fields than there are rules. */
function hasRuled(request: ChatRequest, rules: FieldRules): boolean {
  for (const field in request) if (rules[field] !== undefined) return true
  return false
}

/** Replaces a field of the body as the rule says. */
export function applyRule(
  body: Body,
  { field, rule }: RuledField,
  request: ChatRequest,
  target: Target,
): void {
  const value = request[field]
  const { name = field, convert, builtAs } = rule
  body[field] = undefined
  const isReplaced = field === 'max_tokens' && request.max_completion_tokens != null
  if (value === null || name === null || builtAs !== undefined || isReplaced) return
  const sent = convert === undefined ? value : convert(value, request, target)
  if (sent !== undefined) body[name] = sent
}

/** The fields of the body that may hold a field of the request. */
export function namesOf(field: string, { name = field, builtAs }: FieldRule = {}): readonly string[] {
  return builtAs ?? (name === null ? [] : [name])
}

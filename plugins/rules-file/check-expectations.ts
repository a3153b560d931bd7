import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'
import type { RuleExpectations } from './case-schemas.ts'

/** A part of the outcome that is not as expected. */
export interface Mismatch {
  readonly field: string
  readonly expected: string
  readonly got: string
}

/** What is only known of a request that is sent. */
const SENT = ['contains', 'lacks', 'provider', 'model', 'mode'] as const

/** Compares a simulated decision with what is expected of it. */
export function checkExpectations(expect: RuleExpectations, decision: JsonObject): readonly Mismatch[] {
  const mismatches: Mismatch[] = []
  const add = (field: string, expected: unknown, got: unknown) =>
    mismatches.push({ field, expected: show(expected), got: show(got) })
  const blockedBy = asObject(decision.blocked_by)
  const [target] = asList(decision.targets)
  const actual = {
    outcome: decision.outcome,
    blocked_by: blockedBy.name,
    policy: asObject(blockedBy.origin).name,
    error: asObject(decision.error).code,
    provider: asObject(target).provider,
    model: asObject(target).model,
    mode: decision.routing_mode,
  }
  const isSent = decision.outcome === 'allowed'
  for (const field of ['outcome', 'blocked_by', 'policy', 'error', 'provider', 'model', 'mode'] as const) {
    const expected = expect[field]
    if (expected === undefined || (!isSent && isAboutSent(field))) continue
    if (actual[field] !== expected) add(field, expected, actual[field])
  }
  const missed = SENT.filter((field) => expect[field] !== undefined)
  if (!isSent && missed.length > 0)
    add(missed.join(', '), 'a request that is sent', asObject(decision.error).message)
  if (isSent) {
    const sent = JSON.stringify(decision.request)
    const occurs = (text: string) => sent.includes(JSON.stringify(text).slice(1, -1))
    for (const text of toList(expect.contains)) if (!occurs(text)) add('contains', text, sent)
    for (const text of toList(expect.lacks)) if (occurs(text)) add('lacks', text, sent)
  }
  const warnings = asList(decision.warnings).map((warning) => String(asObject(warning).message))
  if (Array.isArray(expect.warnings) && expect.warnings.length === 0 && warnings.length > 0)
    add('warnings', 'none', warnings.join(' '))
  for (const text of toList(expect.warnings))
    if (!warnings.some((warning) => warning.includes(text))) add('warnings', text, warnings.join(' '))
  const applied = asList(decision.rule_trace).flatMap((entry) => {
    const { name, outcome } = asObject(entry)
    return outcome === 'applied' ? [String(name)] : []
  })
  for (const name of toList(expect.applied))
    if (!applied.includes(name)) add('applied', name, applied.join(', '))
  return mismatches
}

function isAboutSent(field: string): boolean {
  return (SENT as readonly string[]).includes(field)
}

function toList(texts: string | readonly string[] | undefined): readonly string[] {
  return typeof texts === 'string' ? [texts] : (texts ?? [])
}

function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Requests can be long. */
const MAX_SHOWN_LENGTH = 200

function show(value: unknown): string {
  if (value === undefined || value === null || value === '') return 'none'
  const text = String(value)
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text
}

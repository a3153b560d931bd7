import { isDeepStrictEqual } from 'node:util'
import type { JsonObject, Rule, RuleSet } from '../../core/contract/index.ts'
import { RULE_KINDS } from '../../projections/rules.ts'
import type { RuleKind, RuleKinds } from './rule-kind.ts'

/** Fields that the server sets. They do not affect what a rule does and are not compared. */
const SERVER_FIELDS = ['id', 'user_id', 'policy_id', 'created_at', 'updated_at', 'revision']

/**
 * Lists the rules that were added, changed (with each changed field) and removed between two states, by kind.
 */
export function diffRules(from: RuleSet, to: RuleSet, kinds: RuleKinds): JsonObject {
  return Object.fromEntries(RULE_KINDS.map((kind) => [kind, diffKind(from[kind], to[kind], kinds[kind])]))
}

function diffKind(from: readonly Rule[], to: readonly Rule[], { show }: Pick<RuleKind, 'show'>): JsonObject {
  const earlier = new Map(from.map((rule) => [rule.id, rule]))
  const laterIds = new Set(to.map(({ id }) => id))
  return {
    added: to.filter(({ id }) => !earlier.has(id)).map(show),
    changed: to.flatMap((rule) => {
      const before = earlier.get(rule.id)
      // Most rules are the same object in both states.
      if (before === undefined || before === rule) return []
      const changes = diffFields({ ...before }, { ...rule })
      return Object.keys(changes).length > 0 ? [{ id: rule.id, name: rule.name, changes }] : []
    }),
    removed: from.filter(({ id }) => !laterIds.has(id)).map(show),
  }
}

interface FieldDifference {
  readonly from: unknown
  readonly to: unknown
}

/** The fields that differ, with their values. */
export function diffFields(from: JsonObject, to: JsonObject): Readonly<Record<string, FieldDifference>> {
  const fields = Object.keys({ ...from, ...to }).filter((field) => !SERVER_FIELDS.includes(field))
  // Most values are the same, and not objects: comparing those deeply takes many times as long.
  const isEqual = (a: unknown, b: unknown) => a === b || isDeepStrictEqual(a, b)
  const changed = fields.filter((field) => !isEqual(from[field], to[field]))
  return Object.fromEntries(changed.map((field) => [field, { from: from[field], to: to[field] }]))
}

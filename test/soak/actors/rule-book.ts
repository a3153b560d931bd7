import type { Loose } from '../client.ts'

export type RuleKind = 'routing' | 'firewall'

/** The expected state of a rule. */
export interface KnownRule {
  readonly kind: RuleKind
  /** The rule as the gateway returned it. */
  readonly shown: Loose
  readonly revision: number
  /** Content by revision, from 1; null if the rule was deleted. */
  readonly history: readonly Loose[]
}

/** The expected rules of a user after the acknowledged changes. */
export interface RuleBook {
  readonly rules: Map<number, KnownRule>
  /** The rules that were deleted last. */
  readonly gone: KnownRule[]
}

export const createRuleBook = (): RuleBook => ({ rules: new Map(), gone: [] })

const MAX_GONE = 10

/** Records a rule as the gateway returns it after a change. */
export function noteRule({ rules, gone }: RuleBook, kind: RuleKind, shown: Loose): KnownRule {
  const before = rules.get(shown.id) ?? takeFrom(gone, shown.id)
  const history = [...(before?.history ?? []), contentOf(shown)]
  const rule = { kind, shown, revision: history.length, history }
  rules.set(shown.id, rule)
  return rule
}

export function noteRemoval({ rules, gone }: RuleBook, id: number): void {
  const rule = rules.get(id)
  if (rule === undefined) return
  rules.delete(id)
  gone.push({ ...rule, revision: rule.revision + 1, history: [...rule.history, null] })
  if (gone.length > MAX_GONE) gone.shift()
}

function takeFrom(gone: KnownRule[], id: number): KnownRule | undefined {
  const place = gone.findIndex(({ shown }) => shown.id === id)
  return place === -1 ? undefined : gone.splice(place, 1)[0]
}

/** The fields that the owner of a rule sets. */
export function contentOf(shown: Loose): Loose {
  const { id: _, user_id: __, created_at: ___, updated_at: ____, ...content } = shown
  return content
}

/** Returns the rules of a kind as a list must show them. */
export function listOf({ rules }: RuleBook, kind: RuleKind): readonly Loose[] {
  return [...rules.values()]
    .filter((rule) => rule.kind === kind)
    .map(({ shown }) => shown)
    .sort((a, b) => b.priority - a.priority || a.id - b.id)
}

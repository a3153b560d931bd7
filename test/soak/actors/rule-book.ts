import type { Loose } from '../client.ts'

export type RuleKind = 'routing' | 'firewall'

/** A rule as its owner knows it. */
export interface KnownRule {
  readonly kind: RuleKind
  /** As the gateway answered. */
  readonly shown: Loose
  readonly revision: number
  /** Content by revision, from 1; null where the rule was deleted. */
  readonly history: readonly Loose[]
}

/** A user's rules as the acknowledged changes make them. */
export interface RuleBook {
  readonly rules: Map<number, KnownRule>
  /** Rules that were deleted, the last ones. */
  readonly gone: KnownRule[]
}

export const createRuleBook = (): RuleBook => ({ rules: new Map(), gone: [] })

const MOST_GONE = 10

/** Notes a rule as the gateway shows it after a change. */
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
  if (gone.length > MOST_GONE) gone.shift()
}

function takeFrom(gone: KnownRule[], id: number): KnownRule | undefined {
  const place = gone.findIndex(({ shown }) => shown.id === id)
  return place === -1 ? undefined : gone.splice(place, 1)[0]
}

/** What the owner of a rule sets. */
export function contentOf(shown: Loose): Loose {
  const { id: _, user_id: __, created_at: ___, updated_at: ____, ...content } = shown
  return content
}

/** The rules of a kind as a list must show them. */
export function listOf({ rules }: RuleBook, kind: RuleKind): readonly Loose[] {
  return [...rules.values()]
    .filter((rule) => rule.kind === kind)
    .map(({ shown }) => shown)
    .sort((a, b) => b.priority - a.priority || a.id - b.id)
}

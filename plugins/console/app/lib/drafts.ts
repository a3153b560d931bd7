import { signal } from '@preact/signals'
import type { EffectiveFirewallRule, EffectiveRoutingRule, EffectiveToolRule, Policy } from './schemas.ts'
import { signedInPerson } from './session.ts'

/** In the order in which they are shown. */
export const RULE_KINDS = ['firewall', 'routing', 'tool'] as const

export type RuleKind = (typeof RULE_KINDS)[number]

export const KIND_TITLES: Readonly<Record<RuleKind, string>> = {
  firewall: 'Firewall',
  routing: 'Routing',
  tool: 'Tool',
}

type AnyRule = Omit<EffectiveFirewallRule & EffectiveRoutingRule, 'action'> &
  Pick<EffectiveToolRule, 'match'> & { readonly action: string }

/** A rule of any kind. Users see less of those of policies. */
export type Rule = Omit<AnyRule, RuleField> & Partial<Pick<AnyRule, RuleField>>

type RuleField = 'scope' | 'type' | 'action' | 'origin'

/** Rules as they apply to a user. */
export type EffectiveRules = Readonly<Record<RuleKind, readonly Rule[]>>

/** The fields of a rule that are written. */
export type RuleContent = Readonly<Record<string, unknown>> & {
  readonly name: string
  readonly is_enabled: boolean
  readonly priority: number
}

/** A rule that is being edited; nothing is saved yet. */
export interface DraftRule {
  /** Identifies the rule in the list. */
  readonly key: string
  readonly kind: RuleKind
  /** Undefined for a new rule. */
  readonly stored: Rule | undefined
  readonly content: RuleContent
  readonly isRemoved: boolean
  /** Fields of the draft that somebody else changed, too, since it was begun. */
  readonly overlaps?: readonly string[]
}

const FIELDS: Readonly<Record<RuleKind, readonly string[]>> = {
  firewall: ['name', 'is_enabled', 'priority', 'scope', 'type', 'pattern', 'action', 'replacement'],
  routing: ['name', 'is_enabled', 'priority', 'match_json', 'action_json'],
  tool: ['name', 'is_enabled', 'priority', 'match', 'action'],
}

function toContent(kind: RuleKind, rule: Rule): RuleContent {
  const fields = Object.entries(rule).filter(([name]) => FIELDS[kind].includes(name))
  return Object.fromEntries(fields) as RuleContent
}

export function toDraft(kind: RuleKind, stored: Rule): DraftRule {
  return { key: `${kind}:${stored.id}`, kind, stored, content: toContent(kind, stored), isRemoved: false }
}

export function newDraft(kind: RuleKind, content: RuleContent): DraftRule {
  // Those of before the page was loaded again have other keys.
  const key = `${kind}:new-${Date.now().toString(36)}`
  return { key, kind, stored: undefined, content, isRemoved: false }
}

export const NEW_RULES: Readonly<Record<RuleKind, RuleContent>> = {
  firewall: {
    name: '',
    is_enabled: true,
    priority: 0,
    scope: 'prompt',
    type: 'substring',
    pattern: '',
    action: 'block',
    replacement: null,
  },
  routing: { name: '', is_enabled: true, priority: 0, match_json: {}, action_json: {} },
  tool: { name: '', is_enabled: true, priority: 0, match: { server: '*', tool: '*' }, action: 'deny' },
}

/** Fields that the draft changes, with their new values. */
export function changedFields({ kind, stored, content }: DraftRule): Readonly<Record<string, unknown>> {
  if (stored === undefined) return content
  const old: Readonly<Record<string, unknown>> = toContent(kind, stored)
  const isChanged = ([name, value]: [string, unknown]) => JSON.stringify(value) !== JSON.stringify(old[name])
  return Object.fromEntries(Object.entries(content).filter(isChanged))
}

export function isChangedDraft(draft: DraftRule): boolean {
  if (draft.stored === undefined) return !draft.isRemoved
  return draft.isRemoved || Object.keys(changedFields(draft)).length > 0
}

/**
 * Returns the rules as they are now, with the changes of drafts that were begun on earlier ones. A changed
 * rule that was deleted since is a new one.
 */
export function rebaseDrafts(
  drafts: readonly DraftRule[],
  current: readonly DraftRule[],
): readonly DraftRule[] {
  const changed = drafts.filter(isChangedDraft)
  const own = new Map(changed.map((draft) => [draft.key, draft]))
  const known = new Set(current.map(({ key }) => key))
  const rebased = current.map((now) => {
    const draft = own.get(now.key)
    return draft === undefined ? now : rebaseDraft(draft, now)
  })
  const added = changed.filter(({ key, isRemoved }) => !known.has(key) && !isRemoved)
  return [...rebased, ...added.map((draft) => ({ ...draft, stored: undefined }))]
}

function rebaseDraft(draft: DraftRule, now: DraftRule): DraftRule {
  if (draft.stored?.revision === now.stored?.revision) return draft
  const changes = changedFields(draft)
  const before: Readonly<Record<string, unknown>> = { ...draft.stored }
  const overlaps = Object.keys(changes).filter(
    (field) => JSON.stringify(before[field]) !== JSON.stringify(now.content[field]),
  )
  return {
    ...now,
    content: { ...now.content, ...changes },
    isRemoved: draft.isRemoved,
    overlaps: [...new Set([...(draft.overlaps ?? []), ...overlaps])],
  }
}

/** In evaluation order: by priority, then older ones first. */
export function sortDrafts(drafts: readonly DraftRule[]): readonly DraftRule[] {
  const idOf = ({ stored }: DraftRule) => stored?.id ?? Number.MAX_SAFE_INTEGER
  return drafts.toSorted((a, b) => b.content.priority - a.content.priority || idOf(a) - idOf(b))
}

/** The operations of a batch, which are applied together or not at all, and to the rules that were shown. */
export function toOperations(drafts: readonly DraftRule[]): readonly object[] {
  return drafts.filter(isChangedDraft).map((draft) => {
    const { kind, stored } = draft
    if (stored === undefined) return { kind, op: 'create', data: draft.content }
    const rule = { kind, id: stored.id, revision: stored.revision }
    return draft.isRemoved ? { ...rule, op: 'delete' } : { ...rule, op: 'update', data: changedFields(draft) }
  })
}

/**
 * Moves a rule to the place of another of its kind. The order follows from the priorities: the rule gets one
 * just above that of the next rule, and those before it are raised where they must be.
 */
export function moveDraft(
  drafts: readonly DraftRule[],
  key: string,
  targetKey: string,
): readonly DraftRule[] {
  const moved = drafts.find((draft) => draft.key === key)
  const target = drafts.find((draft) => draft.key === targetKey)
  if (!moved || !target || moved === target || moved.kind !== target.kind) return drafts
  const ordered = [...sortDrafts(drafts.filter(({ kind }) => kind === moved.kind))]
  const to = ordered.indexOf(target)
  ordered.splice(ordered.indexOf(moved), 1)
  ordered.splice(to, 0, moved)
  const [above, below] = [ordered[to - 1], ordered[to + 1]]
  let lowest = below ? below.content.priority + 1 : (above?.content.priority ?? 1) - 1
  const priorities = new Map([[key, lowest]])
  for (const draft of ordered.slice(0, to).toReversed()) {
    lowest = Math.max(lowest + 1, draft.content.priority)
    priorities.set(draft.key, lowest)
  }
  return drafts.map((draft) => {
    const priority = priorities.get(draft.key)
    return priority === undefined ? draft : { ...draft, content: { ...draft.content, priority } }
  })
}

/** The policy with its drafts, as a rules file, for what-if. */
export function toRulesFile(policy: Policy, drafts: readonly DraftRule[]): object {
  const rulesOf = (kind: RuleKind) =>
    drafts
      .filter((draft) => draft.kind === kind && !draft.isRemoved)
      .map(({ stored, content }) => ({ ...(stored && { id: stored.id }), ...content }))
  const { id, name, description, is_enabled, priority, applies_to } = policy
  const settings = { id, name, ...(description && { description }), is_enabled, priority, applies_to }
  const lists = RULE_KINDS.map((kind) => [`${kind}_rules`, rulesOf(kind)])
  return { policies: [{ ...settings, ...Object.fromEntries(lists) }] }
}

type PendingRules = readonly (readonly [key: string, drafts: readonly DraftRule[]])[]

const STORED_AS = 'signalbox drafts'

/**
 * Rules with changes that are not saved yet, by the person who makes them and the path of the rules. The
 * window keeps them when another page is shown, when it is loaded again, and when the session ends, until
 * they are saved or discarded, the person signs out, or the window is closed.
 */
const pending = signal<PendingRules>(readPending())

addEventListener('beforeunload', (event) => {
  if (pending.value.length > 0) event.preventDefault()
})

function readPending(): PendingRules {
  try {
    return JSON.parse(sessionStorage.getItem(STORED_AS) ?? '[]')
  } catch {
    return []
  }
}

function setPending(rules: PendingRules): void {
  pending.value = rules
  try {
    sessionStorage.setItem(STORED_AS, JSON.stringify(rules))
  } catch {
    // The browser stores nothing: they are lost when the page is loaded again.
  }
}

const keyOf = (path: string) => `${signedInPerson()} ${path}`

export function pendingDrafts(path: string): readonly DraftRule[] {
  return pending.value.find(([key]) => key === keyOf(path))?.[1] ?? []
}

/** Without a changed rule among them, nothing is kept. */
export function keepDrafts(path: string, drafts: readonly DraftRule[]): void {
  const changed = drafts.filter(isChangedDraft)
  const others = pending.value.filter(([key]) => key !== keyOf(path))
  setPending(changed.length > 0 ? [...others, [keyOf(path), changed]] : others)
}

/** Forgets the changes of the person who signs out. */
export function forgetDrafts(): void {
  setPending(pending.value.filter(([key]) => !key.startsWith(`${signedInPerson()} `)))
}

import type { JsonObject, Rule, RuleSet } from '../../core/contract/index.ts'
import { afterManyItems } from '../../core/util/cooperative-yield.ts'
import type { AnyRuleContent, RuleEvent, RuleOwner } from '../../projections/events/rules.ts'
import { emptyRuleSet, RULE_KINDS } from '../../projections/rules.ts'
import type { RuleKind } from '../rules/index.ts'
import { checkPatternSize, diffFields, measureRules } from '../rules/index.ts'
import type { PlanBuilder } from './plan-builder.ts'
import {
  kindOfList,
  type PlannedId,
  RULE_LISTS,
  type RuleListChanges,
  type RuleListName,
  type ToId,
} from './planned.ts'
import type { UserEntry } from './schemas.ts'

type RuleEntries = Pick<UserEntry, RuleListName>

/** What turns the rules of an owner into those of the file. */
export interface PlannedRules {
  readonly changes: { readonly [List in RuleListName]?: RuleListChanges }
  readonly events: (toId: ToId, owner: RuleOwner) => readonly RuleEvent[]
}

/** Plans the rules of users. */
export async function planUsers(entries: readonly UserEntry[], builder: PlanBuilder): Promise<void> {
  const { issues, references, state } = builder
  const seen = new Set<number>()
  for (const [index, entry] of entries.entries()) {
    const path = `users[${index}]`
    const userId = references.findUser(entry.user)
    if (typeof userId === 'string') {
      issues.add(`${path}.user`, userId)
      continue
    }
    if (seen.has(userId)) issues.add(path, 'The user is listed twice.')
    seen.add(userId)
    const revision = state.rules.revision(userId)
    const { changes, events } = await planRules(path, entry, { userId }, state.rules.of(userId), builder)
    if (Object.keys(changes).length === 0) continue
    const name = references.userName(userId)
    const toEvents = (toId: ToId) => events(toId, { userId })
    builder.write({ type: 'rules', id: userId }, `rules of user "${name}"`, toEvents, { revision })
    builder.changes.push({ action: 'change', type: 'user', id: userId, name, ...changes })
  }
}

/**
 * Compares rules of a user or a policy with those of the file. `current` is undefined for a new policy, whose
 * id is 0.
 */
export async function planRules(
  path: string,
  entries: RuleEntries,
  owner: RuleOwner,
  current: RuleSet | undefined,
  builder: PlanBuilder,
): Promise<PlannedRules> {
  const rules = current ?? emptyRuleSet(0)
  const lists: [RuleListName, PlannedList][] = []
  for (const name of RULE_LISTS) {
    const kind = builder.state.kinds[kindOfList(name)]
    lists.push([name, await planRuleList(path, entries[name] ?? [], owner, rules, kind, builder)])
  }
  const byKind = new Map(lists.map(([name, list]) => [kindOfList(name), list]))
  const planned = RULE_KINDS.flatMap((kind) => byKind.get(kind)?.events ?? [])
  const events = (toId: ToId, owner: RuleOwner) => planned.flatMap((event) => event(toId, owner))
  const count = planned.length
  await afterManyItems(count)
  await measureRules(rules)
  const toDraftId: ToId = (id) => (typeof id === 'number' ? id : Number.MAX_SAFE_INTEGER - id.newIndex)
  const drafted = events(toDraftId, { userId: rules.ownerId })
  await afterManyItems(count)
  const isSmallEnough = await builder.issues.collect(path, () => {
    checkPatternSize(rules, drafted)
    return true
  })
  // Analyzing patterns takes up to a minute.
  if (isSmallEnough) for (const [, { analyze }] of lists) await analyze()
  await afterManyItems(count)
  const changed = lists.filter(
    ([
      ,
      {
        changes: { added, changed, removed },
      },
    ]) => added.length + changed.length + removed.length > 0,
  )
  return { changes: Object.fromEntries(changed.map(([name, { changes }]) => [name, changes])), events }
}

type PlannedEvent = (toId: ToId, owner: RuleOwner) => readonly RuleEvent[]

interface PlannedList {
  readonly changes: RuleListChanges
  readonly events: readonly PlannedEvent[]
  /** Analyzes the patterns of the new contents, and adds what is wrong with them to the issues. */
  analyze(): Promise<void>
}

async function planRuleList(
  ownerPath: string,
  entries: readonly JsonObject[],
  owner: RuleOwner,
  rules: RuleSet,
  kind: RuleKind,
  builder: PlanBuilder,
): Promise<PlannedList> {
  const current: readonly Rule[] = rules[kind.name]
  const pathOf = (index: number) => `${ownerPath}.${kind.name}_rules[${index}]`
  const matches = matchRules(entries, current, (index, issue) => builder.issues.add(pathOf(index), issue))
  const [added, changed]: [JsonObject[], RuleListChanges['changed'][number][]] = [[], []]
  const events: PlannedEvent[] = []
  const contents: [path: string, content: AnyRuleContent][] = []

  async function analyze(): Promise<void> {
    for (const [path, content] of contents) {
      if (builder.slice.isDue()) await builder.slice.yieldNow()
      await builder.issues.collect(path, async () => {
        await kind.prepare?.([content], rules.ownerId)
        kind.check?.(content, owner)
      })
      // The cast is safe: warnings are about the content.
      for (const warning of kind.lint(content as Rule)) builder.warnings.push({ path, ...warning })
    }
  }

  for (const [index, { id: _, ...body }] of entries.entries()) {
    if (builder.slice.isDue()) await builder.slice.yieldNow()
    const rule = matches.get(index)
    const content = await builder.issues.collect<AnyRuleContent>(pathOf(index), () => kind.parseNew(body))
    if (content === undefined) continue
    const values: JsonObject = { ...content }
    const fields = diffFields(contentOf(rule, kind), values)
    if (rule !== undefined && Object.keys(fields).length === 0) continue
    contents.push([pathOf(index), content])
    if (rule === undefined) {
      const id: PlannedId = builder.newId()
      added.push(values)
      events.push((toId, owner) => [kind.created(owner, toId(id), content)])
    } else {
      changed.push({ id: rule.id, name: rule.name, changes: fields })
      events.push((_, owner) => [kind.updated(owner, rule.id, pickChanged(content, fields))])
    }
  }
  const kept = new Set([...matches.values()].map(({ id }) => id))
  const removed = current.filter(({ id }) => !kept.has(id))
  for (const { id } of removed) events.push((_, owner) => [kind.deleted(owner, id)])
  const changes = { added, changed, removed: removed.map((rule) => ({ ...kind.show(rule) })) }
  return { changes, events, analyze }
}

/** The fields that the owner sets; none for a new rule. */
function contentOf(rule: Rule | undefined, { fields }: Pick<RuleKind, 'fields'>): JsonObject {
  const values: JsonObject = { ...rule }
  return rule ? Object.fromEntries(fields.map(({ name }) => [name, values[name]])) : {}
}

/**
 * Finds the rule that each entry is about: by its id, or by its name among the rules that no entry names by
 * id. An entry without a match is a new rule.
 */
function matchRules(
  entries: readonly JsonObject[],
  rules: readonly Rule[],
  addIssue: (index: number, issue: string) => void,
): ReadonlyMap<number, Rule> {
  const matches = new Map<number, Rule>()
  const byId = new Map(rules.map((rule) => [rule.id, rule]))
  for (const [index, { id }] of entries.entries()) {
    if (id === undefined) continue
    const rule = byId.get(Number(id))
    if (rule !== undefined) matches.set(index, rule)
    else if (rules.some((known) => known.id === id)) addIssue(index, `Rule ${id} is listed twice.`)
    else addIssue(index, `Rule ${id} is not a rule of this owner. Leave out the id to create a rule.`)
    byId.delete(Number(id))
  }
  const byName = new Map<unknown, Rule[]>()
  for (const rule of byId.values()) {
    const known = byName.get(rule.name)
    if (known === undefined) byName.set(rule.name, [rule])
    else known.push(rule)
  }
  const names = new Set<unknown>()
  for (const [index, { id, name }] of entries.entries()) {
    if (id !== undefined) continue
    if (names.has(name)) addIssue(index, `Two rules have the name "${name}". Rename one, or add the ids.`)
    names.add(name)
    const [rule, another] = byName.get(name) ?? []
    if (another !== undefined) addIssue(index, `Several rules have the name "${name}". Add the ids.`)
    else if (rule !== undefined) matches.set(index, rule)
  }
  return matches
}

/** The given values of the fields that differ. */
function pickChanged(content: AnyRuleContent, changed: object): Partial<AnyRuleContent> {
  const entries = Object.entries(content).filter(([field]) => field in changed)
  // The cast is safe: the fields are those of the content.
  return Object.fromEntries(entries) as Partial<AnyRuleContent>
}

import { GatewayError, type JsonObject, type Rule, type RuleSet } from '../../core/contract/index.ts'
import { showFields } from '../../core/resources/names.ts'
import { kindOfList, RULE_LISTS, type RuleListName, type RulesFileState } from './planned.ts'
import { References } from './references.ts'
import { type RulesFile, SECTIONS, type Section } from './schemas.ts'
import { GROUPS, POLICIES, type Reference, type ResourceSection, type SectionEntity } from './sections.ts'

export interface ExportOptions {
  /** Default: all. */
  readonly sections?: readonly Section[]
  /** Refers to everything by name in place of its id, for another gateway. */
  readonly names?: boolean
}

/**
 * Returns what there is as a file that changes nothing. With `names`, throws 409 for names that are not
 * unique.
 */
export function exportRulesFile(state: RulesFileState, options: ExportOptions = {}): RulesFile {
  const { sections = SECTIONS, names = false } = options
  const { accounts, groups, policies, rules } = state
  const show = createShow(state, names)
  const showSection = <Known extends SectionEntity>(section: ResourceSection<Known>) => {
    const known = section.list(state)
    return known.map((entity) => {
      const shown = section.showEntry(entity, (kind, id: number) => show[kind](id))
      return [entity, { ...show.entry(section.name, entity, known), ...shown }] as const
    })
  }

  const writers = {
    groups: () =>
      showSection(GROUPS).map(([{ id }, entry]) => ({
        ...entry,
        members: groups.members(id).map(show.user),
      })),
    policies: () =>
      showSection(POLICIES).map(([{ id, name }, entry]) => {
        return { ...entry, ...show.rules(`policy "${name}"`, policies.rulesOf(id)) }
      }),
    users: () =>
      accounts.users().flatMap(({ id, name }) => {
        const shown = show.rules(`user "${name}"`, rules.of(id))
        return Object.keys(shown).length > 0 ? [{ user: show.user(id), ...shown }] : []
      }),
    budgets: () => exportBudgets(state, show),
  }
  return Object.fromEntries(SECTIONS.filter((name) => sections.includes(name)).map((n) => [n, writers[n]()]))
}

interface ShowReferences {
  user(id: number): Reference
  group(id: number): Reference
}

function exportBudgets({ accounts, groups: known, overallBudget }: RulesFileState, show: ShowReferences) {
  const overall = overallBudget.current()
  const shadow = overallBudget.shadow()
  const users = accounts
    .users()
    .flatMap(({ id, budget }) => (budget ? [{ user: show.user(id), budget: showFields(budget) }] : []))
  const groups = known
    .groups()
    .flatMap(({ id, budget }) => (budget ? [{ group: show.group(id), budget: showFields(budget) }] : []))
  const keys = accounts.users().flatMap((user) =>
    user.keys.flatMap(({ id, budget, revokedAt }) => {
      return budget && revokedAt === null ? [{ key: id, budget: showFields(budget) }] : []
    }),
  )
  return {
    ...(overall && { overall: showFields(overall) }),
    ...(shadow && { shadow: showFields(shadow) }),
    ...(users.length > 0 && { users }),
    ...(groups.length > 0 && { groups }),
    ...(keys.length > 0 && { keys }),
  }
}

function createShow(state: RulesFileState, byName: boolean) {
  const references = new References(state)

  /** The name, which must lead back to the id. */
  function showName(what: string, id: number, name: string, found: unknown): Reference {
    if (found === id) return name
    throw notUniqueError(`More than one ${what} has the name "${name}".`)
  }

  function showRules(
    owner: string,
    list: readonly Rule[],
    fields: readonly { readonly name: string }[],
  ): readonly JsonObject[] {
    const names = new Set(list.map(({ name }) => name))
    if (byName && names.size < list.length)
      throw notUniqueError(`Several rules of ${owner} have the same name.`)
    const fieldNames = fields.map(({ name }) => name)
    return list.map((rule) => {
      // The cast is safe: a rule is an object of JSON.
      const values = rule as unknown as JsonObject
      // Filled field by field: lists of entries would take several times as long for thousands of rules.
      const shown: Record<string, unknown> = byName ? {} : { id: rule.id }
      for (const name of fieldNames) if (values[name] !== null) shown[name] = values[name]
      return shown
    })
  }

  return {
    entry<Entry extends { readonly id: number; readonly name: string }>(
      what: string,
      { id, name }: Entry,
      all: readonly { readonly name: string }[],
    ) {
      if (!byName) return { id, name }
      if (all.filter((other) => other.name === name).length > 1)
        throw notUniqueError(`Several entries of the kind ${what} have the name "${name}".`)
      return { name }
    },
    user: (id: number): Reference => {
      const name = references.userName(id)
      return byName ? showName('user', id, name, references.findUser(name)) : id
    },
    group: (id: number): Reference => {
      const name = state.groups.group(id)?.name ?? ''
      return byName ? showName('group', id, name, references.findGroup(name)) : id
    },
    rules(owner: string, rules: RuleSet): Partial<Record<RuleListName, readonly JsonObject[]>> {
      const lists = RULE_LISTS.filter((list) => rules[kindOfList(list)].length > 0)
      return Object.fromEntries(
        lists.map((list) => {
          const kind = kindOfList(list)
          return [list, showRules(owner, rules[kind], state.kinds[kind].fields)]
        }),
      )
    },
  }
}

function notUniqueError(what: string): GatewayError {
  return new GatewayError('conflict', `${what} Rename one, or export with ids.`)
}

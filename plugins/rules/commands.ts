import { type FirewallRule, GatewayError, type RoutingRule } from '../../core/contract/index.ts'
import { type RuleEvent, rulesStream } from '../../core/events/rules.ts'
import type { IdSource } from '../../projections/id-source.ts'
import type { Rules } from '../../projections/rules.ts'
import type { Author, Writer } from '../../projections/writer.ts'
import type { RuleKind } from './kind.ts'

/** What a change must find: the revision that the caller read, or `any`. */
export type ExpectedRule = number | 'any'

export interface RuleServices {
  readonly rules: Rules
  readonly ids: IdSource
  readonly writer: Writer
}

/** Changes to one user's rules of one kind; each resolves when the next request sees it. */
export interface RuleCommands<Rule, Content> {
  list(): readonly Rule[]
  /** 404 for an unknown id and for another user's alike. */
  find(ruleId: number): Rule
  create(content: Content, author: Author): Promise<Rule>
  update(ruleId: number, changes: Partial<Content>, expected: ExpectedRule, author: Author): Promise<Rule>
  remove(ruleId: number, expected: ExpectedRule, author: Author): Promise<void>
}

export function createRuleCommands<Rule extends RoutingRule | FirewallRule, Content>(
  kind: RuleKind<Rule, Content>,
  { rules, ids, writer }: RuleServices,
  userId: number,
): RuleCommands<Rule, Content> {
  // The cast is safe: a kind's name says which list of the set holds its rules.
  const list = () => rules.of(userId)[kind.name] as unknown as readonly Rule[]

  function find(ruleId: number): Rule {
    const rule = list().find((candidate) => candidate.id === ruleId)
    if (rule === undefined) throw new GatewayError('not_found', `There is no ${kind.name} rule with this id.`)
    return rule
  }

  function findExpected(ruleId: number, expected: ExpectedRule): Rule {
    const rule = find(ruleId)
    if (expected === 'any' || expected === rule.revision) return rule
    throw new GatewayError(
      'revision_mismatch',
      `The rule was changed meanwhile: it is at revision ${rule.revision}. Read it again, then repeat the change.`,
    )
  }

  function write(decide: () => readonly RuleEvent[], author: Author) {
    return writer.write(
      { stream: rulesStream(userId), revision: () => rules.revision(userId), decide },
      author,
    )
  }

  return {
    list,
    find,
    async create(content, author) {
      const ruleId = await ids.reserve(1, author)
      await write(() => [kind.created(userId, ruleId, content)], author)
      return find(ruleId)
    },
    async update(ruleId, changes, expected, author) {
      const nothing = Object.keys(changes).length === 0
      await write(() => {
        findExpected(ruleId, expected)
        return nothing ? [] : [kind.updated(userId, ruleId, changes)]
      }, author)
      return find(ruleId)
    },
    async remove(ruleId, expected, author) {
      await write(() => {
        findExpected(ruleId, expected)
        return [kind.deleted(userId, ruleId)]
      }, author)
    },
  }
}

import {
  type Author,
  type FirewallRule,
  GatewayError,
  type JsonObject,
  type RoutingRule,
  type RuleSet,
  type Warning,
} from '../../core/contract/index.ts'
import { type RuleEvent, rulesStream } from '../../core/events/domain-events.ts'
import type { IdSource } from '../../projections/ids.ts'
import type { RuleKindName, Rules } from '../../projections/rules.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'
import type { RuleKind } from './rule-kind.ts'

/** What a change must find: the revision that the caller read, or `any`. */
export type ExpectedRuleRevision = number | 'any'

/** A change to one rule, read and checked as far as that goes without the rule's present state. */
export interface RuleChange {
  /** The rule that it is about; undefined when it makes a new one, which then gets a number. */
  readonly ruleId: number | undefined
  /** Decides on the present state; throws a `GatewayError` to refuse. No events: nothing to do. */
  decide(ruleId: number): readonly RuleEvent[]
  /** What the caller gets when it is done. */
  outcome(ruleId: number): RuleChangeResult
}

export type RuleChangeResult =
  | {
      readonly type: 'rule'
      readonly shown: JsonObject
      readonly revision: number
      readonly warnings: readonly Warning[]
    }
  | { readonly type: 'removed' }

/** One user's rules of one kind: looking them up, and preparing changes to them. */
export interface RuleCommands {
  list(): readonly JsonObject[]
  /** 404 for an unknown id and for another user's alike. */
  show(ruleId: number): RuleChangeResult
  create(body: JsonObject): RuleChange
  update(ruleId: number, body: JsonObject, expected: ExpectedRuleRevision): RuleChange
  remove(ruleId: number, expected: ExpectedRuleRevision): RuleChange
}

/** Opens a kind's desk for a user, over the user's rules as they are unless others are given. */
export type CreateRuleCommands = (userId: number, rules?: () => RuleSet) => RuleCommands

export function createRuleCommands<Rule extends RoutingRule | FirewallRule, Content>(
  kind: RuleKind<Rule, Content>,
  rules: () => RuleSet,
  userId: number,
): RuleCommands {
  // The cast is safe: a kind's name says which list of the set holds its rules.
  const list = () => rules()[kind.name] as unknown as readonly Rule[]

  function find(ruleId: number, expected: ExpectedRuleRevision = 'any'): Rule {
    const rule = list().find((candidate) => candidate.id === ruleId)
    if (rule === undefined) throw ruleNotFoundError(kind.name)
    checkRevision(rule.revision, expected)
    return rule
  }

  function show(ruleId: number): RuleChangeResult {
    const rule = find(ruleId)
    return { type: 'rule', shown: kind.show(rule), revision: rule.revision, warnings: kind.lint(rule) }
  }

  return {
    list: () => list().map(kind.show),
    show,
    create(body) {
      const content = kind.parseNew(body)
      return { ruleId: undefined, decide: (ruleId) => [kind.created(userId, ruleId, content)], outcome: show }
    },
    update(ruleId, body, expected) {
      find(ruleId)
      const changes = kind.parseChanges(body)
      const isEmpty = Object.keys(changes).length === 0
      return {
        ruleId,
        decide() {
          find(ruleId, expected)
          return isEmpty ? [] : [kind.updated(userId, ruleId, changes)]
        },
        outcome: show,
      }
    },
    remove(ruleId, expected) {
      return {
        ruleId,
        decide() {
          find(ruleId, expected)
          return [kind.deleted(userId, ruleId)]
        },
        outcome: () => ({ type: 'removed' }),
      }
    },
  }
}

/** 412 when the rule is not at the revision that the caller read. */
export function checkRevision(actual: number, expected: ExpectedRuleRevision): void {
  if (expected === 'any' || expected === actual) return
  throw new GatewayError(
    'revision_mismatch',
    `The rule was changed meanwhile: it is at revision ${actual}. Read it again, then repeat the change.`,
  )
}

/** The answer for an unknown id and for another user's. */
export function ruleNotFoundError(kind: RuleKindName): GatewayError {
  return new GatewayError('not_found', `There is no ${kind} rule with this id.`)
}

export interface RuleServices {
  readonly rules: Rules
  readonly ids: IdSource
  readonly writer: EventWriter
}

/** Makes all changes to a user's rules in one append, or none; resolves when the next request sees them. */
export async function executeRuleChanges(
  changes: readonly RuleChange[],
  { rules, ids, writer }: RuleServices,
  userId: number,
  author: Author,
): Promise<readonly RuleChangeResult[]> {
  const numbered = await giveNumbers(changes, ids, author)
  const decide = () => numbered.flatMap(({ change, ruleId }) => change.decide(ruleId))
  await writer.write({ stream: rulesStream(userId), revision: () => rules.revision(userId), decide }, author)
  return numbered.map(({ change, ruleId }) => change.outcome(ruleId))
}

/** Each change with its rule's number; new rules get theirs here. */
async function giveNumbers(changes: readonly RuleChange[], ids: IdSource, author: Author) {
  const count = changes.filter(({ ruleId }) => ruleId === undefined).length
  let next = count === 0 ? 0 : await ids.reserve(count, author)
  return changes.map((change) => ({ change, ruleId: change.ruleId ?? next++ }))
}

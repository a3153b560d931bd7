import {
  type Author,
  GatewayError,
  type JsonObject,
  type Rule,
  type RuleSet,
  type Warning,
} from '../../core/contract/index.ts'
import { anyRevision, type Precondition, revisionEtag } from '../../core/http/change-headers.ts'
import { cutPage, type PageQuery } from '../../core/http/pages.ts'
import { answerInTime } from '../../core/threads/timeout.ts'
import { afterManyItems, createCooperativeYield, mapInSlices } from '../../core/util/cooperative-yield.ts'
import type { AnyRuleContent, RuleEvent, RuleOwner } from '../../projections/events/rules.ts'
import type { History } from '../../projections/history.ts'
import type { IdSource } from '../../projections/ids.ts'
import { applyRuleEvents, evaluationRank, type RuleKindName } from '../../projections/rules.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'
import { checkPatternSize, measureRules } from './pattern-size.ts'
import type { RuleKind } from './rule-kind.ts'

/** A change to one rule. The request is validated; the current state of the rule is checked by `decide`. */
export interface RuleChange {
  /** Undefined for a new rule, which gets its id when the change is executed. */
  readonly ruleId: number | undefined
  /** Checks what takes longer than the event loop may be held; called before `decide`. */
  prepare?(): Promise<void>
  /**
   * Returns the events of the change, given the current state; none if nothing changes. Throws a
   * `GatewayError` if the change is not possible.
   */
  decide(ruleId: number): readonly RuleEvent[]
  /** The result for the caller; `rules` are those right after the change. */
  outcome(ruleId: number, rules: RuleSet): RuleChangeResult
}

export type RuleChangeResult =
  | {
      readonly type: 'rule'
      readonly shown: JsonObject
      readonly revision: number
      readonly warnings: readonly Warning[]
    }
  | { readonly type: 'removed' }

/** Reads the rules of one kind of one user or policy, and prepares changes to them. */
export interface RuleCommands {
  /** To be called before `list` and `show`. */
  prepare(): Promise<void>
  /** The body with all rules, or with a page of them. `hasRevisions`: with the revision of each rule. */
  list(page: PageQuery, hasRevisions?: boolean): Promise<JsonObject>
  /** Throws 404 for an unknown id and for the id of another owner's rule. */
  requireRule(ruleId: number): void
  /** Throws 404 as `requireRule` does. */
  show(ruleId: number): RuleChangeResult
  /** Like `show`, with other rules of the owner, such as those right after a change. */
  showIn(ruleId: number, rules: RuleSet): RuleChangeResult
  create(body: JsonObject): RuleChange
  update(ruleId: number, body: JsonObject, expected: Precondition): RuleChange
  remove(ruleId: number, expected: Precondition): RuleChange
}

/** Creates the commands for an owner. They read the owner's current rules unless `rules` is given. */
export type CreateRuleCommands = (ownerId: number, rules?: () => RuleSet) => RuleCommands

/** The rule commands of each kind. */
export type RuleCommandSet = Readonly<Record<RuleKindName, CreateRuleCommands>>

export function createRuleCommands(kind: RuleKind, rules: () => RuleSet, owner: RuleOwner): RuleCommands {
  const ownerId = 'policyId' in owner ? owner.policyId : owner.userId
  const list = (): readonly Rule[] => rules()[kind.name]

  function find(ruleId: number, expected = anyRevision): Rule {
    const rule = findById(list(), ruleId)
    if (rule === undefined) throw ruleNotFoundError(kind.name)
    expected(revisionEtag(rule.revision), 'rule')
    return rule
  }

  /** See docs/decisions/event-log.md, "An answer shows its own change". */
  function showIn(ruleId: number, rules: RuleSet): RuleChangeResult {
    return createRuleCommands(kind, () => rules, owner).show(ruleId)
  }

  function show(ruleId: number): RuleChangeResult {
    const rule = find(ruleId)
    return { type: 'rule', shown: kind.show(rule), revision: rule.revision, warnings: kind.lint(rule) }
  }

  async function prepareChange(content: AnyRuleContent): Promise<void> {
    await kind.prepare?.([content], ownerId)
    kind.check?.(content, owner)
  }

  return {
    prepare: async () => kind.prepare?.(list(), ownerId),
    async list(query, hasRevisions) {
      const showRevision = (rule: Rule) => ({ ...kind.show(rule), revision: rule.revision })
      const { page, next_cursor } = cutPage(list(), query, evaluationRank)
      const data = await mapInSlices(page, hasRevisions ? showRevision : kind.show)
      return Object.keys(query).length > 0 ? { data, next_cursor } : { data }
    },
    requireRule: (ruleId) => void find(ruleId),
    show,
    showIn,
    create(body) {
      const content = kind.parseNew(body)
      return {
        ruleId: undefined,
        prepare: () => prepareChange(content),
        decide: (ruleId) => [kind.created(owner, ruleId, content)],
        outcome: showIn,
      }
    },
    update(ruleId, body, expected) {
      const current = find(ruleId)
      const changes = kind.parseChanges(body)
      const isEmpty = Object.keys(changes).length === 0
      return {
        ruleId,
        // The cast is safe: both are of the same kind.
        prepare: () => prepareChange({ ...current, ...changes } as AnyRuleContent),
        decide() {
          find(ruleId, expected)
          return isEmpty ? [] : [kind.updated(owner, ruleId, changes)]
        },
        outcome: showIn,
      }
    },
    remove(ruleId, expected) {
      return {
        ruleId,
        decide() {
          find(ruleId, expected)
          return [kind.deleted(owner, ruleId)]
        },
        outcome: () => ({ type: 'removed' }),
      }
    },
  }
}

/** Lists that were searched, by how often, and their indexes. */
const searched = new WeakMap<readonly object[], number | ReadonlyMap<number, unknown>>()

/** Single changes search a list a few times. */
const MAX_SEARCHES = 8

/** A batch finds a thousand rules in the same list, for which an index is worth its time. */
function findById(rules: readonly Rule[], id: number): Rule | undefined {
  const known = searched.get(rules) ?? 0
  // The cast is safe: the index of a list holds its rules.
  if (typeof known !== 'number') return known.get(id) as Rule | undefined
  searched.set(rules, known < MAX_SEARCHES ? known + 1 : new Map(rules.map((rule) => [rule.id, rule])))
  return rules.find((rule) => rule.id === id)
}

/** The error for an unknown id and for the id of another owner's rule. */
export function ruleNotFoundError(kind: RuleKindName): GatewayError {
  return new GatewayError('not_found', `The ${kind} rule was not found.`)
}

/** The current rules of all users, or of all policies. */
export interface OwnedRules {
  of(ownerId: number): RuleSet
  owner(ownerId: number): RuleOwner
  /** The stream of the rules' events, and its revision. */
  stream(ownerId: number): string
  revision(ownerId: number): number
  /** Throws 404 if there is no such owner, or 401 if it is the caller. */
  requireOwner(ownerId: number): void
}

export interface RuleServices {
  readonly rules: OwnedRules
  readonly ids: IdSource
  readonly writer: EventWriter
  readonly history: Pick<History, 'rulesOf' | 'eventsOfChange'>
}

/** Executes all changes in one atomic append. Resolves once they apply to the next request. */
export async function executeRuleChanges(
  changes: readonly RuleChange[],
  services: RuleServices,
  ownerId: number,
  author: Author,
): Promise<readonly RuleChangeResult[]> {
  const slice = createCooperativeYield()
  await checkSizeFirst(changes, services.rules, ownerId)
  for (const change of changes) {
    await change.prepare?.()
    if (slice.isDue()) await slice.yieldNow()
  }
  if (changes.length > 1) await slice.yieldNow()
  return answerInTime(writeChanges(changes, services, ownerId, author))
}

/**
 * Throws 400 for changes that would be too large, before their patterns are analyzed: that takes up to a
 * minute. What else is wrong with them is reported in its turn.
 */
async function checkSizeFirst(
  changes: readonly RuleChange[],
  { of }: OwnedRules,
  ownerId: number,
): Promise<void> {
  const before = of(ownerId)
  await measureRules(before)
  let draftId = Number.MAX_SAFE_INTEGER
  const events = await mapInSlices(changes, ({ ruleId, decide }) => {
    try {
      return decide(ruleId ?? draftId--)
    } catch (error) {
      if (!GatewayError.isInstance(error)) throw error
      return []
    }
  })
  checkPatternSize(before, events.flat())
}

async function writeChanges(
  changes: readonly RuleChange[],
  { rules, ids, writer }: RuleServices,
  ownerId: number,
  author: Author,
): Promise<readonly RuleChangeResult[]> {
  const changesWithIds = await assignIds(changes, ids, author)
  let before = rules.of(ownerId)
  // The first look-up after many changes has folded their events.
  await afterManyItems(changes.length)
  await measureRules(before)
  let events: readonly RuleEvent[] = []
  function decide(): readonly RuleEvent[] {
    rules.requireOwner(ownerId)
    before = rules.of(ownerId)
    events = changesWithIds.flatMap(({ change, ruleId }) => change.decide(ruleId))
    checkPatternSize(before, events)
    return events
  }
  const command = { stream: rules.stream(ownerId), revision: () => rules.revision(ownerId), decide }
  const written = await writer.write(command, author)
  // The deletion of a user, which is in another stream, may have been written first.
  rules.requireOwner(ownerId)
  await afterManyItems(events.length)
  const after = written ? applyRuleEvents(before, events, written) : before
  const results = await mapInSlices(changesWithIds, ({ change, ruleId }) => change.outcome(ruleId, after))
  const replaced = written?.replacedWorkers ?? []
  return replaced.length === 0 ? results : results.map((result) => withReplacedWorkers(result, replaced))
}

/** See docs/decisions/cluster.md, "A worker that hangs is killed". */
function withReplacedWorkers(result: RuleChangeResult, replaced: readonly number[]): RuleChangeResult {
  if (result.type !== 'rule') return result
  const message =
    `The change was made. Worker ${replaced.join(', ')} did not respond and was replaced; requests in ` +
    'flight there have failed.'
  return { ...result, warnings: [...result.warnings, { code: 'workers_replaced', message }] }
}

/** Pairs each change with the id of its rule, and reserves ids for new rules. */
async function assignIds(changes: readonly RuleChange[], ids: IdSource, author: Author) {
  const count = changes.filter(({ ruleId }) => ruleId === undefined).length
  let nextId = count === 0 ? 0 : await ids.reserve(count, author)
  return changes.map((change) => ({ change, ruleId: change.ruleId ?? nextId++ }))
}

/** Prepares a change, and prefixes its errors as `prefixErrors` does. */
export async function prefixRejection(path: string, change: RuleChange): Promise<void> {
  try {
    await change.prepare?.()
  } catch (error) {
    prefixErrors(path, () => {
      throw error
    })
  }
}

/** Runs a function and prefixes the message of a `GatewayError` with a path in the request body. */
export function prefixErrors<Result>(path: string, run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    if (!GatewayError.isInstance(error)) throw error
    throw error.withMessage(`${path}: ${error.message}`)
  }
}

import type { Position, RuleOrigin, RuleSet } from '../core/contract/index.ts'
import type { EventEntry } from '../core/events/define-event.ts'
import type { PolicyEvent, PolicyScope } from './events/policies.ts'
import { foldPolicy, type Policy } from './events/policies.ts'
import type { DomainEvent } from './events/registry.ts'
import { evolveUserRules, isRuleEvent, type RuleEvent, type UserRules } from './events/rules.ts'
import {
  compareOrder,
  copyUserRules,
  emptyRuleSet,
  emptyUserRules,
  parseUserRules,
  RULE_KINDS,
  serializeUserRules,
  toRuleSet,
} from './rules.ts'
import type { SavedProjection } from './runtime/projection.ts'

/** All policies and their rules, in memory. */
export interface Policies extends SavedProjection {
  policy(id: number): Policy | undefined
  /** In evaluation order. */
  policies(): readonly Policy[]
  /** The first policy that names the group, whether it is enabled or not. */
  policyOfGroup(groupId: number): Policy | undefined
  /** Ids of all policies that were ever created, ascending. */
  allIds(): readonly number[]
  /** A policy's current rules. Returns the same object until its next rule event, or until it is renamed. */
  rulesOf(policyId: number): RuleSet
  /** Revision of the policy's stream; -1 before it is created. */
  revision(policyId: number): number
  /**
   * The rules of the enabled policies that apply to a user, in evaluation order. `groupIds` is the list that
   * `Groups` returns for the user. Returns the same object until the next change.
   */
  ruleSetsFor(userId: number, groupIds: readonly number[]): readonly RuleSet[]
  /** Position of the newest event of a policy; 0 before the first one. */
  position(): Position
}

/** A policy as its events are folded. `settings` is undefined once it is deleted. */
interface PolicyState {
  readonly settings: Policy | undefined
  readonly rules: UserRules
  readonly revision: number
  /** Undefined until the first look-up after a change. */
  ruleSet: RuleSet | undefined
}

/** The policies in force: those that are enabled and have rules, in evaluation order. */
interface InForce {
  readonly policies: readonly Policy[]
  /** Users whom a policy names. All others get what their groups get. */
  readonly namedUsers: ReadonlySet<number>
  /** By the list of groups that many users share. */
  readonly byGroups: WeakMap<readonly number[], readonly RuleSet[]>
  readonly byUser: Map<number, { groupIds: readonly number[]; ruleSets: readonly RuleSet[] }>
}

const NONE: readonly RuleSet[] = []

export function createPolicies(): Policies {
  const states = new Map<number, PolicyState>()
  let position = 0
  let inForce: InForce | undefined
  /** Rules that no `save` is reading and that may therefore be modified in place. */
  let mutableRules = new WeakSet<UserRules>()

  function evolve(state: PolicyState | undefined, event: PolicyEvent | RuleEvent, record: EventEntry) {
    const { settings, rules = emptyUserRules(), ruleSet } = state ?? {}
    const { revision } = record
    if (isRuleEvent(event)) {
      const mutable = mutableRules.has(rules) ? rules : copyUserRules(rules)
      mutableRules.add(mutable)
      evolveUserRules(mutable, event, record)
      return { settings, rules: mutable, revision, ruleSet: undefined }
    }
    const evolved = foldPolicy(settings, event, record)
    const isRenamed = evolved?.name !== settings?.name
    return { settings: evolved, rules, revision, ruleSet: isRenamed ? undefined : ruleSet }
  }

  function rulesOf(policyId: number): RuleSet {
    const state = states.get(policyId)
    if (state?.settings === undefined) return emptyRuleSet(policyId)
    state.ruleSet ??= { ...toRuleSet(policyId, state.rules), origin: toOrigin(state.settings) }
    return state.ruleSet
  }

  function inOrder(): Policy[] {
    const policies = [...states.values()].flatMap(({ settings }) => settings ?? [])
    return policies.sort(compareOrder)
  }

  function findInForce(): InForce {
    const policies = inOrder().filter(({ id, isEnabled }) => {
      const rules = rulesOf(id)
      return isEnabled && RULE_KINDS.some((kind) => rules[kind].length > 0)
    })
    const named = policies.flatMap(({ appliesTo }) => ('everyone' in appliesTo ? [] : appliesTo.users))
    return { policies, namedUsers: new Set(named), byGroups: new WeakMap(), byUser: new Map() }
  }

  return {
    name: 'policies',
    apply(event, record) {
      if (!isOfPolicy(event)) return
      const { policyId } = event.data
      states.set(policyId, evolve(states.get(policyId), event, record))
      position = record.position
      inForce = undefined
    },
    policy: (id) => states.get(id)?.settings,
    policies: inOrder,
    policyOfGroup: (groupId) =>
      inOrder().find(({ appliesTo }) => !('everyone' in appliesTo) && appliesTo.groups.includes(groupId)),
    allIds: () => [...states.keys()].sort((a, b) => a - b),
    rulesOf,
    revision: (policyId) => states.get(policyId)?.revision ?? -1,
    ruleSetsFor(userId, groupIds) {
      if (states.size === 0) return NONE
      inForce ??= findInForce()
      const { policies, namedUsers, byGroups, byUser } = inForce
      const select = () => {
        const applying = policies.filter(({ appliesTo }) => appliesToUser(appliesTo, userId, groupIds))
        return applying.length === 0 ? NONE : applying.map(({ id }) => rulesOf(id))
      }
      if (!namedUsers.has(userId)) {
        const known = byGroups.get(groupIds)
        if (known !== undefined) return known
        const ruleSets = select()
        byGroups.set(groupIds, ruleSets)
        return ruleSets
      }
      const known = byUser.get(userId)
      if (known?.groupIds === groupIds) return known.ruleSets
      const ruleSets = select()
      byUser.set(userId, { groupIds, ruleSets })
      return ruleSets
    },
    position: () => position,
    save() {
      mutableRules = new WeakSet()
      return serializePolicies(position, new Map(states))
    },
    load(lines) {
      for (const line of lines) {
        const saved: SavedLine = JSON.parse(line.toString())
        if ('position' in saved) position = saved.position
        else states.set(saved.id, loadState(saved))
      }
    },
  }
}

function appliesToUser(scope: PolicyScope, userId: number, groupIds: readonly number[]): boolean {
  if ('everyone' in scope) return true
  return scope.users.includes(userId) || scope.groups.some((id) => groupIds.includes(id))
}

function toOrigin({ id, name }: Policy): RuleOrigin {
  return { type: 'policy', id, name }
}

function isOfPolicy(
  event: DomainEvent,
): event is PolicyEvent | (RuleEvent & { data: { readonly policyId: number } }) {
  return 'policyId' in event.data
}

type SavedLine =
  | { readonly position: Position }
  | {
      readonly id: number
      readonly settings?: Policy
      readonly revision: number
      readonly rules: string
    }

function* serializePolicies(position: Position, states: ReadonlyMap<number, PolicyState>): Generator<string> {
  const toLine = (line: SavedLine) => JSON.stringify(line)
  yield toLine({ position })
  for (const [id, { settings, revision, rules }] of states)
    yield toLine({ id, ...(settings && { settings }), revision, rules: serializeUserRules(id, rules) })
}

function loadState({ settings, revision, rules }: Exclude<SavedLine, { position: Position }>): PolicyState {
  return { settings, revision, rules: parseUserRules(rules), ruleSet: undefined }
}

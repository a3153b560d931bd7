import { GatewayError } from '../../core/contract/index.ts'
import type { PolicyScope } from '../../projections/events/policies.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'
import { isRuleEvent } from '../../projections/events/rules.ts'
import type { PlannedId, RulesFileState } from './planned.ts'
import type { Reference, ReferenceKind } from './sections.ts'

/** Collects the issues of a file by path, such as `policies[0].firewall_rules[2].pattern`. */
export class FileIssues {
  readonly #issues = new Map<string, string[]>()

  add(path: string, message: string): void {
    const known = this.#issues.get(path)
    if (known === undefined) this.#issues.set(path, [message])
    else known.push(message)
  }

  /** Returns what the function returns; undefined if it throws a `GatewayError`, which is added. */
  async collect<Result>(path: string, run: () => Result | Promise<Result>): Promise<Result | undefined> {
    try {
      return await run()
    } catch (error) {
      if (!GatewayError.isInstance(error)) throw error
      const { errors, param } = error.details
      for (const [field, messages] of Object.entries(errors ?? {}))
        for (const message of messages) this.add(`${path}.${field}`, message)
      if (errors === undefined) this.add(param === undefined ? path : `${path}.${param}`, error.message)
      return undefined
    }
  }

  /** Throws 422 with all issues, if there are any. */
  throwIfAny(): void {
    if (this.#issues.size === 0) return
    const lines = [...this.#issues].flatMap(([path, messages]) => messages.map((text) => `${path}: ${text}`))
    const count = lines.length === 1 ? '1 issue' : `${lines.length} issues`
    const shown = lines.length > MAX_SHOWN ? [...lines.slice(0, MAX_SHOWN), '…'] : lines
    throw new GatewayError('validation_error', `The file has ${count}. ${shown.join(' ')}`, {
      errors: Object.fromEntries(this.#issues),
    })
  }
}

/** The message of the error names this many issues; all of them are listed under `errors`. */
const MAX_SHOWN = 3

/** Finds users and groups by id or by name: groups as they are after the change. */
export class References {
  readonly #state: RulesFileState
  #usersByName: ReadonlyMap<string, readonly number[]> | undefined
  readonly #namedGroups = new Map<number | string, NamedGroup>()

  constructor(state: RulesFileState) {
    this.#state = state
  }

  /** The group has this name after the change; undefined if it is removed. */
  nameGroup(id: PlannedId, name: string | undefined): void {
    this.#namedGroups.set(keyOf(id), { id, name })
  }

  find(kind: ReferenceKind, reference: Reference): PlannedId | string {
    return kind === 'user' ? this.findUser(reference) : this.findGroup(reference)
  }

  /** Returns the id, or the issue as a sentence. */
  findUser(reference: Reference): number | string {
    const { accounts } = this.#state
    if (typeof reference === 'number')
      return accounts.user(reference) ? reference : `User ${reference} was not found.`
    this.#usersByName ??= groupByName(accounts.users())
    return theOnly('user', reference, this.#usersByName.get(reference) ?? [])
  }

  findGroup(reference: Reference): PlannedId | string {
    const { groups } = this.#state
    if (typeof reference === 'number') {
      const isKnown = groups.group(reference) && this.#nameAfter(reference) !== undefined
      return isKnown ? reference : `Group ${reference} was not found, or is removed by the file.`
    }
    const others = groups.groups().filter(({ id }) => !this.#namedGroups.has(id))
    const named = [...others, ...this.#namedGroups.values()].flatMap(({ id, name }) =>
      name === reference ? [id] : [],
    )
    return theOnly('group', reference, named)
  }

  userName(id: number): string {
    return this.#state.accounts.user(id)?.name ?? ''
  }

  groupName(id: PlannedId): string {
    return this.#nameAfter(id) ?? ''
  }

  #nameAfter(id: PlannedId): string | undefined {
    const named = this.#namedGroups.get(keyOf(id))
    return named || typeof id !== 'number' ? named?.name : this.#state.groups.group(id)?.name
  }
}

/** A group of the file. */
interface NamedGroup {
  readonly id: PlannedId
  readonly name: string | undefined
}

/** The same for copies of an id. */
function keyOf(id: PlannedId): number | string {
  return typeof id === 'number' ? id : `new ${id.newIndex}`
}

function groupByName(
  entries: readonly { readonly id: number; readonly name: string }[],
): ReadonlyMap<string, readonly number[]> {
  const byName = new Map<string, number[]>()
  for (const { id, name } of entries) byName.set(name, [...(byName.get(name) ?? []), id])
  return byName
}

function theOnly<Id extends PlannedId>(what: string, name: string, ids: readonly Id[]): Id | string {
  const [id, another] = ids
  if (id === undefined) return `There is no ${what} with the name "${name}".`
  return another === undefined ? id : `More than one ${what} has the name "${name}". Use the id.`
}

/**
 * Returns what has happened to a group, a policy or a user that makes events without effect, as a sentence;
 * undefined if they have one. These are in other streams than the events, so no revision tells.
 */
export function findLostReference(
  events: readonly DomainEvent[],
  state: Pick<RulesFileState, 'accounts' | 'groups' | 'policies'>,
): string | undefined {
  for (const event of events) {
    const issue = findIssue(event, state)
    if (issue !== undefined) return issue
  }
  return undefined
}

function findIssue(
  event: DomainEvent,
  { accounts, groups, policies }: Pick<RulesFileState, 'accounts' | 'groups' | 'policies'>,
): string | undefined {
  if (event.type === 'GroupDeleted') {
    const { groupId } = event.data
    const policy = policies.policyOfGroup(groupId)
    if (policy) return `Policy ${policy.id} ("${policy.name}") was applied to group ${groupId} meanwhile.`
  }
  const scope = scopeOf(event)
  const groupId = scope.groups.find((id) => groups.group(id) === undefined)
  if (groupId !== undefined) return `Group ${groupId} was deleted meanwhile.`
  const userId = scope.users.find((id) => accounts.user(id) === undefined)
  return userId === undefined ? undefined : `User ${userId} was deleted meanwhile.`
}

/** The groups and users that the event requires. */
function scopeOf(event: DomainEvent): Exclude<PolicyScope, { everyone: true }> {
  const { type, data } = event
  if (isRuleEvent(event)) return { groups: [], users: 'userId' in event.data ? [event.data.userId] : [] }
  if (type === 'UserAddedToGroup') return { groups: [data.groupId], users: [data.userId] }
  const scope =
    type === 'PolicyCreated' ? data.appliesTo : type === 'PolicyUpdated' ? data.changes.appliesTo : undefined
  return scope === undefined || 'everyone' in scope ? { groups: [], users: [] } : scope
}

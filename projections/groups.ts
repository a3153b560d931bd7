import type { Position } from '../core/contract/index.ts'
import type { EventEntry } from '../core/events/define-event.ts'
import { foldGroup, type Group } from './events/groups.ts'
import type { SavedProjection } from './runtime/projection.ts'

/** All groups and their members, in memory. */
export interface Groups extends SavedProjection {
  group(id: number): Group | undefined
  /** Sorted by id. */
  groups(): readonly Group[]
  /** Revision of the group's stream; -1 if there is no such group. */
  revision(id: number): number
  /** Ids of the user's groups, ascending. Users of the same groups share the list. */
  groupsOf(userId: number): readonly number[]
  /** Ids of the users in a group, ascending. Takes a look at every user who is in a group. */
  members(groupId: number): readonly number[]
  /** Position at which a group that the user was in was last deleted; 0 if none was since they joined one. */
  deletedAt(userId: number): Position
  /** Events that had no effect, because another node decided on them before it knew of an earlier event. */
  withoutEffect(): ReadonlyMap<Position, LostRace>
}

/** The policy that kept a group from being deleted; null: the group of a member was deleted already. */
export type LostRace = { readonly policyId: number | null }

/**
 * The groups that some users have in common. Changes when one of them is deleted. See
 * docs/decisions/policies.md, "Users of the same groups share one list".
 */
interface Combination {
  ids: readonly number[]
  /** Position of the last deletion; 0 if there was none. */
  deletedAt: Position
}

const NONE: Combination = { ids: [], deletedAt: 0 }

/**
 * `findPolicy` returns the id of a policy that applies to a group: then the group's deletion, which another
 * process decided on before it knew the policy, has no effect. See docs/decisions/policies.md, "A policy
 * keeps its groups".
 */
export function createGroups(findPolicy: (groupId: number) => number | undefined = () => undefined): Groups {
  const groups = new Map<number, Group>()
  const combinations = new Map<string, Combination>()
  /** Includes combinations that have become equal to another one. */
  const all = new Set<Combination>()
  const combinationOf = new Map<number, Combination>()
  const withoutEffect = new Map<Position, LostRace>()

  function combine(ids: readonly number[], deletedAt: Position): Combination {
    const key = keyOf({ ids, deletedAt })
    const known = combinations.get(key)
    if (known !== undefined) return known
    const created = { ids, deletedAt }
    combinations.set(key, created)
    all.add(created)
    return created
  }

  function setGroups(userId: number, ids: readonly number[], deletedAt = 0): void {
    if (ids.length === 0 && deletedAt === 0) combinationOf.delete(userId)
    else combinationOf.set(userId, combine(ids, deletedAt))
  }

  function removeGroup(id: number, position: Position): void {
    groups.delete(id)
    combinations.clear()
    for (const combination of all) {
      if (combination.ids.includes(id)) {
        combination.ids = combination.ids.filter((other) => other !== id)
        combination.deletedAt = position
      }
      combinations.set(keyOf(combination), combination)
    }
  }

  /** The event counts as one of the group's, because revisions are those of the stream. */
  function keepGroup(id: number, policyId: number, { position, revision }: EventEntry): void {
    const group = groups.get(id)
    if (group !== undefined) groups.set(id, { ...group, revision: revision + 1 })
    withoutEffect.set(position, { policyId })
  }

  return {
    name: 'groups',
    apply(event, record) {
      if (event.type === 'UserAddedToGroup' || event.type === 'UserRemovedFromGroup') {
        const { userId, groupId } = event.data
        // Another node may have written this before it applied the deletion of the group.
        if (!groups.has(groupId)) return void withoutEffect.set(record.position, { policyId: null })
        const others = (combinationOf.get(userId) ?? NONE).ids.filter((id) => id !== groupId)
        const isAdded = event.type === 'UserAddedToGroup'
        setGroups(userId, isAdded ? [...others, groupId].sort((a, b) => a - b) : others)
        return
      }
      if (event.type === 'UserDeleted') setGroups(event.data.userId, [])
      if (!foldGroup.has(event)) return
      const { groupId } = event.data
      const keptBy = event.type === 'GroupDeleted' ? findPolicy(groupId) : undefined
      if (keptBy !== undefined) return keepGroup(groupId, keptBy, record)
      const group = foldGroup(groups.get(groupId), event, record)
      if (group === undefined) removeGroup(groupId, record.position)
      else groups.set(groupId, group)
    },
    group: (id) => groups.get(id),
    groups: () => [...groups.values()].sort((a, b) => a.id - b.id),
    // Revisions of groups count from 1, those of streams from 0.
    revision: (id) => (groups.get(id)?.revision ?? 0) - 1,
    groupsOf: (userId) => (combinationOf.get(userId) ?? NONE).ids,
    members(groupId) {
      const userIds: number[] = []
      for (const [userId, { ids }] of combinationOf) if (ids.includes(groupId)) userIds.push(userId)
      return userIds.sort((a, b) => a - b)
    },
    deletedAt: (userId) => (combinationOf.get(userId) ?? NONE).deletedAt,
    withoutEffect: () => withoutEffect,
    save() {
      const copies = new Map([...all].map((combination) => [combination, { ...combination }]))
      return serializeGroups([...groups.values()], new Map(combinationOf), copies, [...withoutEffect])
    },
    load(lines) {
      for (const line of lines) {
        const [part, content]: SavedPart = JSON.parse(line.toString())
        if (part === 'group') groups.set(content.id, content)
        else if (part === 'members')
          for (const [userId, ids, deletedAt] of content) setGroups(userId, ids, deletedAt)
        else for (const [position, race] of content) withoutEffect.set(position, race)
      }
    },
  }
}

function keyOf({ ids, deletedAt }: Combination): string {
  return `${ids.join()}@${deletedAt}`
}

type SavedPart =
  | readonly ['group', Group]
  | readonly ['members', readonly SavedMember[]]
  | readonly ['without-effect', readonly (readonly [Position, LostRace])[]]

type SavedMember = readonly [userId: number, groupIds: readonly number[], deletedAt: Position]

/** Users on one line of a snapshot. */
const LINE_USERS = 1000

function* serializeGroups(
  groups: readonly Group[],
  combinationOf: ReadonlyMap<number, Combination>,
  copies: ReadonlyMap<Combination, Combination>,
  withoutEffect: readonly (readonly [Position, LostRace])[],
): Generator<string> {
  const toLine = (part: SavedPart) => JSON.stringify(part)
  for (const group of groups) yield toLine(['group', group])
  let users: SavedMember[] = []
  for (const [userId, combination] of combinationOf) {
    const { ids, deletedAt } = copies.get(combination) ?? combination
    users.push([userId, ids, deletedAt])
    if (users.length < LINE_USERS) continue
    yield toLine(['members', users])
    users = []
  }
  if (users.length > 0) yield toLine(['members', users])
  if (withoutEffect.length > 0) yield toLine(['without-effect', withoutEffect])
}

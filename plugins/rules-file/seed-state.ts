import type { Author } from '../../core/contract/index.ts'
import { IDS_STREAM } from '../../core/events/log-events.ts'
import { groupStream } from '../../projections/events/groups.ts'
import { policyStream } from '../../projections/events/policies.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'
import { rulesStream } from '../../projections/events/rules.ts'
import { userStream } from '../../projections/events/users.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'
import type { RuleListName } from './planned.ts'
import type { RulesFile, UserEntry } from './schemas.ts'
import type { Reference } from './sections.ts'

/**
 * Writes what a file refers to into an empty event log, so that the file can be applied to it: users, groups,
 * and what has an id, which the file then changes to what it says.
 */
export async function seedState(file: RulesFile, writer: EventWriter, author: Author): Promise<void> {
  for (const [stream, events] of seedEvents(file))
    await writer.write({ stream, decide: () => events, isInternal: true }, author)
}

function seedEvents(file: RulesFile): ReadonlyMap<string, DomainEvent[]> {
  const { groups = [], policies = [], users = [] } = file
  const streams = new Map<string, DomainEvent[]>()
  const add = (stream: string, ...events: DomainEvent[]) =>
    streams.set(stream, [...(streams.get(stream) ?? []), ...events])
  let lastId = Math.max(0, ...listIds(file))
  add(IDS_STREAM, { type: 'IdsReserved', data: { first: 1, count: lastId + 10_000_000 } })

  const scopes = policies.flatMap(({ applies_to }) =>
    applies_to === undefined || 'everyone' in applies_to ? [] : [applies_to],
  )
  const userIds = new Map<Reference, number>()
  const references = [
    ...users.map(({ user }) => user),
    ...groups.flatMap(({ members }) => members ?? []),
    ...scopes.flatMap((scope) => scope.users ?? []),
  ]
  for (const reference of new Set(references)) {
    const userId = typeof reference === 'number' ? reference : ++lastId
    userIds.set(reference, userId)
    const name = typeof reference === 'number' ? `user ${reference}` : reference
    add(userStream(userId), { type: 'UserCreated', data: { userId, name, plan: 'paid' } })
  }
  const addGroup = (groupId: number, name: string) =>
    add(groupStream(groupId), { type: 'GroupCreated', data: { groupId, name, description: null } })
  for (const { id, name, absent } of groups)
    if (id !== undefined && !absent) addGroup(id, name ?? `group ${id}`)
  const listed = new Set<Reference | undefined>(groups.flatMap(({ id, name }) => [id, name]))
  for (const reference of new Set(scopes.flatMap((scope) => scope.groups ?? []))) {
    if (listed.has(reference)) continue
    if (typeof reference === 'number') addGroup(reference, `group ${reference}`)
    else addGroup(++lastId, reference)
  }
  for (const { id: policyId, name = `policy ${policyId}`, absent, ...entry } of policies) {
    if (policyId === undefined || absent) continue
    const content = { name, description: null, isEnabled: false, priority: 0 }
    const data = { policyId, ...content, appliesTo: { everyone: true } as const }
    add(policyStream(policyId), { type: 'PolicyCreated', data }, ...seedRules(entry, { policyId }))
  }
  for (const entry of users) {
    const userId = userIds.get(entry.user) ?? 0
    const events = seedRules(entry, { userId })
    if (events.length > 0) add(rulesStream(userId), ...events)
  }
  return streams
}

const RULE = { name: '', is_enabled: false, priority: 0 }

/** Rules with the ids of the file, which do nothing. */
function seedRules(
  { firewall_rules = [], routing_rules = [], tool_rules = [] }: Pick<UserEntry, RuleListName>,
  owner: { readonly userId: number } | { readonly policyId: number },
): readonly DomainEvent[] {
  const firewall = {
    scope: 'prompt',
    type: 'substring',
    pattern: '-',
    action: 'warn',
    replacement: null,
  } as const
  const routing = { match_json: {}, action_json: {} }
  const tool = { match: {}, action: 'warn' } as const
  return [
    ...idsOf(firewall_rules).map((ruleId) => {
      const content = { ...RULE, ...firewall }
      return { type: 'FirewallRuleCreated', data: { ...owner, ruleId, content } } as const
    }),
    ...idsOf(routing_rules).map((ruleId) => {
      const content = { ...RULE, ...routing }
      return { type: 'RoutingRuleCreated', data: { ...owner, ruleId, content } } as const
    }),
    ...idsOf(tool_rules).map((ruleId) => {
      const content = { ...RULE, ...tool }
      return { type: 'ToolRuleCreated', data: { ...owner, ruleId, content } } as const
    }),
  ]
}

function idsOf(rules: readonly { readonly id?: unknown }[]): readonly number[] {
  const ids = rules.flatMap(({ id }) => (typeof id === 'number' ? [id] : []))
  return [...new Set(ids)]
}

/** Every number that may be an id of the file. */
function listIds(value: unknown): readonly number[] {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value < 2 ** 50 ? [value] : []
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(listIds) : []
}

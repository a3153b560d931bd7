import { createHash } from 'node:crypto'
import path from 'node:path'
import { ROOT_ACTOR } from '../../core/event-log/actor.ts'
import { SqliteDatabase } from '../../core/event-log/sqlite/database.ts'
import { openSqliteLog } from '../../core/event-log/sqlite/sqlite-log.ts'
import { createMetadata } from '../../core/events/codec.ts'
import { createClock } from '../../core/util/clock.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'

/**
 * Fills an embedded log: first all users, then their rule changes, interleaved. Of ten rule events, six
 * create, three update and one deletes. User `n` has the key `tr_n`. Returns the number of events.
 */
export async function generateLog(directory: string, users: number, eventsPerUser: number): Promise<number> {
  await (await openSqliteLog({ directory })).close()
  const database = new SqliteDatabase(path.join(directory, 'events.db'))
  database.pragma('synchronous = OFF')
  const insert = database.prepare(
    'INSERT INTO events (stream, revision, type, data, metadata) VALUES (?, ?, ?, ?, ?)',
  )
  const clock = createClock()
  const revisions = new Map<string, number>()
  let count = 0
  let nextId = 1

  function write(stream: string, { type, data }: DomainEvent, actorId: string): void {
    const revision = (revisions.get(stream) ?? -1) + 1
    revisions.set(stream, revision)
    const actor = actorId === 'admin' ? ROOT_ACTOR : ({ type: 'key', id: actorId, name: actorId } as const)
    const metadata = createMetadata({ actor, requestId: 'req_4kT0cBbkGm9WpN2vXyZ71AqQ' }, clock())
    insert.run(stream, revision, type, JSON.stringify(data), JSON.stringify(metadata))
    count += 1
  }
  function reserve(actor: string): number {
    write('ids', { type: 'IdsReserved', data: { first: nextId, count: 1 } }, actor)
    return nextId++
  }

  const owners: { userId: number; keyId: string; rules: Rule[] }[] = []
  const fill = database.transaction(() => {
    for (let n = 1; n <= users; n++) {
      const userId = reserve('admin')
      const keyId = `key_${String(n).padStart(24, '0')}`
      const hash = createHash('sha256').update(`tr_${n}`).digest('hex')
      const stream = `user-${userId}`
      write(stream, { type: 'UserCreated', data: { userId, name: `user ${n}`, plan: 'paid' } }, 'admin')
      write(stream, { type: 'KeyIssued', data: { userId, keyId, hash } }, 'admin')
      owners.push({ userId, keyId, rules: [] })
    }
    for (let turn = 0; turn < eventsPerUser; turn++) {
      for (const { userId, keyId, rules } of owners) {
        const kind = turn % 10
        if (kind < 6) rules.push({ ruleId: reserve(keyId), isRouting: kind % 2 === 0 })
        const rule = kind < 6 ? rules.at(-1) : rules[turn % rules.length]
        if (rule) write(`rules-${userId}`, ruleEvent(kind, userId, rule), keyId)
      }
    }
  })
  fill()
  database.close()
  return count
}

interface Rule {
  readonly ruleId: number
  readonly isRouting: boolean
}

function ruleEvent(kind: number, userId: number, { ruleId, isRouting }: Rule): DomainEvent {
  if (kind === 9)
    return { type: isRouting ? 'RoutingRuleDeleted' : 'FirewallRuleDeleted', data: { userId, ruleId } }
  if (kind >= 6) {
    const changes = { priority: kind, is_enabled: kind !== 7 }
    return isRouting
      ? { type: 'RoutingRuleUpdated', data: { userId, ruleId, changes } }
      : { type: 'FirewallRuleUpdated', data: { userId, ruleId, changes } }
  }
  const general = { name: `rule ${ruleId} of ${userId}`, is_enabled: true, priority: kind }
  if (isRouting) {
    const match_json = { endpoint: ['chat'], contains: ['translate', `project ${ruleId}`], mode: 'balance' }
    const action_json = { set_provider: 'openai', set_model: 'gpt-5-mini', add_metadata: { team: 'search' } }
    const content = { ...general, match_json, action_json }
    return { type: 'RoutingRuleCreated', data: { userId, ruleId, content } }
  }
  const pattern = `\\bsecret[-_ ]?${ruleId}\\b`
  const content = { ...general, scope: 'prompt', type: 'regex', pattern, action: 'mask' } as const
  return {
    type: 'FirewallRuleCreated',
    data: { userId, ruleId, content: { ...content, replacement: '***' } },
  }
}

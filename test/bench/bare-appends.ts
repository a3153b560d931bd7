import { EventStoreDBClient, jsonEvent, NO_STREAM } from '@eventstore/db-client'

/**
 * Appends per second that a server takes from the official client, with one event of the size of a rule in
 * each and an expected revision. Every writer has a stream of its own and waits for each answer.
 */
export async function measureBareAppends(url: string, writers: number, seconds: number): Promise<number> {
  const client = EventStoreDBClient.connectionString(url)
  const end = performance.now() + seconds * 1000
  let count = 0
  const write = async (_: unknown, writer: number) => {
    const stream = `bare-${process.hrtime.bigint()}-${writer}`
    for (let revision = -1n; performance.now() < end; revision++) {
      const event = jsonEvent({ type: 'FirewallRuleCreated', data: DATA, metadata: METADATA })
      const expectedRevision = revision < 0n ? NO_STREAM : revision
      await client.appendToStream(stream, event, { expectedRevision })
      count += 1
    }
  }
  await Promise.all(Array.from({ length: writers }, write))
  await client.dispose()
  return count / seconds
}

const DATA = {
  userId: 5,
  ruleId: 77,
  content: {
    name: 'rule 77',
    is_enabled: true,
    priority: 0,
    scope: 'prompt',
    type: 'contains',
    pattern: 'pattern 77',
    action: 'warn',
  },
}

const METADATA = {
  actor: { type: 'key', id: 'key_000000000000000000000001', name: 'user 5' },
  requestId: 'req_4kT0cBbkGm9WpN2vXyZ71AqQ',
  time: '2026-01-01T00:00:00.000000Z',
  schema: 2,
}

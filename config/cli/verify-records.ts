import type { RecordedEvent } from '../../core/contract/index.ts'
import { type DomainEvent, decodeEvent } from '../../core/events/codec.ts'
import { IDS_STREAM, rulesStream, userStream } from '../../core/events/domain-events.ts'
import { isPluginStream } from '../../core/events/plugin-events.ts'
import { errorMessage } from '../../core/util/error-message.ts'

/** Looks at one event after the other, in log order. */
interface Checker {
  check(record: RecordedEvent): void
  facts(): readonly string[]
  faults(): readonly string[]
}

/** More faults of one log than this are counted only. */
const MOST_FAULTS = 20

/** `pluginFault` looks at events of plugins: what is wrong with one, as the end of a sentence. */
export function createChecker(pluginFault: (record: RecordedEvent) => string | undefined): Checker {
  const revisions = new Map<string, number>()
  const unknown = new Map<string, number>()
  const given = new Set<number>()
  const faults: string[] = []
  let events = 0
  let position = 0
  let more = 0

  function blame(record: RecordedEvent, fault: string): void {
    if (faults.length < MOST_FAULTS)
      faults.push(`Event ${record.revision} of ${record.stream}, at position ${record.position}, ${fault}.`)
    else more += 1
  }

  function checkEvent(record: RecordedEvent): void {
    if (isPluginStream(record.stream)) {
      const fault = pluginFault(record)
      if (fault !== undefined) blame(record, fault)
      return
    }
    const event = decodeEvent(record)
    if (event === undefined) {
      const name = `${record.type} of schema ${record.metadata.schema}`
      unknown.set(name, (unknown.get(name) ?? 0) + 1)
      return
    }
    if (record.stream !== streamOf(event)) blame(record, `belongs into ${streamOf(event)}`)
    const id = createdId(event)
    if (id === undefined) return
    if (given.has(id)) blame(record, `gives the number ${id}, which was given before`)
    given.add(id)
  }

  return {
    check(record) {
      const expected = (revisions.get(record.stream) ?? -1) + 1
      if (record.revision !== expected) blame(record, `should be event ${expected} of its stream`)
      revisions.set(record.stream, record.revision)
      if (record.position <= position) blame(record, `comes after position ${position}`)
      position = record.position
      events += 1
      try {
        checkEvent(record)
      } catch (error) {
        blame(record, `cannot be read: ${errorMessage(error)}`)
      }
    },
    facts: () => [
      `${events} events in ${revisions.size} streams, the newest at position ${position}.`,
      ...[...unknown].map(([name, count]) => `${count} events that only a newer version can read: ${name}.`),
    ],
    faults: () => [...faults, ...(more > 0 ? [`There are ${more} more such faults.`] : [])],
  }
}

function streamOf(event: DomainEvent): string {
  if (event.type === 'IdsReserved') return IDS_STREAM
  const { userId } = event.data
  return 'ruleId' in event.data ? rulesStream(userId) : userStream(userId)
}

/** The number that a user or rule has from this event on; not that of a deleted rule that was brought back. */
function createdId(event: DomainEvent): number | undefined {
  if (event.type === 'UserCreated') return event.data.userId
  const isNewRule = event.type === 'RoutingRuleCreated' || event.type === 'FirewallRuleCreated'
  return isNewRule && event.data.revertedTo === undefined ? event.data.ruleId : undefined
}

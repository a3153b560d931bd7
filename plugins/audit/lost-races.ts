import type { Position, RecordedEvent } from '../../core/contract/index.ts'
import type { Groups, LostRace } from '../../projections/groups.ts'
import type { Subscription } from '../../projections/runtime/subscribe.ts'

/** What a node knows of events that had no effect. */
export interface LostRaceServices {
  readonly groups: Pick<Groups, 'withoutEffect'>
  readonly subscription: Pick<Subscription, 'position' | 'until'>
}

/** Events that can be without effect, because another node wrote at the same time. */
const CONTESTED: ReadonlySet<string> = new Set(['GroupDeleted', 'UserAddedToGroup', 'UserRemovedFromGroup'])

/** Whether only a node that has applied the event knows if it had an effect. */
export function isContested({ type }: Pick<RecordedEvent, 'type'>): boolean {
  return CONTESTED.has(type)
}

/** How long this node may take to apply what is in the log already. */
const CATCH_UP_TIMEOUT_MS = 5000

/**
 * Resolves with why an event had no effect, as a sentence, once this node has applied it; with undefined if
 * it had one. Returns undefined for events that always have one. See docs/decisions/policies.md, "A policy
 * keeps its groups".
 */
export type FindLostRace = (record: RecordedEvent) => Promise<string | undefined> | undefined

export function createLostRaceFinder({ groups, subscription }: LostRaceServices): FindLostRace {
  async function find(position: Position): Promise<string | undefined> {
    await subscription.until(() => subscription.position() >= position, CATCH_UP_TIMEOUT_MS)
    return describeLostRace(groups.withoutEffect().get(position))
  }

  return (record) => (isContested(record) ? find(record.position) : undefined)
}

/** The events without effect up to the newest one that is applied, as they are sent to a thread. */
export type LostRaces = ReadonlyMap<Position, LostRace>

export function describeLostRace(race: LostRace | undefined): string | undefined {
  if (race === undefined) return undefined
  const { policyId } = race
  if (policyId === null) return 'The group had been deleted on another node.'
  return `The group was kept, because policy ${policyId} had been applied to it on another node.`
}

import type { ReservationData } from '../../core/shared-state/memory-reservations.ts'
import type { ReservationMember } from '../../core/shared-state/reservation-member.ts'
import type { ReservationCall } from '../../core/shared-state/reservations.ts'

type CommandName = 'join' | 'reserve' | 'settle' | 'renew'

export interface Command {
  readonly name: CommandName
  readonly args: readonly [ReservationCall, ...unknown[]]
}

export interface ModelRequest {
  readonly id: string
  readonly cost: number
  readonly phase: 'new' | 'running' | 'ended' | 'refused'
  /** The key of its reservation. */
  readonly key?: string
  /** A sum that was read from the ledger, and the generation of which it is true. */
  readonly sum?: { readonly generation: string; readonly value: number }
  /** What the sum must not have, if it has to be read. */
  readonly missing?: { readonly generation: string; readonly except: readonly string[] }
}

export interface ModelGateway {
  readonly member: ReservationMember
  readonly isAlive: boolean
  readonly requests: readonly ModelRequest[]
  /** Ids of records that are not known to be written. */
  readonly records: readonly string[]
}

export interface World {
  readonly now: number
  /** Counts the starts of Redis. */
  readonly run: number
  readonly data: ReservationData
  /** What a stale copy of the data has. */
  readonly saved: ReservationData | undefined
  readonly gateways: readonly ModelGateway[]
  /** Recorded costs. */
  readonly ledger: ReadonlyMap<string, number>
  /** Commands that may still be executed. */
  readonly late: readonly Command[]
  readonly faults: number
  readonly waits: number
}

export function change(world: World, number: number, changes: Partial<ModelGateway>): World {
  const gateways = world.gateways.map((gateway, at) => (at === number ? { ...gateway, ...changes } : gateway))
  return { ...world, gateways }
}

export function changeRequest(
  world: World,
  number: number,
  id: string,
  changes: { [Field in keyof ModelRequest]?: ModelRequest[Field] | undefined },
): World {
  const { requests = [] } = world.gateways[number] ?? {}
  return change(world, number, {
    requests: requests.map((request) =>
      request.id === id ? ({ ...request, ...changes } as ModelRequest) : request,
    ),
  })
}

/** Copies what commands change. */
export function clone(world: World): World {
  const gateways = world.gateways.map((gateway) => ({ ...gateway, member: gateway.member.clone() }))
  return { ...world, gateways, data: cloneData(world.data) }
}

export function cloneData({ generation, members, awaited, counters }: ReservationData): ReservationData {
  return {
    generation: generation && { ...generation },
    members: new Map([...members].map(([id, member]) => [id, { ...member }])),
    awaited: new Map(awaited),
    counters: new Map(
      [...counters].map(([key, counter]) => {
        const open = new Map([...counter.open].map(([id, reservation]) => [id, { ...reservation }]))
        return [key, { ...counter, open, registered: new Set(counter.registered) }]
      }),
    ),
  }
}

import { createHash } from 'node:crypto'
import type { ReservationData } from '../../core/shared-state/memory-reservations.ts'
import type { ReservationModel } from './reservation-model.ts'
import type { Command, World } from './reservation-world.ts'

/**
 * Visits every state that can be reached, the last ones first, so that few have to be kept. Returns their
 * number, and the steps to the first that is wrong.
 */
export function explore(model: ReservationModel, maxStates: number) {
  const first = model.start()
  const seen = new Set([keyOf(first)])
  type Path = { readonly step: string; readonly before: Path } | undefined
  const left: { readonly world: World; readonly path: Path }[] = [{ world: first, path: undefined }]
  const listSteps = (path: Path): readonly string[] => (path ? [...listSteps(path.before), path.step] : [])
  for (let state = left.pop(); state !== undefined; state = left.pop()) {
    const { world, path } = state
    const wrong = model.check(world)
    if (wrong !== undefined) return { states: seen.size, wrong, steps: listSteps(path) }
    for (const step of model.steps(world)) {
      const key = keyOf(step.world)
      if (seen.has(key)) continue
      seen.add(key)
      if (seen.size > maxStates) throw new Error(`there are more than ${maxStates} states`)
      left.push({ world: step.world, path: { step: step.name, before: path } })
    }
  }
  return { states: seen.size, wrong: undefined, steps: [] }
}

/** Times by the clock. */
const TIMES = new Set(['renewedAt', 'since', 'leaseEndsAt', 'expiresAt', 'nextExpiry', 'endsAt', 'window'])

/**
 * Identifies a state without what does not matter for what follows: names, the time of the clock, and the
 * numbers of commands, of which only the order matters, and only while some may still be executed.
 */
function keyOf({ gateways, data, saved, late, now, ...rest }: World): string {
  const orderOf = rankOrders([data, ...(saved ? [saved] : [])], late)
  const state = {
    ...rest,
    gateways: gateways.map(({ member, ...gateway }) => [{ ...member.describe(), order: 0, ids: 0 }, gateway]),
    late: late
      .filter((command) => isAlive(command, data))
      .map(({ name, args: [call, ...args] }) => {
        return [name, { ...call, order: orderOf(call.member, call.order) }, args]
      }),
    data: [data, saved].map((copy) => {
      const member = ([id, value]: [string, object & { order: number }]) =>
        [id, { ...value, order: orderOf(id, value.order) }] as const
      return copy && { ...copy, members: [...copy.members].map(member) }
    }),
  }
  const text = JSON.stringify(state, (name, value) => {
    if (name === 'awaited') return [...value].map(([id, until]) => [id, until - now])
    if (value instanceof Map) return [...value].sort(byName)
    if (value instanceof Set) return [...value].sort()
    return TIMES.has(name) && value > 0 ? value - now : value
  })
  const numbers = new Map<string, number>()
  const named = text.replace(/(m\d+|r\d+)\.\d+/g, (name, owner: string) => {
    const number = numbers.get(name) ?? numbers.size
    numbers.set(name, number)
    // What a reservation is for matters, but not who has named a generation.
    return owner.startsWith('r') ? `${owner}#${number}` : `#${number}`
  })
  return createHash('md5').update(named).digest('base64')
}

/** Whether the command may still be executed. A registration may, if the data are lost. */
function isAlive({ name, args: [call] }: Command, { generation, members }: ReservationData): boolean {
  const member = members.get(call.member)
  const isAccepted = generation?.id === call.generation && member?.generation === call.generation
  return name === 'join' || (isAccepted && call.order > member.order)
}

function byName([left]: [string, unknown], [right]: [string, unknown]): number {
  return left < right ? -1 : 1
}

/** Returns what tells the order of the commands of a member. */
function rankOrders(copies: readonly ReservationData[], late: World['late']) {
  if (late.length === 0) return () => 0
  const orders = new Map<string, number[]>()
  const add = (member: string, order: number) =>
    orders.set(
      member,
      [...(orders.get(member) ?? []), order].sort((left, right) => left - right),
    )
  for (const { members } of copies) for (const [id, { order }] of members) add(id, order)
  for (const {
    args: [{ member, order }],
  } of late)
    add(member, order)
  return (member: string, order: number) => orders.get(member)?.indexOf(order) ?? 0
}

import {
  createMemoryReservations,
  createReservationData,
} from '../../core/shared-state/memory-reservations.ts'
import { type Remembered, ReservationMember, requestOf } from '../../core/shared-state/reservation-member.ts'
import {
  type Membership,
  RECOVERY_MS,
  type Registration,
  type ReservationEntry,
  type ReservationOutcome,
  type SharedReservations,
} from '../../core/shared-state/reservations.ts'
import {
  type Command,
  change,
  changeRequest,
  clone,
  cloneData,
  type ModelGateway,
  type ModelRequest,
  type World,
} from './reservation-world.ts'

const HOLD_MS = 60_000
const LEASE = { leaseMs: 30_000, holdMs: HOLD_MS }
const KEY = 'budget'

/** How often gateways wait for others in one run. */
const MAX_WAITS = 2

/** What every request reserves. */
const AMOUNT = 2

/** What a model looks at, and which faults may happen in it. */
export interface ModelOptions {
  /** What the requests of each gateway cost. One that costs `AMOUNT` is of unknown cost. */
  readonly costs: readonly (readonly number[])[]
  readonly limit: number
  /** A budget, whose sum is in the ledger, or tokens of a window, whose sum is nowhere else. */
  readonly kind: 'budget' | 'tokens'
  readonly faults: readonly Fault[]
  /** Most faults of one run. */
  readonly maxFaults: number
  /** A part of the protocol that is left out. */
  readonly without?: ProtocolPart
}

/**
 * `request`: a command is lost; `answer`: it is executed, and its answer is lost; `late`: it is executed at
 * any later time; `repeated`: once now, and once more at any later time; `flush`: the data are deleted;
 * `empty`: Redis starts again without data; `stale`: with those of any earlier moment; `silence`: nobody
 * reaches Redis for a minute; `crash`: a gateway is killed.
 */
export type Fault =
  | 'request'
  | 'answer'
  | 'late'
  | 'repeated'
  | 'flush'
  | 'empty'
  | 'stale'
  | 'silence'
  | 'crash'

export type ProtocolPart =
  | 'recognition of settlements'
  | 'order of commands'
  | 'release of unknown reservations'
  | 'registration of open reservations'
  | 'registration of settlements'
  | 'exception from the sum'
  | 'waiting for other gateways'
  | 'costs of unknown replies'

/** What a command returns. */
type Answer = Membership | ReservationOutcome | boolean | undefined

/** Something that may happen next. */
export interface Step {
  readonly name: string
  readonly world: World
}

/**
 * The protocol of reservations: gateways with the real `ReservationMember`, the real reservations in memory
 * in the place of Redis (which does the same, as another test shows), a ledger, and all that may get lost.
 */
export class ReservationModel {
  readonly #options: ModelOptions

  constructor(options: ModelOptions) {
    this.#options = options
  }

  start(): World {
    const gateways = this.#options.costs.map((costs, number) => ({
      member: new ReservationMember(`m${number}`),
      isAlive: true,
      requests: costs.map((cost, index): ModelRequest => ({ id: `r${number}${index}`, cost, phase: 'new' })),
      records: [],
    }))
    const empty = { data: createReservationData(), saved: undefined, ledger: new Map(), late: [] }
    const world = { now: 0, run: 1, gateways, faults: 0, waits: 0, ...empty }
    // All know each other.
    return this.#renewAll(this.#renewAll(this.#recover(world)))
  }

  /** All that may happen next. */
  steps(world: World): readonly Step[] {
    const steps: Step[] = []
    const { faults, maxFaults } = this.#options
    const mayFail = world.faults < maxFaults
    const fail = (fault: Fault, name: string, changed: () => World) => {
      if (mayFail && faults.includes(fault))
        steps.push({ name, world: { ...changed(), faults: world.faults + 1 } })
    }
    world.gateways.forEach((gateway, number) => {
      if (!gateway.isAlive) return
      for (const { name, command, lost } of this.#commandsOf(world, number)) {
        const after = (fate: Fault | 'ok') => this.#send(world, number, command, lost, fate)
        steps.push({ name: `${number} ${name}`, world: after('ok') })
        for (const fate of ['request', 'answer', 'late', 'repeated'] as const)
          fail(fate, `${number} ${name}, ${fate}`, () => after(fate))
      }
      steps.push(...this.#ownSteps(world, number))
      fail('crash', `${number} crashes`, () => change(world, number, { isAlive: false }))
    })
    world.late.forEach((command, index) => {
      const next = clone(world)
      this.#execute(next, command)
      const late = world.late.filter((_, other) => other !== index)
      steps.push({ name: `late ${command.name}`, world: { ...next, late } })
    })
    fail('flush', 'flush', () => ({ ...world, data: createReservationData() }))
    const restarted = { run: world.run + 1, late: [] }
    fail('empty', 'restart, empty', () => ({ ...world, ...restarted, data: createReservationData() }))
    if (faults.includes('stale') && world.saved === undefined && mayFail)
      steps.push({ name: 'save', world: { ...world, saved: cloneData(world.data) } })
    const { saved } = world
    if (saved) fail('stale', 'restart, stale', () => ({ ...world, ...restarted, data: cloneData(saved) }))
    fail('silence', 'silence', () => ({ ...world, now: world.now + HOLD_MS + 1 }))
    // Gateways that are alive need not take so long to join.
    if (world.data.generation?.isReady === false && world.waits < MAX_WAITS) {
      const later = { ...world, now: world.now + RECOVERY_MS.grace, waits: world.waits + 1 }
      steps.push({ name: 'time passes', world: this.#renewAll(later) })
    }
    return steps
  }

  /** Says what is wrong in a state; undefined if all is well. */
  check(world: World): string | undefined {
    const spent = this.#spentBy(world)
    const running = world.gateways.flatMap(({ isAlive, requests }) =>
      isAlive ? requests.filter(({ phase }) => phase === 'running') : [],
    )
    const committed = spent.certain + AMOUNT * running.length
    if (committed > this.#options.limit) return `committed ${committed} of ${this.#options.limit}`
    return this.#isQuiet(world) ? this.#checkAfterRecovery(this.#recover({ ...world, late: [] })) : undefined
  }

  /** Every state leads to one in which gateways have nothing left to do, so only these are checked. */
  #isQuiet(world: World): boolean {
    return world.gateways.every(({ isAlive, requests, records }, number) => {
      if (!isAlive) return true
      if (records.length > 0 || requests.some(({ phase }) => phase === 'running')) return false
      return this.#commandsOf(world, number).every(({ command: { name } }) => name === 'reserve')
    })
  }

  /** In quiet, the counter has what was spent, and nothing is reserved. */
  #checkAfterRecovery(world: World): string | undefined {
    const { certain, lost } = this.#spentBy(world)
    const outcome = this.#probe(clone(world))
    const [use] = outcome.counters
    if (outcome.result !== 'granted' || use === undefined) return `the probe was ${outcome.result}`
    if (use.reserved !== 0) return `${use.reserved} stay reserved`
    if (use.used < certain) return `the counter has ${use.used} of ${certain}`
    // What a killed gateway did not record may count or not.
    return use.used > certain + lost ? `the counter has ${use.used}, spent were ${certain}` : undefined
  }

  /** Reserves nothing, to read the counter as a request would. */
  #probe(world: World): ReservationOutcome {
    const probe = new ReservationMember('probe')
    let [next, initial]: [World, number | null] = [world, null]
    for (let attempt = 0; ; attempt++) {
      const shared = this.#openShared(next)
      for (const registration of probe.isJoined ? [] : probe.registrations(next.now)) {
        const membership = shared.join(probe.call(), registration, LEASE)
        if (membership) probe.joined(membership)
      }
      const entry = { ...this.#entry(undefined), amount: 0, limit: null }
      const probed = entry.initial === null ? { ...entry, initial } : entry
      const call = probe.call()
      const outcome = shared.reserve(call, `probe${attempt}`, [probed], HOLD_MS)
      if (outcome.result === 'granted' || attempt === 9) return outcome
      if (outcome.result === 'missing') initial = this.#sum(next, outcome.registered.map(requestOf))
      if (outcome.result === 'unknown' || outcome.result === 'recovering') {
        // Others have to register, or it is not known yet that there are none.
        if (outcome.result === 'unknown') probe.leave(call)
        initial = null
        const isAnyAlive = next.gateways.some(({ isAlive }) => isAlive)
        next = isAnyAlive ? this.#recover(next) : { ...next, now: next.now + 10_000 }
      }
    }
  }

  /** What was spent; `lost`: by gateways that were killed before they recorded it. */
  #spentBy({ gateways, ledger }: World): { readonly certain: number; readonly lost: number } {
    let [certain, lost] = [0, 0]
    for (const { isAlive, requests } of gateways) {
      for (const { id, phase, cost } of requests) {
        if (phase !== 'ended') continue
        if (isAlive || (ledger.has(id) && this.#options.kind === 'budget')) certain += cost
        else lost += cost
      }
    }
    return { certain, lost }
  }

  /** Lets some time pass in which all gateways that are alive do what they have to. */
  #recover(world: World): World {
    // Reservations of a killed gateway end after a minute.
    const stepMs = world.gateways.every(({ isAlive }) => isAlive)
      ? RECOVERY_MS.grace
      : RECOVERY_MS.silence - 1
    let next = world
    for (let round = 0; round < 4; round++) {
      next = this.#renewAll({ ...next, now: next.now + stepMs })
      for (const [number, { isAlive }] of next.gateways.entries()) {
        if (!isAlive) continue
        for (;;) {
          const [todo] = this.#commandsOf(next, number).filter(({ command: { name } }) => name !== 'reserve')
          if (todo === undefined) break
          next = this.#send(next, number, todo.command, todo.lost, 'ok')
        }
        for (const record of next.gateways[number]?.records ?? [])
          next = this.#write(next, number, record, true)
      }
    }
    return next
  }

  /** Lets all gateways that are alive renew what they have. */
  #renewAll(world: World): World {
    let next = world
    for (const [number, { isAlive }] of world.gateways.entries()) {
      const gateway = next.gateways[number]
      if (!isAlive || !gateway?.member.isJoined) continue
      const member = gateway.member.clone()
      const args = [member.call(), member.toRenew(next.now), LEASE] as const
      next = this.#send(change(next, number, { member }), number, { name: 'renew', args }, undefined, 'ok')
    }
    return next
  }

  /** The commands that a gateway may send now, each with what it does if the answer is lost. */
  #commandsOf(world: World, number: number) {
    const gateway = world.gateways[number] as ModelGateway
    const own = gateway.member.clone()
    const commands: { name: string; command: Command; lost?: string | undefined }[] = []
    if (!own.isJoined) {
      const [registration] = own.registrations(world.now)
      const args = [own.call(), this.#reduce(registration as Registration), LEASE] as const
      return [{ name: 'joins', command: { name: 'join', args }, lost: undefined, member: own }] as const
    }
    for (const key of own.unsettled()) {
      const member = gateway.member.clone()
      const { reservation, used } = member.settleCommand(key) ?? { reservation: undefined, used: [] }
      commands.push({
        name: `settles ${key}`,
        command: { name: 'settle', args: [member.call(), reservation, used, key] },
      })
    }
    for (const request of gateway.requests) {
      if (request.phase !== 'new' || request.missing !== undefined) continue
      const member = gateway.member.clone()
      const id = member.newId(this.#remembered(request.id))
      const args = [member.call(), id, [this.#entry(request, member.generation)], HOLD_MS] as const
      commands.push({ name: `reserves ${request.id}`, command: { name: 'reserve', args }, lost: request.id })
    }
    return commands
  }

  /** What a gateway does without Redis. */
  #ownSteps(world: World, number: number): readonly Step[] {
    const { requests, records } = world.gateways[number] as ModelGateway
    const steps: Step[] = []
    for (const { id, phase, missing } of requests) {
      if (phase === 'running')
        steps.push({ name: `${number} ends ${id}`, world: this.#endRequest(world, number, id) })
      if (missing === undefined) continue
      const sum = { generation: missing.generation, value: this.#sum(world, missing.except) }
      const changed = changeRequest(world, number, id, { sum, missing: undefined })
      steps.push({ name: `${number} reads the sum for ${id}`, world: changed })
    }
    for (const record of records) {
      const isNew = !world.ledger.has(record)
      steps.push({ name: `${number} writes ${record}`, world: this.#write(world, number, record, true) })
      if (isNew)
        steps.push({
          name: `${number} writes ${record}, unknown`,
          world: this.#write(world, number, record, false),
        })
    }
    return steps
  }

  #endRequest(world: World, number: number, id: string): World {
    const gateway = world.gateways[number] as ModelGateway
    const { cost = 0, key = '' } = gateway.requests.find((request) => request.id === id) ?? {}
    const member = gateway.member.clone()
    member.settle(key, [cost])
    const records = this.#options.kind === 'budget' ? [...gateway.records, id] : []
    return changeRequest(change(world, number, { member, records }), number, id, { phase: 'ended' })
  }

  #write(world: World, number: number, record: string, isAcknowledged: boolean): World {
    const gateway = world.gateways[number] as ModelGateway
    const cost = gateway.requests.find(({ id }) => id === record)?.cost ?? 0
    const isForgotten = this.#options.without === 'costs of unknown replies' && cost === AMOUNT
    const ledger = new Map([...world.ledger, [record, isForgotten ? 0 : cost]])
    if (!isAcknowledged) return { ...world, ledger }
    const member = gateway.member.clone()
    member.recorded(record)
    const records = gateway.records.filter((id) => id !== record)
    return change({ ...world, ledger }, number, { member, records })
  }

  #send(
    world: World,
    number: number,
    command: Command,
    request: string | undefined,
    fate: Fault | 'ok',
  ): World {
    let next = clone(world)
    const { member } = next.gateways[number] as ModelGateway
    // The numbers of the command are used up.
    member.call()
    if (command.name === 'reserve' || command.name === 'join') member.newId()
    const isExecuted = fate === 'ok' || fate === 'answer' || fate === 'repeated'
    const answer = isExecuted ? this.#execute(next, command) : undefined
    if (fate === 'late' || fate === 'repeated') next = { ...next, late: [...next.late, command] }
    if (fate === 'ok' || fate === 'repeated') return this.#onAnswer(next, number, command, answer, request)
    if (command.name === 'reserve' && this.#options.without !== 'release of unknown reservations')
      member.abandon(command.args[1] as string, command.args[2] as readonly ReservationEntry[])
    return next
  }

  #onAnswer(world: World, number: number, { name, args }: Command, answer: Answer, request = ''): World {
    const { member } = world.gateways[number] as ModelGateway
    const [call] = args
    if (answer === undefined || typeof answer === 'boolean') {
      if (answer) member.acknowledged(args[3] as string)
      else if (name !== 'join') member.leave(call)
      return world
    }
    if ('generation' in answer) {
      if (name === 'join') member.joined(answer)
      else member.renewed(answer)
      return world
    }
    const outcome = answer
    const [id, entries] = [args[1] as string, args[2] as readonly ReservationEntry[]]
    if (outcome.result === 'unknown') member.leave(call)
    if (outcome.result === 'refused') return changeRequest(world, number, request, { phase: 'refused' })
    if (outcome.result === 'missing') {
      const missing = { generation: call.generation, except: outcome.registered.map(requestOf) }
      return changeRequest(world, number, request, { missing })
    }
    if (outcome.result !== 'granted') return world
    const key = member.granted(id, entries, outcome, this.#remembered(request), world.now)
    return changeRequest(world, number, request, { phase: 'running', key, sum: undefined })
  }

  #execute(world: World, { name, args }: Command): Answer {
    const shared = this.#openShared(world)
    const { without } = this.#options
    const counter = world.data.counters.get(KEY)
    const wasUsed = counter?.used ?? 0
    if (without === 'order of commands') for (const member of world.data.members.values()) member.order = -1
    const answer = (shared[name] as (...all: readonly unknown[]) => Answer)(...args)
    if (without === 'recognition of settlements' && name === 'settle' && answer && counter?.used === wasUsed)
      counter.used += (args[2] as readonly number[])[0] ?? 0
    if (without === 'waiting for other gateways' && world.data.generation)
      world.data.generation.isReady = true
    return answer
  }

  #openShared({ data, now, run }: World): ReturnType<typeof createMemoryReservations> & SharedReservations {
    const recovery = { graceMs: RECOVERY_MS.grace, silenceMs: RECOVERY_MS.silence }
    return createMemoryReservations(() => now, { data, run: `run${run}`, ...recovery })
  }

  #entry(request: ModelRequest | undefined, generation = ''): ReservationEntry {
    const isBudget = this.#options.kind === 'budget'
    const known = request?.sum?.generation === generation ? request.sum.value : null
    const [windowMs, initial] = isBudget ? [null, known] : [3_600_000, 0]
    return { key: KEY, amount: AMOUNT, limit: this.#options.limit, windowMs, initial }
  }

  #remembered(requestId: string): Remembered {
    return this.#options.kind === 'budget' ? { requestId } : 'window'
  }

  #sum({ ledger }: World, except: readonly string[]): number {
    const left = this.#options.without === 'exception from the sum' ? [] : except
    return [...ledger].reduce((sum, [id, cost]) => (left.includes(id) ? sum : sum + cost), 0)
  }

  #reduce(registration: Registration): Registration {
    const { without } = this.#options
    if (without === 'registration of open reservations') return { ...registration, open: [] }
    if (without === 'registration of settlements') return { ...registration, settled: [] }
    return registration
  }
}

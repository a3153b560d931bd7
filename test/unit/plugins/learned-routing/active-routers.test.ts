import { expect } from 'chai'
import { SYSTEM_ACTOR } from '../../../../core/event-log/actor.ts'
import { createMemoryLog } from '../../../../core/event-log/memory.ts'
import { createLogger } from '../../../../core/threads/logger.ts'
import { createActiveRouters } from '../../../../plugins/learned-routing/active-routers.ts'
import { encodeWeights } from '../../../../plugins/learned-routing/model.ts'
import { createRouterCommands } from '../../../../plugins/learned-routing/router-commands.ts'
import { scheduleTraining, type TrainerServices } from '../../../../plugins/learned-routing/train.ts'
import type { DomainEvent } from '../../../../projections/events/registry.ts'
import {
  checksumOf,
  MAX_ROUTER_MODELS,
  type TrainedRouterData,
} from '../../../../projections/events/routers.ts'
import { createRouters, type Routers } from '../../../../projections/routers.ts'
import { captureOutput } from '../../../support/captured-output.ts'
import { type CommandNode, given } from '../../../support/given.ts'
import { recordAll } from '../../../support/histories.ts'
import { versionTrained, writeWeights } from '../../../support/routers.ts'

const scope = { everyone: true } as const
const weights = encodeWeights({ bias: 0, words: new Float32Array(65_536), numbers: new Float32Array(10) })

function versionOf(version: number, modelCount = 2): TrainedRouterData {
  const models = Object.fromEntries(
    Array.from({ length: modelCount }, (_, at) => [`model-${at}`, { ratings: 1e15, weights }]),
  )
  const own = { featureKeyId: 'k', checksum: checksumOf(models) }
  return { version, scope, models, figures: { better: true }, trainedFrom: {}, ...own }
}

const trained = (...args: Parameters<typeof versionOf>): DomainEvent => versionTrained(versionOf(...args))
const activated = (version: number): DomainEvent => ({ type: 'RouterActivated', data: { version, scope } })

const rolledBack = (from: number, version: number | null = null): DomainEvent => ({
  type: 'RouterRolledBack',
  data: { scope, from, version },
})

/** Routers that events are applied to, as a subscription would. */
function openRouters() {
  const routers = createRouters()
  const events: DomainEvent[] = []
  const apply = (event: DomainEvent) => {
    events.push(event)
    routers.apply(event, recordAll(events).at(-1) as never)
  }
  return { routers, events, apply }
}

const SERVICES = {
  groups: { groupsOf: () => [] },
  featureKeyId: 'k',
  minModelRatings: 100,
  logger: { error: () => undefined, info: () => undefined },
}

async function activeOf(routers: Routers) {
  let damaged = 0
  const log = createMemoryLog()
  for (const count of [2, MAX_ROUTER_MODELS + 1]) {
    const { checksum, models } = versionOf(1, count)
    await writeWeights(log, checksum, models)
  }
  const active = createActiveRouters({ ...SERVICES, routers, countDamaged: () => damaged++ })
  await active.load(log)
  return { version: () => active.of(1, Number.POSITIVE_INFINITY)?.version, damaged: () => damaged }
}

describe('the active version of a router', () => {
  it('is not one with more models than fit in memory', async () => {
    const { routers, apply } = openRouters()
    for (const event of [trained(1), activated(1), trained(2, MAX_ROUTER_MODELS + 1), activated(2)])
      apply(event)
    const active = await activeOf(routers)

    expect(active.version()).to.equal(1)
    expect(active.damaged()).to.equal(1)
  })

  it('is one whose weights were missing, once they are stored and it is activated again', async () => {
    const { routers, events, apply } = openRouters()
    const log = createMemoryLog()
    for (const event of [trained(1), activated(1)]) apply(event)
    const active = createActiveRouters({ ...SERVICES, routers, countDamaged: () => undefined })
    await active.load(log)
    expect(active.of(1, Number.POSITIVE_INFINITY)).to.equal(undefined)
    const { checksum, models } = versionOf(1)
    await writeWeights(log, checksum, models)

    for (const event of [rolledBack(1), activated(1)]) {
      await active.prepare(recordAll([...events, event]).at(-1) as never, log)
      apply(event)
      active.refresh()
    }
    expect(active.of(1, Number.POSITIVE_INFINITY)?.version).to.equal(1)
  })
})

describe('a scheduled training', () => {
  /** Trains by schedule, and returns what is written and logged. */
  async function train(...beforeAppend: readonly DomainEvent[]): Promise<readonly string[]> {
    const { scope, models, figures, trainedFrom } = versionOf(0)
    const output = captureOutput()
    const command = async ({ routers, writer, log }: CommandNode) => {
      const services: TrainerServices = {
        commands: createRouterCommands(routers, writer, log, () => 'k'),
        run: async () => ({ type: 'trained', router: { scope, models, figures, trainedFrom } }),
        settleLedger: async () => undefined,
        facts: () => [],
        trainDays: 1,
        minRatings: 1,
        activates: () => false,
      }
      const stop = scheduleTraining(1, routers, services, createLogger('debug', { destination: output }))
      await output.contains('of the router')
      stop()
    }
    const { events } = await given().when(command, { beforeAppend }).run()
    return [...events.map(({ type }) => type), JSON.parse(output.text()).msg]
  }

  it('writes its version, with its weights before it', async () => {
    expect(await train()).to.deep.equal([
      'RouterWeightsStored',
      'RouterTrained',
      'version of the router trained',
    ])
  })

  it('writes no version when another node has trained meanwhile', async () => {
    expect(await train(trained(1))).to.deep.equal(['RouterWeightsStored', 'no version of the router trained'])
  })
})

describe('rolling a router back', () => {
  const history = [trained(1), trained(2), activated(1), activated(2)]
  const rollBack = ({ routers, writer, log }: CommandNode) =>
    createRouterCommands(routers, writer, log, () => 'k').rollBack(scope, { actor: SYSTEM_ACTOR })

  it('activates the version before, and none before the first', async () => {
    await given(...history)
      .when(rollBack)
      .expect([rolledBack(2, 1)])
    await given(...history, rolledBack(2, 1))
      .when(rollBack)
      .expect([rolledBack(1)])
  })

  it('is decided again if another node has rolled it back first', async () => {
    const beforeAppend = [rolledBack(2, 1)]
    await given(...history)
      .when(rollBack, { beforeAppend })
      .expect([rolledBack(1)])
  })

  it('is refused if no version is active any more', async () => {
    await given(trained(1), activated(1))
      .when(rollBack, { beforeAppend: [rolledBack(1)] })
      .expect({ code: 'conflict', message: 'No version of the router is active for everyone.' })
  })
})

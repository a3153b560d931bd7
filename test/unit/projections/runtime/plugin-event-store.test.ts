import { expect } from 'chai'
import { pino } from 'pino'
import {
  type EventDeclaration,
  type EventLog,
  EventLogUnavailableError,
} from '../../../../core/contract/index.ts'
import { SYSTEM_ACTOR } from '../../../../core/event-log/actor.ts'
import { openSqliteLog } from '../../../../core/event-log/sqlite/sqlite-log.ts'
import { createClock } from '../../../../core/util/clock.ts'
import { createAccounts } from '../../../../projections/accounts.ts'
import type { PluginEventStore } from '../../../../projections/runtime/plugin-event-store.ts'
import { openPluginEventStores } from '../../../../projections/runtime/plugin-event-stores.ts'
import { type Subscription, subscribeProjections } from '../../../../projections/runtime/subscribe.ts'
import { createEventWriter } from '../../../../projections/runtime/write.ts'
import { eventAt } from '../../../support/event-log-suite.ts'
import { makeFolder } from '../../../support/folders.ts'
import { ROUNDS } from '../../../support/rounds.ts'

const author = { actor: { type: 'key', id: 'key_1', name: 'Ada' } as const, requestId: 'req_1' }

/** Records every name that was seen, with its subject. */
const names: EventDeclaration = {
  types: {
    Seen: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
  },
  initial: () => [],
  evolve: (state, { subject, data }) => [...listOf(state), `${subject}: ${data.name}`],
}

const listOf = (state: unknown) => state as readonly string[]
const seen = (name: unknown) => ({ type: 'Seen', data: { name } })

describe('the events of a plugin', () => {
  let directory: string
  let log: EventLog
  const opened: { close(): Promise<void> }[] = []

  beforeEach(async () => {
    directory = await makeFolder()
    log = await openLog()
  })

  afterEach(async () => {
    for (const part of opened.splice(0).toReversed()) await part.close()
  })

  async function openLog(): Promise<EventLog> {
    const log = await openSqliteLog({ directory })
    opened.push(log)
    return log
  }

  /** Opens a node's plugin event stores; `from` is the position of its snapshot. */
  async function openNode(
    declared: Readonly<Record<string, EventDeclaration>>,
    { on = log, from = 0, retry = (run: () => Promise<void>) => run() } = {},
  ): Promise<{ live: Subscription; storeOf(name: string): PluginEventStore }> {
    const logger = pino({ level: 'silent' })
    const live = subscribeProjections(on, [createAccounts()], logger, { newest: eventAt(from) })
    opened.push(live)
    await live.caughtUp
    const writer = createEventWriter(on, live, createClock(), { timeoutMs: 60_000 })
    const plugins = Object.entries(declared).map(([name, events]) => ({ name, events, setup: () => ({}) }))
    const stores = await openPluginEventStores(plugins, {
      log: on,
      subscription: live,
      writer,
      logger,
      retry,
    })
    return {
      live,
      storeOf(name) {
        const store = stores.get(name)
        if (store === undefined) throw new Error(`plugin ${name} has no event store`)
        return store
      },
    }
  }

  it('fold to its state, separately for each plugin', async () => {
    const node = await openNode({ a: names, b: names })
    await node.storeOf('a').append('u1', [seen('Ada'), seen('Bob')], author)
    await node.storeOf('b').append('u1', [seen('Cy')], author)

    expect(node.storeOf('a').state()).to.deep.equal(['u1: Ada', 'u1: Bob'])
    expect(node.storeOf('b').state()).to.deep.equal(['u1: Cy'])
  })

  it('are read with their metadata', async () => {
    const { storeOf } = await openNode({ a: names })
    const appended = await storeOf('a').append('u1', [seen('Ada')], author)
    await storeOf('a').append('u2', [seen('Bob')], { actor: SYSTEM_ACTOR })

    const [event, ...rest] = await collect(storeOf('a').read('u1'))
    expect(rest).to.deep.equal([])
    expect(event).to.deep.include({
      ...seen('Ada'),
      ...author,
      subject: 'u1',
      revision: 0,
      position: appended?.position,
    })
    expect(event?.time).to.match(/^\d{4}-.*\.\d{6}Z$/)
  })

  it('must match their schemas', async () => {
    const { storeOf } = await openNode({ a: names })
    const messages: string[] = []
    for (const event of [seen(7), { type: 'Sean', data: {} }, { type: 'toString', data: {} }]) {
      await storeOf('a')
        .append('u1', [seen('Ada'), event], author)
        .catch((error) => messages.push(error.message))
    }

    expect(messages).to.deep.equal([
      'event "Seen" of plugin "a" does not match its schema: name must be a string',
      'event "Sean" of plugin "a" is not declared in events.types',
      'event "toString" of plugin "a" is not declared in events.types',
    ])
    expect(storeOf('a').state()).to.deep.equal([])
  })

  it('are decided on the current state, and again if another process appended first', async () => {
    const [first, second] = await Promise.all([
      openNode({ a: names }),
      openNode({ a: names }, { on: await openLog() }),
    ])
    const claim = (node: typeof first, name: string) =>
      node
        .storeOf('a')
        .append(
          'seat',
          (state) => (listOf(state).length < 10 ? [seen(`${name} ${listOf(state).length}`)] : []),
          author,
        )

    await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        claim(n % 2 === 0 ? first : second, n % 2 === 0 ? 'first' : 'second'),
      ),
    )

    const taken = listOf(first.storeOf('a').state())
    expect(taken.map((text) => text.split(' ').at(-1))).to.deep.equal(
      Array.from({ length: 10 }, (_, n) => `${n}`),
    )
  })

  it('are all applied to a plugin that was installed later, and after a snapshot', async () => {
    const before = await openNode({ a: names })
    await before.storeOf('a').append('u1', [seen('Ada')], author)
    const snapshotAt = before.live.position()
    await before.storeOf('a').append('u1', [seen('Bob')], author)

    const after = await openNode({ a: names, b: names }, { on: await openLog(), from: snapshotAt })
    expect(after.storeOf('a').state()).to.deep.equal(['u1: Ada', 'u1: Bob'])
  })

  it('are each applied once and in order during concurrent appends', async () => {
    const writing = await openNode({ a: names })
    let isWriting = true
    const write = async () => {
      for (let n = 0; isWriting; n++)
        await writing.storeOf('a').append(
          'u1',
          [seen(n)].map(() => seen(`${n}`)),
          author,
        )
    }
    const written = write()
    const nodes = []
    for (let n = 0; n < ROUNDS.startingNodes; n++)
      nodes.push(await openNode({ a: names }, { on: await openLog() }))
    isWriting = false
    await written

    const all = listOf(writing.storeOf('a').state())
    for (const { live, storeOf } of nodes) {
      await live.until(() => live.position() >= writing.live.position())
      expect(storeOf('a').state()).to.deep.equal(all)
    }
    expect(all).to.deep.equal(all.map((_, n) => `u1: ${n}`))
  })

  it('continue to be read after the log was unavailable', async () => {
    const before = await openNode({ a: names })
    for (const name of ['Ada', 'Bob', 'Cy']) await before.storeOf('a').append('u1', [seen(name)], author)
    let outages = 2
    const flaky: EventLog = {
      append: (...args) => log.append(...args),
      read: (...args) => log.read(...args),
      close: async () => undefined,
      async *subscribe(from, signal, streams) {
        for await (const item of log.subscribe(from, signal, streams)) {
          yield item
          if (streams !== undefined && outages-- > 0)
            throw new EventLogUnavailableError('unavailable', { transient: true })
        }
      },
    }

    const { storeOf } = await openNode(
      { a: names },
      {
        on: flaky,
        async retry(run) {
          while (
            await run().then(
              () => false,
              () => true,
            )
          );
        },
      },
    )

    expect(outages).to.be.lessThan(1)
    expect(storeOf('a').state()).to.deep.equal(['u1: Ada', 'u1: Bob', 'u1: Cy'])
  })

  it('of an older version are upcast step by step, and those of a newer version skipped', async () => {
    const old = await openNode({ a: names })
    await old.storeOf('a').append('u1', [seen('Ada')], author)
    const third: EventDeclaration = {
      ...names,
      version: 3,
      types: { Met: { type: 'object', required: ['name', 'how'] } },
      upcasts: {
        1: { Seen: ({ data }) => ({ type: 'Met', data }) },
        2: { Met: ({ type, data }) => ({ type, data: { ...data, how: 'by chance' } }) },
      },
      evolve: (state, { data }) => [...listOf(state), `${data.name} ${data.how}`],
    }
    const current = await openNode({ a: third }, { on: await openLog() })
    await current
      .storeOf('a')
      .append('u1', [{ type: 'Met', data: { name: 'Bob', how: 'on purpose' } }], author)

    expect(current.storeOf('a').state()).to.deep.equal(['Ada by chance', 'Bob on purpose'])
    await old.live.until(() => old.live.position() >= current.live.position())
    expect(old.storeOf('a').state()).to.deep.equal(['u1: Ada'])
    expect(old.live.skipped()).to.equal(1)
  })

  describe('that cannot be applied', () => {
    const failing: EventDeclaration = {
      ...names,
      evolve: (state, event) => {
        if (event.data.name === 'Eve') throw new Error('there is no Eve\nand no more')
        return names.evolve(state, event)
      },
    }
    const message =
      'plugin "a" cannot apply event "a:Seen" at log position 2: there is no Eve. ' +
      'Install a version that can, or remove the plugin from the list.'

    const rejection = (promise: Promise<unknown>) =>
      promise.then(
        () => 'nothing',
        (error) => error.message,
      )

    it('invalidate the state of that plugin only', async () => {
      const { storeOf, live } = await openNode({ a: failing, b: names })
      await storeOf('a').append('u1', [seen('Ada')], author)

      expect(await rejection(storeOf('a').append('u1', [seen('Eve')], author))).to.equal(message)
      expect(() => storeOf('a').state()).to.throw(message)
      expect(await rejection(storeOf('a').append('u1', [seen('Bob')], author))).to.equal(message)
      await storeOf('b').append('u1', [seen('Cy')], author)
      expect(storeOf('b').state()).to.deep.equal(['u1: Cy'])
      expect(live.state()).to.equal('following')
    })

    it('fail the start', async () => {
      const { storeOf } = await openNode({ a: names })
      await storeOf('a').append('u1', [seen('Ada'), seen('Eve')], author)

      expect(await rejection(openNode({ a: failing }, { on: await openLog() }))).to.equal(message)
    })

    it('include those for which evolve returns undefined', async () => {
      const { storeOf } = await openNode({ a: { ...names, evolve: () => undefined } })

      expect(await rejection(storeOf('a').append('u1', [seen('Ada')], author))).to.contain(
        'evolve returned undefined',
      )
    })
  })
})

async function collect<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const collected: Item[] = []
  for await (const item of items) collected.push(item)
  return collected
}

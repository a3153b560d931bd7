import { expect } from 'chai'
import { pino } from 'pino'
import {
  type EventDeclaration,
  type EventLog,
  EventLogUnavailableError,
} from '../../../../core/contract/index.ts'
import { openSqliteLog } from '../../../../core/event-log/sqlite/sqlite-log.ts'
import { createClock } from '../../../../core/util/clock.ts'
import { createAccounts } from '../../../../projections/accounts.ts'
import type { PluginEventStore } from '../../../../projections/runtime/plugin-event-store.ts'
import { openPluginEventStores } from '../../../../projections/runtime/plugin-event-stores.ts'
import { type Subscription, subscribeProjections } from '../../../../projections/runtime/subscribe.ts'
import { createEventWriter } from '../../../../projections/runtime/write.ts'
import { makeFolder } from '../../../support/gateway.ts'

const by = { actor: 'key_1', requestId: 'req_1' }

/** Keeps the names that were seen, by subject. */
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

  /** A node's ledgers; `from` is where its snapshot ended. */
  async function openNode(
    declared: Readonly<Record<string, EventDeclaration>>,
    { on = log, from = 0, patiently = (run: () => Promise<void>) => run() } = {},
  ): Promise<{ live: Subscription; ledger(name: string): PluginEventStore }> {
    const logger = pino({ level: 'silent' })
    const live = subscribeProjections(on, [createAccounts()], logger, from)
    opened.push(live)
    await live.caughtUp
    const writer = createEventWriter(on, live, createClock(), { timeoutMs: 1000 })
    const plugins = Object.entries(declared).map(([name, events]) => ({ name, events, setup: () => ({}) }))
    const ledgers = await openPluginEventStores(plugins, { log: on, live, writer, logger, patiently })
    return {
      live,
      ledger(name) {
        const ledger = ledgers.get(name)
        if (ledger === undefined) throw new Error(`there is no ledger of ${name}`)
        return ledger
      },
    }
  }

  it('lead to its state, each plugin by itself', async () => {
    const node = await openNode({ a: names, b: names })
    await node.ledger('a').append('u1', [seen('Ada'), seen('Bob')], by)
    await node.ledger('b').append('u1', [seen('Cy')], by)

    expect(node.ledger('a').state()).to.deep.equal(['u1: Ada', 'u1: Bob'])
    expect(node.ledger('b').state()).to.deep.equal(['u1: Cy'])
  })

  it('are read with what is known about them', async () => {
    const { ledger } = await openNode({ a: names })
    const appended = await ledger('a').append('u1', [seen('Ada')], by)
    await ledger('a').append('u2', [seen('Bob')], { actor: 'system' })

    const [event, ...rest] = await collect(ledger('a').read('u1'))
    expect(rest).to.deep.equal([])
    expect(event).to.deep.include({
      ...seen('Ada'),
      ...by,
      subject: 'u1',
      revision: 0,
      position: appended?.position,
    })
    expect(event?.time).to.match(/^\d{4}-.*\.\d{6}Z$/)
  })

  it('must fit their schemas', async () => {
    const { ledger } = await openNode({ a: names })
    const refusals: string[] = []
    for (const event of [seen(7), { type: 'Sean', data: {} }, { type: 'toString', data: {} }]) {
      await ledger('a')
        .append('u1', [seen('Ada'), event], by)
        .catch((error) => refusals.push(error.message))
    }

    expect(refusals).to.deep.equal([
      'the event "Seen" of plugin "a" does not fit its schema: name must be a string',
      'the event "Sean" of plugin "a" is not declared in its events.types',
      'the event "toString" of plugin "a" is not declared in its events.types',
    ])
    expect(ledger('a').state()).to.deep.equal([])
  })

  it('are decided on the present state, again when another process was quicker', async () => {
    const [first, second] = await Promise.all([
      openNode({ a: names }),
      openNode({ a: names }, { on: await openLog() }),
    ])
    const claim = (node: typeof first, name: string) =>
      node
        .ledger('a')
        .append(
          'seat',
          (state) => (listOf(state).length < 10 ? [seen(`${name} ${listOf(state).length}`)] : []),
          by,
        )

    await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        claim(n % 2 === 0 ? first : second, n % 2 === 0 ? 'first' : 'second'),
      ),
    )

    const taken = listOf(first.ledger('a').state())
    expect(taken.map((text) => text.split(' ').at(-1))).to.deep.equal(
      Array.from({ length: 10 }, (_, n) => `${n}`),
    )
  })

  it('are all there for a plugin that was installed later, and after a snapshot', async () => {
    const before = await openNode({ a: names })
    await before.ledger('a').append('u1', [seen('Ada')], by)
    const snapshotAt = before.live.position()
    await before.ledger('a').append('u1', [seen('Bob')], by)

    const after = await openNode({ a: names, b: names }, { on: await openLog(), from: snapshotAt })
    expect(after.ledger('a').state()).to.deep.equal(['u1: Ada', 'u1: Bob'])
  })

  it('are each applied once, in order, while others write', async () => {
    const writing = await openNode({ a: names })
    let going = true
    const write = async () => {
      for (let n = 0; going; n++)
        await writing.ledger('a').append(
          'u1',
          [seen(n)].map(() => seen(`${n}`)),
          by,
        )
    }
    const written = write()
    const nodes = []
    for (let n = 0; n < 10; n++) nodes.push(await openNode({ a: names }, { on: await openLog() }))
    going = false
    await written

    const all = listOf(writing.ledger('a').state())
    for (const { live, ledger } of nodes) {
      await live.until(() => live.position() >= writing.live.position())
      expect(ledger('a').state()).to.deep.equal(all)
    }
    expect(all).to.deep.equal(all.map((_, n) => `u1: ${n}`))
  })

  it('go on being read where the log went away in the middle', async () => {
    const before = await openNode({ a: names })
    for (const name of ['Ada', 'Bob', 'Cy']) await before.ledger('a').append('u1', [seen(name)], by)
    let outages = 2
    const flaky: EventLog = {
      append: (...args) => log.append(...args),
      read: (...args) => log.read(...args),
      deleteStream: (...args) => log.deleteStream(...args),
      close: async () => undefined,
      async *subscribe(from, signal, streams) {
        for await (const item of log.subscribe(from, signal, streams)) {
          yield item
          if (streams !== undefined && outages-- > 0)
            throw new EventLogUnavailableError('away', { transient: true })
        }
      },
    }

    const { ledger } = await openNode(
      { a: names },
      {
        on: flaky,
        async patiently(run) {
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
    expect(ledger('a').state()).to.deep.equal(['u1: Ada', 'u1: Bob', 'u1: Cy'])
  })

  it('of an older version are read as today, and those of a newer one passed over', async () => {
    const old = await openNode({ a: names })
    await old.ledger('a').append('u1', [seen('Ada')], by)
    const second: EventDeclaration = {
      ...names,
      version: 2,
      types: { Met: { type: 'object', required: ['name', 'how'] } },
      upcasts: { 1: { Seen: ({ data }) => ({ type: 'Met', data: { ...data, how: 'by chance' } }) } },
      evolve: (state, { data }) => [...listOf(state), `${data.name} ${data.how}`],
    }
    const today = await openNode({ a: second }, { on: await openLog() })
    await today.ledger('a').append('u1', [{ type: 'Met', data: { name: 'Bob', how: 'on purpose' } }], by)

    expect(today.ledger('a').state()).to.deep.equal(['Ada by chance', 'Bob on purpose'])
    await old.live.until(() => old.live.position() >= today.live.position())
    expect(old.ledger('a').state()).to.deep.equal(['u1: Ada'])
    expect(old.live.skipped()).to.equal(1)
  })

  describe('that it cannot apply', () => {
    const brittle: EventDeclaration = {
      ...names,
      evolve: (state, event) => {
        if (event.data.name === 'Eve') throw new Error('there is no Eve\nand no more')
        return names.evolve(state, event)
      },
    }
    const sentence =
      'plugin "a" cannot apply the event "a:Seen" at position 2 of the log: there is no Eve. ' +
      'Install a version that can, or take it off the list.'

    const refusal = (promise: Promise<unknown>) =>
      promise.then(
        () => 'nothing',
        (error) => error.message,
      )

    it('take its state from it, and from nobody else', async () => {
      const { ledger, live } = await openNode({ a: brittle, b: names })
      await ledger('a').append('u1', [seen('Ada')], by)

      expect(await refusal(ledger('a').append('u1', [seen('Eve')], by))).to.equal(sentence)
      expect(() => ledger('a').state()).to.throw(sentence)
      expect(await refusal(ledger('a').append('u1', [seen('Bob')], by))).to.equal(sentence)
      await ledger('b').append('u1', [seen('Cy')], by)
      expect(ledger('b').state()).to.deep.equal(['u1: Cy'])
      expect(live.state()).to.equal('following')
    })

    it('stop the start', async () => {
      const { ledger } = await openNode({ a: names })
      await ledger('a').append('u1', [seen('Ada'), seen('Eve')], by)

      expect(await refusal(openNode({ a: brittle }, { on: await openLog() }))).to.equal(sentence)
    })

    it('are those after which there is no state, too', async () => {
      const { ledger } = await openNode({ a: { ...names, evolve: () => undefined } })

      expect(await refusal(ledger('a').append('u1', [seen('Ada')], by))).to.contain(
        'its evolve returned no state',
      )
    })
  })
})

async function collect<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const collected: Item[] = []
  for await (const item of items) collected.push(item)
  return collected
}

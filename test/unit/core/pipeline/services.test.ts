import { expect } from 'chai'
import { optional, type Plugin, service, slot } from '../../../../core/contract/index.ts'
import { orderByServices, ServiceRegistry } from '../../../../core/pipeline/plugin-order.ts'

const Clock = service<{ readonly now: number }>('clock')
const Store = service<string>('store')

function listed(name: string, { uses, provides }: Pick<Plugin, 'uses' | 'provides'> = {}, isBuiltIn = true) {
  const plugin = { name, ...(uses && { uses }), ...(provides && { provides }) }
  return { plugin, isBuiltIn, title: `plugin "${name}"` }
}

const nothing = () => false

describe('orderByServices', () => {
  it('puts plugins behind those whose services they use, and leaves the others in the listed order', () => {
    const user = listed('user', { uses: { clock: Clock } })
    const other = listed('other')
    const clock = listed('clock', { provides: [Clock], uses: { store: Store } })
    const { issues, order } = orderByServices([user, other, clock], (name) => name === 'store')
    expect(issues).to.deep.equal([])
    expect(order.map(({ plugin }) => plugin.name)).to.deep.equal(['clock', 'user', 'other'])
  })

  it('names the plugin that lacks a service, and the one that may provide it', () => {
    const { issues } = orderByServices([listed('user', { uses: { clock: Clock } })], nothing)
    expect(issues).to.deep.equal([
      'plugin "user" uses the service "clock", which no listed plugin provides. ' +
        'List "clock", or remove plugin "user".',
    ])
  })

  it('keeps what the gateway itself provides from packages', () => {
    const user = listed('user', { uses: { store: Store } }, false)
    const { issues } = orderByServices([user], (name) => name === 'store')
    expect(issues.join()).to.contain('uses the service "store", which no listed plugin provides')
  })

  it('asks for no optional service, nor for one of a plugin that could not be loaded', () => {
    const user = listed('user', { uses: { clock: optional(Clock) } })
    expect(orderByServices([user], nothing).issues).to.deep.equal([])
    const strict = listed('strict', { uses: { clock: Clock } })
    expect(orderByServices([strict], nothing, false).issues).to.deep.equal([])
  })

  it('refuses a service of two plugins', () => {
    const plugins = [listed('a', { provides: [Clock] }), listed('b', { provides: [Clock] })]
    expect(orderByServices(plugins, nothing).issues).to.deep.equal([
      'plugin "b" and plugin "a" both provide the service "clock".',
    ])
  })

  it('refuses a circle, and names its plugins', () => {
    const a = listed('a', { uses: { store: Store }, provides: [Clock] })
    const b = listed('b', { uses: { clock: Clock }, provides: [Store] })
    expect(orderByServices([a, b], nothing).issues).to.deep.equal([
      'plugin "a" uses plugin "b" uses plugin "a": plugins cannot use each other in a circle.',
    ])
  })
})

describe('ServiceRegistry', () => {
  it('creates what is provided lazily once, when it is used', async () => {
    let created = 0
    const registry = new ServiceRegistry().provideLazily(Clock, async () => ({ now: ++created }))
    expect(created).to.equal(0)
    const first = await registry.resolve({ clock: Clock, store: optional(Store) })
    const second = await registry.resolve({ clock: Clock })
    expect(first).to.deep.equal({ clock: { now: 1 }, store: undefined })
    expect(second.clock).to.equal(first.clock)
  })

  it('gives packages the services of plugins only', async () => {
    const registry = new ServiceRegistry().provide(Store, 'secret')
    registry.provideFromPlugin(Clock, { now: 1 })
    const uses = { store: optional(Store), clock: Clock }
    expect(await registry.resolve(uses, false)).to.deep.equal({ clock: { now: 1 } })
    expect(await registry.resolve(uses)).to.deep.equal({ store: 'secret', clock: { now: 1 } })
  })

  it('takes one service of a name', () => {
    const registry = new ServiceRegistry().provide(Store, 'a')
    expect(() => registry.provide(service<string>('store'), 'b')).to.throw(
      'the service "store" is provided twice',
    )
  })
})

describe('slot', () => {
  it('keeps data on an exchange that no other slot reads', () => {
    const exchange = { state: {} }
    const mine = slot<number>('count')
    mine.set(exchange, 3)
    expect(mine.of(exchange)).to.equal(3)
    expect(slot<number>('count').of(exchange)).to.equal(undefined)
    expect(mine.of({ state: {} })).to.equal(undefined)
  })
})

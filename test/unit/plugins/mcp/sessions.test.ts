import { expect } from 'chai'
import type { RecordStore } from '../../../../core/contract/index.ts'
import { createMemorySharedState } from '../../../../core/shared-state/memory.ts'
import { createPluginServices } from '../../../../core/shared-state/plugin-services.ts'
import { createSessions, withClearErrors } from '../../../../plugins/mcp/front/sessions.ts'
import { stopClock } from '../../../support/clock.ts'

const KEYS = ['key']
const MINUTE_MS = 60_000

const createStore = (): RecordStore => createPluginServices(createMemorySharedState(), 'mcp').store

const errorOf = (call: Promise<unknown>) =>
  call.then(
    () => expect.fail('did not reject'),
    (error) => error,
  )

describe('what sessions have read', () => {
  it('is known to each process when several read at the same time', async () => {
    const store = createStore()
    const processes = ['a', 'b', 'c'].map((name) => ({ name, sessions: createSessions(store) }))
    await Promise.all(processes.map(({ name, sessions }) => sessions.noteRead(KEYS, name)))
    for (const { sessions } of processes)
      expect([...(await sessions.readOf(KEYS))].sort()).to.deep.equal(['a', 'b', 'c'])
    expect(await createSessions(store).readOf(['other'])).to.deep.equal(new Set())
  })

  it('is stored again by a process that knows it, if the store has lost it', async () => {
    const stores = [createStore(), createStore()]
    let current = stores[0] as RecordStore
    const store = {
      addToSet: (...args) => current.addToSet(...args),
      readSet: (key) => current.readSet(key),
    } as RecordStore
    const sessions = createSessions(store)
    await sessions.noteRead(KEYS, 'web')
    current = stores[1] as RecordStore
    expect(await sessions.readOf(KEYS)).to.deep.equal(new Set(['web']))
    expect(await createSessions(store).readOf(KEYS)).to.deep.equal(new Set(['web']))
  })

  it('is kept while the session goes on without reading more', async () => {
    const store = createStore()
    let refreshed = 0
    const counted = {
      readSet: (key) => store.readSet(key),
      addToSet: (...args) => {
        refreshed++
        return store.addToSet(...args)
      },
    } as RecordStore
    const clock = stopClock()
    try {
      const sessions = createSessions(counted)
      await sessions.noteRead(KEYS, 'web')
      for (let minutes = 0; minutes < 120; minutes += 6) {
        clock.pass(6 * MINUTE_MS)
        expect(await sessions.readOf(KEYS)).to.deep.equal(new Set(['web']))
      }
      expect(refreshed).to.equal(21)
    } finally {
      clock.restore()
    }
  })

  it('is no longer noted when memory is full, which refuses what would be read', async () => {
    const store = createStore()
    const sessions = createSessions(withClearErrors(store))
    await sessions.noteRead(KEYS, 'web')
    const text = 'x'.repeat(1_000_000)
    const fill = async () => {
      for (let number = 0; ; number++)
        await store.addToSet(`${number}`, [text.slice(0, 2 ** (number % 20))], 60)
    }
    await errorOf(fill())
    const error = await errorOf(
      (async () => {
        for (let number = 0; ; number++) await sessions.noteRead([`new ${number}`], 'web')
      })(),
    )
    expect(error.code).to.equal('mcp_state_unavailable')
    await sessions.noteRead(KEYS, 'web')
    expect(await sessions.readOf(KEYS)).to.deep.equal(new Set(['web']))
  })
})

import { expect } from 'chai'
import { type RecordStore, SharedStateUnavailableError } from '../../../../core/contract/index.ts'
import { createMemorySharedState, MAX_RECORD_BYTES } from '../../../../core/shared-state/memory.ts'
import { createMemorySets } from '../../../../core/shared-state/memory-sets.ts'
import { createRemoteSharedState } from '../../../../core/shared-state/over-rpc.ts'
import { createPluginServices } from '../../../../core/shared-state/plugin-services.ts'
import type { SharedState } from '../../../../core/shared-state/shared-state.ts'
import { requireRedis } from '../../../support/redis.ts'
import { connectToRedis, describeEachPlace } from '../../../support/shared-state.ts'
import { waitUntil } from '../../../support/wait.ts'

const MIB = 1024 * 1024

const storeOf = (state: SharedState | undefined, plugin = 'a'): RecordStore => {
  if (state === undefined) throw new Error('no state')
  return createPluginServices(state, plugin).store
}

const errorOf = async (call: Promise<unknown>): Promise<Error> => {
  const [error] = await errorsOf([call])
  return error as Error
}

/** The errors of calls that all reject. */
const errorsOf = async (calls: readonly Promise<unknown>[]): Promise<readonly Error[]> =>
  (await Promise.allSettled(calls)).map((result) =>
    result.status === 'rejected' ? result.reason : expect.fail('did not reject'),
  )

describe('record store', () => {
  describeEachPlace((get) => {
    const [first, last] = [() => storeOf(get()[0]), () => storeOf(get().at(-1))]

    it('returns copies of JSON values', async () => {
      for (const value of [{ a: [1, 'ü\u0000', null] }, [], 'text', 0, false, null]) {
        await first().set('value', value, 60)
        expect(await last().get('value')).to.deep.equal(value)
      }
      const value = { list: [1] }
      await first().set('value', value, 60)
      value.list.push(2)
      expect(await first().get('value')).to.deep.equal({ list: [1] })
    })

    it('deletes records', async () => {
      expect(await first().get('gone')).to.equal(undefined)
      await first().set('gone', 1, 60)
      await last().delete('gone')
      expect(await first().get('gone')).to.equal(undefined)
      await last().delete('gone')
    })

    it('expires records, by the time of the last change', async () => {
      await first().set('short', 1, 0.05)
      await first().set('renewed', 1, 0.05)
      await first().set('renewed', 2, 60)
      await waitUntil(async () => (await last().get('short')) === undefined)
      expect(await last().get('renewed')).to.equal(2)
    })

    it('separates plugins', async () => {
      await first().set('key', 1, 60)
      expect(await storeOf(get()[0], 'b').get('key')).to.equal(undefined)
    })

    it('adds to sets, which are apart from records and expire by the time of the last addition', async () => {
      const added = ['a', 'b', 'ü'].map((text, index) =>
        (index === 1 ? last : first)().addToSet('set', [text], 60),
      )
      await Promise.all(added)
      for (const store of [first(), last()])
        expect([...(await store.readSet('set'))].sort()).to.deep.equal(['a', 'b', 'ü'])
      expect([...(await last().addToSet('set', ['a', 'c'], 60))].sort()).to.deep.equal(['a', 'b', 'c', 'ü'])
      expect(await first().addToSet('set', [], 60)).to.have.length(4)
      expect(await first().get('set')).to.equal(undefined)
      expect(await storeOf(get()[0], 'b').readSet('set')).to.deep.equal([])
      await first().addToSet('short', ['a'], 0.05)
      await first().addToSet('longer', ['a'], 0.05)
      await last().addToSet('longer', ['a'], 60)
      await waitUntil(async () => (await last().readSet('short')).length === 0)
      expect(await first().readSet('longer')).to.deep.equal(['a'])
      expect(await first().addToSet('short', ['b'], 60)).to.deep.equal(['b'])
    })

    it('refuses values that are too large or not JSON', async () => {
      await first().set('limit', 'x'.repeat(MIB - 2), 60)
      expect(await last().get('limit')).to.have.length(MIB - 2)
      const tooLarge = await errorOf(first().set('limit', 'ü'.repeat(MIB / 2), 60))
      expect(tooLarge).to.be.instanceOf(RangeError)
      expect(tooLarge.message).to.equal(
        'the value of "limit" has 1048578 bytes of JSON; at most 1048576 are stored',
      )
      const notJson = await errorOf(first().set('limit', undefined as never, 60))
      expect(notJson.message).to.equal('the value of "limit" cannot be stored as JSON')
      const forEver = await errorOf(first().set('limit', 1, Number.POSITIVE_INFINITY))
      expect(forEver.message).to.contain('ttlSeconds must be more than 0')
    })
  })

  it('in memory drops the records that were not used for longest', async () => {
    const store = storeOf(createMemorySharedState())
    const value = 'x'.repeat(MIB - 100)
    await store.set('used', value, 60)
    for (let number = 0; number <= MAX_RECORD_BYTES / MIB; number++) {
      await store.set(`key ${number}`, value, 60)
      await store.get('used')
    }
    expect(await store.get('key 0')).to.equal(undefined)
    expect(await store.get('used')).to.equal(value)
  })

  it('in memory keeps sets when records are dropped', async () => {
    const store = storeOf(createMemorySharedState())
    await store.addToSet('kept', ['a'], 60)
    for (let number = 0; number <= MAX_RECORD_BYTES / MIB; number++)
      await store.set(`key ${number}`, 'x'.repeat(MIB - 100), 60)
    expect(await store.get('key 0')).to.equal(undefined)
    expect(await store.readSet('kept')).to.deep.equal(['a'])
  })

  it('in memory refuses sets that do not fit, until others have expired', async () => {
    const sets = createMemorySets(2 * MIB)('')
    const text = 'x'.repeat(0.6 * MIB)
    sets.add('short', [text], 0.3)
    expect(() => sets.add('other', [text], 60)).to.throw('the memory for sets is full')
    expect(sets.read('other')).to.deep.equal([])
    await waitUntil(() => {
      try {
        return sets.add('other', [text], 60).length === 1
      } catch {
        return false
      }
    })
    expect(() => sets.add('other', [`${text}y`], 60)).to.throw(SharedStateUnavailableError)
    expect(sets.add('other', [text], 60)).to.deep.equal([text])
  })

  it('rejects with a typed error if the primary does not respond', async () => {
    const state = createRemoteSharedState(async () => Promise.reject(new Error('timed out')), 1000)
    const { counters, store } = createPluginServices(state, 'a')
    const calls = [
      counters.add('key', 1, 60),
      counters.read('key'),
      store.get('key'),
      store.set('key', 1, 60),
      store.delete('key'),
      store.addToSet('key', ['a'], 60),
      store.readSet('key'),
    ]
    for (const error of await errorsOf(calls)) {
      expect(SharedStateUnavailableError.isInstance(error)).to.equal(true)
      expect(error.message).to.equal('The shared state is unavailable: timed out')
    }
  })

  it('rejects with a typed error without texts of records if Redis is away or refuses', async function () {
    const redis = await requireRedis(this)
    const patient = await connectToRedis(redis.url)
    const state = await connectToRedis(redis.url, 200)
    const { counters, store } = createPluginServices(state, 'a')
    const calls = () => [
      counters.add('secret', 1, 60),
      counters.read('secret'),
      store.get('secret'),
      store.set('secret', 'secret', 60),
      store.delete('secret'),
      store.addToSet('secret', ['secret'], 60),
      store.readSet('secret'),
    ]
    await redis.client.set('signalbox:counters:a:secret', 'secret')
    const refused = await errorOf(createPluginServices(patient, 'a').counters.add('secret', 1, 60))
    expect(refused.message).to.equal('The shared state is unavailable: Redis: ERR')

    redis.suspend()
    const late = await errorsOf(calls())
    redis.resume()
    await redis.kill()
    for (const error of [refused, ...late, ...(await errorsOf(calls()))]) {
      expect(SharedStateUnavailableError.isInstance(error)).to.equal(true)
      expect(`${error.stack} ${JSON.stringify(error)}`).not.to.contain('secret')
    }
    await Promise.all([patient.close(), state.close()])
    await redis.stop()
  })
})

import { expect } from 'chai'
import {
  ChannelClosedError,
  createRpcPeer,
  type RpcPeer,
  type RpcTransport,
} from '../../../../core/process/rpc.ts'
import { pairOfWires } from '../../../support/wires.ts'

type Asks = {
  double: { ask: { n: number }; answer: { n: number } }
  fail: { ask: object; answer: object }
  wait: { ask: object; answer: object }
}

const rejection = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => expect.fail('it was answered'),
    (error) => error,
  )

describe('a channel', () => {
  let channel: RpcPeer<Asks>
  let wire: RpcTransport
  let parcels: number

  beforeEach(() => {
    const [here, there] = pairOfWires()
    parcels = 0
    wire = {
      listen: here.listen,
      send(message) {
        parcels++
        here.send(message)
      },
    }
    channel = createRpcPeer<Asks, Record<never, never>>(wire, {})
    createRpcPeer<Record<never, never>, Asks>(there, {
      double: ({ n }) => ({ n: n * 2 }),
      fail: () => {
        throw new Error('it cannot be')
      },
      wait: () => new Promise(() => undefined),
    })
  })

  it('answers each ask with its own answer, and sends those of one turn together', async () => {
    const numbers = Array.from({ length: 100 }, (_, n) => n)
    const answers = await Promise.all(numbers.map((n) => channel.request('double', { n }, 1000)))
    expect(answers).to.deep.equal(numbers.map((n) => ({ n: n * 2 })))
    expect(parcels).to.equal(1)
  })

  it('fails where the other end fails, with its reason', async () => {
    expect((await rejection(channel.request('fail', {}, 1000))).message).to.equal('it cannot be')
  })

  it('waits for an answer no longer than it is told', async () => {
    const { message } = await rejection(channel.request('wait', {}, 10))
    expect(message).to.equal('the other process did not answer "wait" within 10 ms')
  })

  it('lets everything fail when it is closed, and sends nothing any more', async () => {
    const waiting = rejection(channel.request('wait', {}, 60_000))
    channel.close()
    expect(await waiting).to.be.instanceOf(ChannelClosedError)
    expect(await rejection(channel.request('double', { n: 1 }, 1000))).to.be.instanceOf(ChannelClosedError)
    await new Promise(setImmediate)
    expect(parcels).to.equal(0)
  })

  it('passes over what others say on the same wire', async () => {
    wire.send('hello')
    wire.send(null)
    wire.send({ cmd: 'hello' })
    expect(await channel.request('double', { n: 2 }, 1000)).to.deep.equal({ n: 4 })
  })
})

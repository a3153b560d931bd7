import { expect } from 'chai'
import {
  ChannelClosedError,
  createRpcPeer,
  type RpcPeer,
  type RpcTransport,
} from '../../../../core/threads/rpc.ts'
import { pairOfWires } from '../../../support/wires.ts'

type TestMethods = {
  double: { params: { n: number }; result: { n: number } }
  fail: { params: object; result: object }
  hang: { params: object; result: object }
}

const rejection = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => expect.fail('the request succeeded'),
    (error) => error,
  )

describe('an RPC peer', () => {
  let peer: RpcPeer<TestMethods>
  let transport: RpcTransport
  let batches: number

  beforeEach(() => {
    const [local, remote] = pairOfWires()
    batches = 0
    transport = {
      listen: local.listen,
      send(message) {
        batches++
        local.send(message)
      },
    }
    peer = createRpcPeer<TestMethods, Record<never, never>>(transport, {})
    createRpcPeer<Record<never, never>, TestMethods>(remote, {
      double: ({ n }) => ({ n: n * 2 }),
      fail: () => {
        throw new Error('it cannot be')
      },
      hang: () => new Promise(() => undefined),
    })
  })

  it('resolves each request with its own result and sends requests of one turn as one batch', async () => {
    const numbers = Array.from({ length: 100 }, (_, n) => n)
    const results = await Promise.all(numbers.map((n) => peer.request('double', { n }, 1000)))
    expect(results).to.deep.equal(numbers.map((n) => ({ n: n * 2 })))
    expect(batches).to.equal(1)
  })

  it('rejects with the message of the remote error', async () => {
    expect((await rejection(peer.request('fail', {}, 1000))).message).to.equal('it cannot be')
  })

  it('rejects a request without a response after its timeout', async () => {
    const { message } = await rejection(peer.request('hang', {}, 10))
    expect(message).to.equal('Method "hang" timed out after 10 ms.')
  })

  it('rejects all requests and sends nothing after it is closed', async () => {
    const pending = rejection(peer.request('hang', {}, 60_000))
    peer.close()
    expect(await pending).to.be.instanceOf(ChannelClosedError)
    expect(await rejection(peer.request('double', { n: 1 }, 1000))).to.be.instanceOf(ChannelClosedError)
    await new Promise(setImmediate)
    expect(batches).to.equal(0)
  })

  it('ignores foreign messages on the same transport', async () => {
    transport.send('hello')
    transport.send(null)
    transport.send({ cmd: 'hello' })
    expect(await peer.request('double', { n: 2 }, 1000)).to.deep.equal({ n: 4 })
  })
})

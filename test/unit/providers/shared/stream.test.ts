import { expect } from 'chai'
import { ReplyEvent } from '../../../../core/contract/chat.ts'
import type { BodyReader } from '../../../../providers/shared/frames.ts'
import { StreamBatches } from '../../../../providers/shared/stream.ts'

/** Stands for a provider call that delivers these bodies, one read each, and then ends or fails. */
function createCall(bodies: readonly string[], failure?: Error) {
  const left = [...bodies]
  const call = {
    reads: 0,
    reason: undefined as unknown,
    hasEnded: false,
    async read(): Promise<readonly Buffer[] | undefined> {
      call.reads++
      await undefined
      const body = left.shift()
      if (body !== undefined) return [Buffer.from(body)]
      if (failure !== undefined) throw failure
      call.hasEnded = true
      return undefined
    },
    abort(reason: unknown) {
      if (!call.hasEnded) call.reason ??= reason
    },
  }
  return call
}

/** Each letter is an event; `!` fails. */
const body: BodyReader = {
  read(bytes, batch) {
    for (const letter of Buffer.from(bytes).toString()) {
      if (letter === '!') throw new Error('malformed')
      if (letter !== ':') batch.push(new ReplyEvent([{ type: 'text', text: letter }]))
    }
  },
  end() {},
}

function open(call: ReturnType<typeof createCall>, isDone = false) {
  const limits: (number | string)[] = []
  const deadline = {
    extend: (ms: number) => void limits.push(ms),
    pause: () => void limits.push('pause'),
    end: () => void limits.push('end'),
  }
  const toError = (error: unknown) => new Error(`call failed: ${(error as Error).message}`)
  const reader = { isDone: () => isDone }
  const batches = new StreamBatches({ call, reader, body, deadline, idleMs: 7, toError })
  return { batches, limits }
}

/** Returns the texts of the batches, and the message of the error at the end. */
async function collect(batches: StreamBatches, limit = Number.POSITIVE_INFINITY): Promise<string[]> {
  const list: string[] = []
  try {
    for await (const batch of batches) {
      list.push(batch.flatMap(({ parts }) => parts.map((part) => 'text' in part && part.text)).join(''))
      if (list.length === limit) break
    }
  } catch (error) {
    list.push((error as Error).message)
  }
  return list
}

describe('the batches of a stream', () => {
  it('are the events of one read each, including the first', async () => {
    const call = createCall(['ab', 'c'])
    const { batches } = open(call)
    expect(await batches.readFirst()).to.equal(true)
    expect(await collect(batches)).to.deep.equal(['ab', 'c'])
    expect(call.reason).to.equal(undefined)
  })

  it('are none if there are no events', async () => {
    expect(await open(createCall([])).batches.readFirst()).to.equal(false)
    expect(await open(createCall([':'])).batches.readFirst()).to.equal(false)
  })

  it('are read one at a time', async () => {
    const call = createCall(['a', 'b'])
    await open(call).batches.readFirst()
    expect(call.reads).to.equal(1)
  })

  it('skip reads without an event, which extend the deadline after the first event', async () => {
    const { batches, limits } = open(createCall([':', ':', 'a', ':', ':', 'b']))
    expect(await collect(batches)).to.deep.equal(['a', 'b'])
    expect(limits).to.deep.equal(['pause', 7, 7, 7, 'pause', 7, 'end'])
  })

  it('stop the call if the reader stops before the first one', async () => {
    const call = createCall(['a', 'b'])
    const { batches } = open(call)
    await batches.readFirst()
    await batches.return()
    expect(call.reason).to.be.an('error')
    expect(await batches.next()).to.deep.equal({ done: true, value: undefined })
  })

  it('stop the call if the reader stops half-way', async () => {
    const call = createCall(['a', 'b', 'c'])
    const { batches, limits } = open(call)
    await batches.readFirst()
    expect(await collect(batches, 2)).to.deep.equal(['a', 'b'])
    expect(call.reason).to.be.an('error')
    expect(limits.at(-1)).to.equal('end')
  })

  it('fail as the call does, after the events before', async () => {
    const failed = open(createCall([], new Error('reset')))
    expect(await failed.batches.readFirst().catch((error: Error) => error.message)).to.equal(
      'call failed: reset',
    )
    const { batches } = open(createCall(['a', 'bc!d', 'e']))
    expect(await collect(batches)).to.deep.equal(['a', 'bc', 'call failed: malformed'])
    expect(await batches.next()).to.deep.equal({ done: true, value: undefined })
  })

  it('fail without events if the first read fails, so that another target can answer', async () => {
    const { batches } = open(createCall(['a!']))
    expect(await collect(batches)).to.deep.equal(['call failed: malformed'])
  })

  it('end at an error of the connection after a complete reply', async () => {
    const { batches, limits } = open(createCall(['a'], new Error('reset')), true)
    expect(await collect(batches)).to.deep.equal(['a'])
    expect(limits).to.deep.equal(['pause', 500, 'end'])
  })
})

import { expect } from 'chai'
import type { ClientSession, EndedExchange } from '../../../../core/contract/index.ts'
import type { ResponsesCall } from '../../../../core/dialects/responses/call.ts'
import { createSessionMemory } from '../../../../plugins/responses/session-memory.ts'

const KEY = 'abcdefghijklmnopqrstuvwx'
const COMPLETED = { status: 'completed', output: [] }

function createSession(): ClientSession & { close(): void } {
  const listeners: (() => void)[] = []
  let isClosed = false
  return {
    get isClosed() {
      return isClosed
    },
    onClose: (notify) => void listeners.push(notify),
    close() {
      isClosed = true
      for (const notify of listeners) notify()
    },
  }
}

const call = { responseKey: KEY, inputCount: 1, earlierCount: 0 } as ResponsesCall

const said = (content: string, session: ClientSession) =>
  ({ client: { session }, request: { messages: [{ role: 'user', content }] } }) as unknown as EndedExchange

describe('the memory of WebSocket connections', () => {
  it('forgets the connections that were used least recently when it is full', () => {
    const memory = createSessionMemory(3000, 2000)
    const [first, second, third] = [createSession(), createSession(), createSession()]
    for (const session of [first, second]) memory.remember(said('x'.repeat(1000), session), call, COMPLETED)
    expect(memory.recall(first, KEY)).to.have.length(1)
    memory.remember(said('x'.repeat(1000), third), call, COMPLETED)
    expect([first, second, third].map((session) => memory.recall(session, KEY)?.length)).to.deep.equal([
      1,
      undefined,
      1,
    ])
  })

  it('remembers no conversation that is too long, nor the one before', () => {
    const memory = createSessionMemory(3000, 2000)
    const session = createSession()
    memory.remember(said('short', session), call, COMPLETED)
    memory.remember(said('x'.repeat(2001), session), { ...call, responseKey: 'other' }, COMPLETED)
    expect(memory.recall(session, 'other')).to.equal(undefined)
    expect(memory.recall(session, KEY)).to.equal(undefined)
  })

  it('forgets a connection when it closes, and remembers nothing of a closed one', () => {
    const memory = createSessionMemory()
    const session = createSession()
    memory.remember(said('short', session), call, COMPLETED)
    session.close()
    expect(memory.recall(session, KEY)).to.equal(undefined)
    memory.remember(said('short', session), call, COMPLETED)
    expect(memory.recall(session, KEY)).to.equal(undefined)
  })
})

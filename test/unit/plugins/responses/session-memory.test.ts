import { expect } from 'chai'
import type { ClientSession, EndedExchange } from '../../../../core/contract/index.ts'
import type { ResponsesCall } from '../../../../plugins/responses/call.ts'
import { createSessionMemory } from '../../../../plugins/responses/session-memory.ts'

const KEY = 'abcdefghijklmnopqrstuvwx'
const LIMITS = { total: 3000, perUser: 3000, perConversation: 2000 }
const COMPLETED = { status: 'completed', output: [] }

function createSession(owner = 1): ClientSession & { close(): void } {
  const listeners: (() => void)[] = []
  let isClosed = false
  return {
    owner,
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
    const memory = createSessionMemory(LIMITS)
    const [first, second, third] = [createSession(), createSession(), createSession()]
    for (const session of [first, second]) memory.remember(said('x'.repeat(1000), session), call, COMPLETED)
    memory.remember(said('y'.repeat(1000), first), call, COMPLETED)
    memory.remember(said('x'.repeat(1000), third), call, COMPLETED)
    expect([first, second, third].map((session) => memory.recall(session, KEY)?.length)).to.deep.equal([
      1,
      undefined,
      1,
    ])
  })

  it('limits the connections of a user together', () => {
    const memory = createSessionMemory({ ...LIMITS, perUser: 2000 })
    const sessions = [createSession(), createSession(), createSession()]
    for (const session of sessions) memory.remember(said('x'.repeat(900), session), call, COMPLETED)
    expect(sessions.map((session) => memory.recall(session, KEY)?.length)).to.deep.equal([undefined, 1, 1])
  })

  it('takes from the user with most when it is full, and not from others', () => {
    const memory = createSessionMemory(LIMITS)
    const quiet = createSession(2)
    memory.remember(said('x'.repeat(900), quiet), call, COMPLETED)
    const busy = Array.from({ length: 5 }, () => createSession(1))
    for (const session of busy) memory.remember(said('x'.repeat(900), session), call, COMPLETED)
    expect(memory.recall(quiet, KEY)).to.have.length(1)
    expect(busy.map((session) => memory.recall(session, KEY)?.length)).to.deep.equal([
      ...[undefined, undefined, undefined],
      ...[1, 1],
    ])
  })

  it('forgets what a request continues, so that nothing is left if it fails', () => {
    const memory = createSessionMemory(LIMITS)
    const session = createSession()
    memory.remember(said('short', session), call, COMPLETED)
    expect(memory.recall(session, 'other')).to.equal(undefined)
    expect(memory.recall(session, KEY)).to.have.length(1)
    expect(memory.recall(session, KEY)).to.equal(undefined)
  })

  it('remembers no conversation that is too long, nor the one before', () => {
    const memory = createSessionMemory(LIMITS)
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

import { expect } from 'chai'
import { createRuleHistory } from '../../../../plugins/audit/history-reader.ts'

describe('the history of rules', () => {
  const SIGNAL = new AbortController().signal
  const asked: unknown[] = []
  const answerAs = (name: string) => async (call: unknown, present: unknown) => {
    asked.push({ name, call, present })
    return new Uint8Array()
  }
  const subscription = { position: () => 7, checkAvailable: () => undefined }
  const lostRaces = new Map([[5, { policyId: 1 }]])
  const options = {
    subscription,
    groups: { withoutEffect: () => lostRaces },
    readHere: answerAs('here'),
    thread: { read: answerAs('thread'), close: async () => undefined },
    countEvents: (owner: object) => ('policyId' in owner ? 500 : 499),
    now: () => 1000,
  }
  beforeEach(() => void asked.splice(0))

  const page = { owner: { userId: 1 }, filter: {} as never }
  const changes = { owner: { policyId: 2 }, kind: 'routing', ruleId: 3 } as const
  const present = { position: 7, time: 1000, lostRaces }

  it('is read in a thread of its own if it is long', async () => {
    const history = createRuleHistory(options)
    await history.page(page, SIGNAL)
    await history.changes(changes, SIGNAL)
    expect(asked).to.deep.equal([
      { name: 'here', call: { method: 'page', query: page }, present },
      { name: 'thread', call: { method: 'changes', query: changes }, present },
    ])
  })

  it('is read here if no thread can open the event log', async () => {
    await createRuleHistory({ ...options, thread: undefined }).changes(changes, SIGNAL)
    expect(asked).to.deep.equal([{ name: 'here', call: { method: 'changes', query: changes }, present }])
  })

  it('is not read while the event log is away or was replaced', async () => {
    const checkAvailable = () => {
      throw new Error('away')
    }
    const history = createRuleHistory({ ...options, subscription: { ...subscription, checkAvailable } })
    for (const read of [() => history.page(page, SIGNAL), () => history.changes(changes, SIGNAL)]) {
      const error = await read().catch((thrown: Error) => thrown)
      expect(error).to.include({ message: 'away' })
    }
    expect(asked).to.deep.equal([])
  })
})

import { expect } from 'chai'
import type { Message } from '../../../../core/contract/index.ts'
import {
  appendTurn,
  keyOfCall,
  lacksData,
  type RememberedTurn,
  toRememberedTurns,
  withRemembered,
} from '../../../../plugins/reasoning/remembered.ts'

const turn = (callId: string, text = ''): RememberedTurn => ({ callId, text, data: [] })
const called = (id: string, more: object = {}): Message => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, function: { name: 'look', arguments: '{}' } }],
  ...more,
})

describe('remembered reasoning', () => {
  it('is found by user and call id', () => {
    const call = { id: 'call_0123456789abcdef', function: { name: 'look' } }
    const key = keyOfCall(1, call, [{ role: 'user', content: 'one' }])
    expect(keyOfCall(1, call, [{ role: 'user', content: 'other' }])).to.equal(key)
    expect(keyOfCall(2, call, [{ role: 'user', content: 'one' }])).not.to.equal(key)
    expect(keyOfCall(1, { ...call, id: `${call.id}0` }, [])).not.to.equal(key)
  })

  it('is found by its conversation if the id is counted', () => {
    const call = { id: 'functions.look:0', function: { name: 'look' } }
    const key = (messages: readonly Message[]) => keyOfCall(1, call, messages)
    const question: Message = { role: 'user', content: 'one' }
    const instructions: Message = { role: 'system', content: 'It is noon.' }
    expect(key([instructions, question])).to.equal(key([question]))
    expect(key([{ role: 'user', content: [{ type: 'text', text: 'one' }] }])).to.equal(key([question]))
    expect(key([{ role: 'user', content: 'two' }])).not.to.equal(key([question]))
  })

  it('drops the oldest turns when they are too long together', () => {
    const long = 'x'.repeat(100_000)
    const turns = [turn('a', long), turn('b', long)]
    expect(appendTurn(turns, turn('c', long))?.turns.map(({ callId }) => callId)).to.deep.equal(['c'])
    expect(appendTurn([], turn('c', 'x'.repeat(200_000)))?.turns).to.have.length(1)
    expect(appendTurn(turns, turn('d', 'x'.repeat(300_000)))).to.equal(undefined)
  })

  it('keeps the beginning of a long conversation the same for many turns', () => {
    let turns: readonly RememberedTurn[] = []
    const beginnings = new Set<string | undefined>()
    for (let index = 0; index < 200; index++) {
      turns = appendTurn(turns, turn(`call-${index}`, 'x'.repeat(4000)))?.turns ?? []
      beginnings.add(turns[0]?.callId)
    }
    expect(turns.at(-1)?.callId).to.equal('call-199')
    expect(beginnings.size).to.be.lessThan(7)
  })

  it('is nothing if the record is damaged', () => {
    for (const stored of [
      undefined,
      7,
      {},
      { turns: 1 },
      { turns: [1, {}, { callId: 'a', text: 1, data: [] }] },
    ])
      expect(toRememberedTurns(stored)).to.deep.equal([])
    expect(toRememberedTurns({ turns: [turn('a'), { ...turn('b'), data: [1] }] })).to.deep.equal([turn('a')])
  })

  it('is added to messages that lack it, without what their client has sent back', () => {
    const anthropic = { type: 'thinking', thinking: 'hm', signature: 's' }
    const google = { thought_signature: 's' }
    const turns = [{ callId: 'a', text: 'hm', data: [[{ anthropic }, { google }]] }]
    const [bare, told, signed] = withRemembered(
      [called('a'), called('a', { reasoning_content: 'said' }), called('a', { reasoning_data: [] })],
      turns,
    )
    expect(bare).to.deep.include({ reasoning_content: 'hm', reasoning_data: [{ anthropic }] })
    expect(bare?.tool_calls?.[0]?.extra_content).to.deep.equal({ google })
    expect(told).to.deep.include({ reasoning_content: 'said', reasoning_data: [{ anthropic }] })
    expect(signed).to.deep.equal(called('a', { reasoning_data: [] }))
    expect(lacksData({ role: 'assistant', content: 'Hi' })).to.equal(false)
  })
})

import { expect } from 'chai'
import type { ReplyingExchange, ReplyPart } from '../../../../core/contract/index.ts'
import { buildCachedReply, replay, toCachedReply } from '../../../../plugins/cache/cached-reply.ts'

const content = { type: 'whole', parts: [] } as const

describe('a cached reply', () => {
  it('expires after the time of the request that asks, which may be shorter than when it was stored', () => {
    // The cast is safe: only the target is read.
    const stored = buildCachedReply({ attempts: [] } as unknown as ReplyingExchange, [], content)
    expect(toCachedReply(stored, 60)).to.equal(stored)
    const older = { ...stored, storedAt: stored.storedAt - 30 }
    expect(toCachedReply(older, 60)).to.equal(older)
    expect(toCachedReply(older, 29)).to.equal(undefined)
  })

  it('is a miss if another version of the gateway stored it', () => {
    const stored = { ...buildCachedReply({} as ReplyingExchange, [], content), version: 2 }
    for (const value of [undefined, null, 'text', {}, stored])
      expect(toCachedReply(value, 60)).to.equal(undefined)
  })

  it('joins the pieces of a stream for a whole reply', () => {
    const tool = { type: 'tool-start', index: 0, id: 'call_1', name: 'pay' } as const
    const second = { ...tool, index: 1, id: 'call_2' }
    const batches: readonly (readonly (readonly ReplyPart[])[])[] = [
      [[{ type: 'start', id: 'x', model: 'm' }], [{ type: 'reasoning', text: 'Hm' }]],
      [
        [{ type: 'reasoning', text: '.' }],
        [
          { type: 'text', text: 'One' },
          { type: 'usage', usage: { input: 1, output: 0 } },
        ],
        [{ type: 'text', text: ' two' }],
      ],
      [[tool, { type: 'tool-json', index: 0, json: '{"a"' }], [{ type: 'tool-json', index: 0, json: ':1}' }]],
      [
        [second, { type: 'tool-json', index: 1, json: '{}' }],
        [
          { type: 'finish', reason: 'tool_calls' },
          { type: 'usage', usage: { input: 1, output: 9 } },
        ],
      ],
    ]
    const reply = replay({ type: 'stream', batches }, 'whole')
    expect(reply.type === 'whole' && reply.event.parts).to.deep.equal([
      { type: 'start', id: 'x', model: 'm' },
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'One two' },
      tool,
      { type: 'tool-json', index: 0, json: '{"a":1}' },
      second,
      { type: 'tool-json', index: 1, json: '{}' },
      { type: 'finish', reason: 'tool_calls' },
      { type: 'usage', usage: { input: 1, output: 9 } },
    ])
  })
})

import { expect } from 'chai'
import type { JsonObject } from '../../../../core/contract/index.ts'
import { Conversations } from '../../../../plugins/routing/conversations.ts'

const COUNT = 100_000
const MAX_RECENT = 10_000

describe('the conversations that a process remembers', () => {
  it('are bounded: the oldest are read from the store', async () => {
    const stored: string[] = []
    const read: string[] = []
    const store = {
      async get(key: string) {
        read.push(key)
        return undefined
      },
      async set(key: string, _: JsonObject) {
        stored.push(key)
      },
    }
    const conversations = new Conversations(store, 300)
    const turn = { mode: 'cost', provider: 'lab', model: 'one', input: 1, estimated: 1, cached: 0 } as const
    for (let index = 0; index < COUNT; index++)
      conversations.remember([`key-${index}`], { ...turn, at: Date.now() })
    expect(stored).to.have.length(COUNT)
    const found = await Promise.all(Array.from({ length: COUNT }, (_, n) => conversations.find(`key-${n}`)))
    expect(found.filter((last) => last !== undefined)).to.have.length(MAX_RECENT)
    expect(found.slice(-MAX_RECENT)).to.not.include(undefined)
    expect(read).to.have.length(COUNT - MAX_RECENT)
  })
})

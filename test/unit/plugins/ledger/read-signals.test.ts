import { expect } from 'chai'
import type { EndedExchange, Message } from '../../../../core/contract/index.ts'
import { CopyOf } from '../../../../plugins/ledger/index.ts'
import { readPromptChecksum } from '../../../../plugins/ledger/read-signals.ts'

function checksumOf(messages: readonly Message[], more: object = {}, exchange: object = {}) {
  const request = { messages, ...more }
  return readPromptChecksum({ request, state: {}, ...exchange } as unknown as EndedExchange)
}

const ask = (content: NonNullable<Message['content']>): Message => ({ role: 'user', content })

describe('the checksum of a prompt', () => {
  it('is the same for the same prompt, and stays exact', () => {
    const long = 'a'.repeat(1_000_000)
    for (const content of ['hello', long, [{ type: 'text', text: 'hello' }]]) {
      const checksum = checksumOf([ask(content)])
      expect(checksum).to.equal(checksumOf([ask(content)]))
      expect(Number.isSafeInteger(checksum)).to.equal(true)
    }
  })

  it('differs with the text, its length, the place in the conversation and the end user', () => {
    const long = (letter: string) => `${'a'.repeat(500)}${letter}${'a'.repeat(499)}`
    const checksums = [
      checksumOf([ask('hello')]),
      checksumOf([ask('hellp')]),
      checksumOf([ask('')]),
      checksumOf([ask(long('b'))]),
      checksumOf([ask(long('c'))]),
      checksumOf([ask('a'.repeat(300))]),
      checksumOf([ask('a'.repeat(301))]),
      checksumOf([ask('hello'), { role: 'assistant', content: 'hi' }, ask('hello')]),
      checksumOf([ask('hello')], { user: 'ada' }),
    ]
    expect(new Set(checksums).size).to.equal(checksums.length)
  })

  it('is missing without text of a user at the end, for copies and for other operations', () => {
    const copy = { state: {} }
    CopyOf.set(copy, { requestId: 'req_1', isOwn: false })
    expect(checksumOf([])).to.equal(undefined)
    expect(checksumOf([ask('hello'), { role: 'tool', content: 'result' }])).to.equal(undefined)
    expect(checksumOf([ask([{ type: 'image_url' }])])).to.equal(undefined)
    expect(checksumOf([ask('hello')], {}, copy)).to.equal(undefined)
    expect(checksumOf([ask('hello')], {}, { operation: 'embeddings' })).to.equal(undefined)
  })
})

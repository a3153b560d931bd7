import { expect } from 'chai'
import { spliceCompletion } from '../../../../../core/dialects/chat/completion.ts'

const EXTENSION = { provider: 'openai', metadata: { rules_position: 3 }, latency_ms: 12 }

/** What a client reads of a completion that was spliced; undefined where it was not. */
function splice(source: string, extension: Record<string, unknown> = EXTENSION): unknown {
  const spliced = spliceCompletion(source, JSON.parse(source), 'chatcmpl-ours', extension)
  return spliced === undefined ? undefined : JSON.parse(spliced)
}

describe('splicing a completion', () => {
  const native = {
    id: 'chatcmpl-theirs',
    object: 'chat.completion',
    choices: [{ message: { content: '{"id":"chatcmpl-theirs"} "}' } }],
  }
  const expected = { ...native, id: 'chatcmpl-ours', ...EXTENSION }

  it('gives it our id and our fields, and keeps all else', () => {
    expect(splice(JSON.stringify(native))).to.deep.equal(expected)
  })

  it('does so however the text is laid out', () => {
    expect(splice(`\r\n ${JSON.stringify(native, null, 2)}\n\n`)).to.deep.equal(expected)
  })

  const others: Record<string, string> = {
    'that begins with another field': '{"object":"chat.completion","id":"a"}',
    'without an id': '{"object":"chat.completion"}',
    'with an id that is escaped': '{"id":"a\\u0062","object":"chat.completion"}',
    'with a second id': '{"id":"a","object":"chat.completion","id":"b"}',
    'with an id only': '{"id":"a"}',
    'with a field of ours': '{"id":"a","metadata":{"theirs":true}}',
  }
  for (const [name, source] of Object.entries(others)) {
    it(`leaves one ${name} to be written anew`, () => {
      expect(splice(source)).to.equal(undefined)
    })
  }

  it('leaves it when there is nothing to add', () => {
    expect(splice(JSON.stringify(native), {})).to.equal(undefined)
  })
})
